"""How long the agreement lasts, and how it is renewed."""

from .scoring import Cues

_LENGTH = r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|eighteen|twenty|thirty|sixty|ninety)[\w -]{0,14}(?:\(\d+\) ?)?-?(?:years?|months?|days?)\b|\banniversary\b"

EN = Cues(
    heading=r"\bterm\b|\bduration\b|\brenewal|effective date|commencement|period of (?:performance|agreement)|^term and termination",
    away=r"confidential|warrant|payment|indemn|insurance|non-?compet|notice|effects? of|consequences|surviv|default|assign|definition",
    signs=[
        (5, r"\b(?:initial |original )?(?:term|duration) of (?:this|the) (?:\w+ ){0,3}(?:agreement|venture|contract|license|mnda|amendment)\b.{0,40}\b(?:shall|will|is|commence|begin|be)\b"),
        (4, r"\b(?:this|the) (?:\w+ ){0,2}(?:agreement|mnda|contract)(?: and [\w ]{0,40})? (?:shall|will|is|has|becomes?|takes?|commences?|begins?|starts?)\b.{0,80}\b(?:effective|in effect|commence|continue|remain in|in (?:full )?force|expires?|begin|start|until|end)\b"),
        (3, r"\b(?:initial|renewal|original|extended|extension) (?:term|period)s?\b"),
        (2, r"\(?(?:the |its )?[\"']+(?:initial )?term[\"']+\)?"),
        (3.5, r"\b(?:commenc\w+|begin\w*|start\w*|effective)\b.{0,120}\b(?:continu\w+|end(?:s|ing)?|until|expir\w+|terminate)\b"),
        (4, r"\b(?:renew|renews|renewed|renewable|extend|extended)\b.{0,40}\b(?:automatic\w*|additional|successive|further|consecutive|for)\b|\bautomatic\w* (?:be )?(?:renew|extend)"),
        (1.5, r"\bunless (?:it is )?(?:sooner|earlier|otherwise|terminated|extended)|\buntil (?:it is )?terminated|\bearlier of\b"),
        (1.5, _LENGTH),
        (2, r"\bfor (?:a|an|the) (?:initial |further |additional )?(?:term|period) of\b"),
    ],
    never=r"\bsurviv|\bwarranty period\b|\bconfidentiality obligations\b|\binsurance\b|\bshall mean the\b.{0,30}\bproduct",
    threshold=6.5,
    keep=0.72,
    most=3,
)

PT = Cues(
    heading=r"vigencia|\bprazos?\b|duracao|renovacao|prorrogacao|quanto tempo|validade|periodo|por quanto|inicio",
    away=r"confidencial|sigilo|pagamento|\bpreco|entrega|rescis|dados|garantia|nivel|niveis|concorrencia|nao alicia|execucao",
    signs=[
        (4, r"\b(?:vigorar[a]?|vigor|vigera|vigencia|vige|viger|vigente por)\b"),
        (2.5, r"\b(?:contrato|acordo|instrumento|ajuste|locacao|parceria|franquia|licenca|fornecimento|relacao|termo|aditivo|comodato|emprestimo|arrendamento|mandato|representacao|sociedade|assinatura|plano|prestacao de servicos|cessao)\b.{0,80}\b(?:comeca|inicia(?:-se)?|dura|durara|vale|valera|valido|valida|vigora|termina|encerra-se|produz|perdura|permanece|tem (?:inicio|duracao|prazo|validade)|tera (?:inicio|duracao|prazo|validade)|expira|finda|estende-se|vai de|vai ate|corre)\b"),
        (3, r"\b(?:comeca|iniciando-se|inicia-se|inicio|inicia|de|desde|a partir de|a contar de|contad[oa]s?)\b.{0,60}\b\d{1,2}o? de [a-z]+ de \d{4}.{0,60}\b(?:termina\w*|ate|fim|encerra\w*|finda\w*|expira\w*|vai)\b"),
        (4, r"\b(?:prorrog\w+|renov\w+|reconduz\w+|reconduc\w+|estendid[oa])\b"),
        (4, r"\b(?:tempo|prazo) indeterminado\b|\bsem prazo\b"),
        (3, r"\b(?:vai|vale|valera|vigora|dura|durara|vigorara|corre|perdura)\b (?:\w+ ){0,3}(?:de|da|do|por|ate|desde|a partir)\b|\bindetermin\w+\b"),
        (3, r"\b\d{1,2}o? de [a-z]+ (?:de \d{4} )?(?:a|ate) (?:o dia )?\d{1,2}o? de [a-z]+ de \d{4}|\bate (?:o dia )?\d{1,2}o? de [a-z]+ de \d{4}"),
        (2.5, r"\b(?:termino|termo final|fim|vencimento|prazo)\b.{0,80}\b(?:adiad[oa]|estendid[oa]|prorrogad[oa]|passa|ampliad[oa]|fica para)\b|\bate (?:a|o) (?:integral|quitacao|conclusao|entrega|cumprimento|pagamento)"),
        (1.5, r"\b(?:automatic\w*|sucessiv\w*|iguais|igual periodo|mesmo prazo|novo periodo|tacit\w*|silencio)\b"),
        (2, r"\b(?:pelo|por|com|o|de|em) (?:prazo|periodo)(?: \w+){0,3} de\b|\bprazo (?:in)?determinado\b|\bprazo (?:\w+ ){0,4}(?:e|sera) de\b"),
        (2, r"\b\d+ ?(?:\([^)]{3,40}\) )?(?:anos?|mes(?:es)?|dias)\b|\b(?:um|dois|tres|quatro|cinco|seis|sete|oito|nove|dez|doze|dezoito|vinte|trinta|sessenta)\b(?: e \w+)? (?:anos?|meses)\b"),
        (1.5, r"\bcontad[oa]s? (?:d[aeo]|a partir)|\ba partir d[aeo]\b|\ba contar d[aeo]\b|\bda (?:data d[ae] )?(?:sua )?assinatura\b|\bdesde a\b"),
        (2, r"\bproduz\w* efeitos?\b|\bentra em vigor\b"),
    ],
    never=r"\b(?:sigilo|confidencialidade|segredo|nao concorrencia)\b.{0,60}\b(?:anos|meses)|\bjuros\b|\bgarantia\b.{0,30}\b(?:meses|dias|anos)|\baviso previo\b.{0,40}\bdias\b(?!.*renov)|\baluguel\b.{0,40}\breajust|\bapolice|\bseguro\b",
    threshold=5,
    keep=0.6,
    most=2,
)
