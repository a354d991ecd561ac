"""How long the agreement lasts, and how it is renewed."""

from .scoring import Cues

_LENGTH = (
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|"
    r"eighteen|twenty|thirty|sixty|ninety)[\w -]{0,14}(?:\(\d+\) ?)?-?(?:years?|months?|"
    r"days?)\b|\banniversary\b"
)

EN = Cues(
    heading=r"\bterm\b|\bduration\b|how long|\bwhen (?:does )?(?:it|this|we) (?:start|begin)|\blife of\b|"
    r"start and (?:end|finish)|^[\W\d]*period\b|\bperiod of this|\brenewal|effective date|commencement|"
    r"period of (?:performance|"
    r"agreement)|^term and termination",
    away=r"confidential|warrant|payment|indemn|insurance|non-?compet|notice|effects? of|"
    r"consequences|surviv|default|assign|definition",
    alone=r"^[\W\d]*(?:\w+ )?term\W*$|\bduration\b|how long (?:it|this|does)",
    signs=[
        (
            5,
            r"\b(?:initial |original )?(?:term|duration) of (?:this|the) (?:\w+ ){0,3}(?:agreement|"
            r"venture|contract|license|mnda|amendment)\b.{0,40}\b(?:shall|will|is|commence|begin|be)\b",
        ),
        (
            4,
            r"\b(?:this|the) (?:\w+ ){0,2}(?:agreement|mnda|contract)(?: and [\w ]{0,40})? (?:shall|"
            r"will|is|has|becomes?|takes?|commences?|begins?|starts?)\b.{0,80}\b(?:effective|"
            r"in effect|commence|continue|remain in|in (?:full )?force|expires?|begin|start|until|"
            r"end)\b",
        ),
        (
            4,
            r"\b(?:agreement|contract|undertaking|deed|licen[cs]e|lease|engagement|arrangement|appointment|mnda|nda|"
            r"deal|"
            r"retainer|subscription|services?|we|it)\b.{0,70}\b(?:runs?|lasts?|carr(?:y|ies) on|goes on|go on|"
            r"stays? in (?:force|place|effect)|remains? in (?:force|place|effect)|continues?|endures?|keeps? going|"
            rf"is for|is made for)\b(?! \w+ (?:business )?days)(?:.{{0,40}}{_LENGTH}|.{{0,40}}\buntil\b)",
        ),
        (
            4,
            r"\b(?:starts?|begins?|commences?|from|takes effect)\b.{0,60}\b\d{4}\b.{0,60}\b(?:until|to|through|ends?|"
            r"carr(?:y|ies) on|runs?|lasts?|expires?)\b.{0,50}(?:\b\d{4}\b|\b(?:years?|months?)\b)|"
            r"\brolls? (?:over|on)\b|\brenews? (?:each|every)\b|\buntil cancell?ed\b|"
            r"\btakes effect\b.{0,90}\bexpires?\b|\b(?:year by year|month by month|year to year|month to month)\b|"
            r"\b(?:applies|extends|relates) to (?:\w+ ){0,2}disclosures? made\b.{0,60}\b(?:between|from|until|"
            r"before)\b|"
            r"\bdisclosures? made\b.{0,40}\bbetween\b.{0,60}\b\d{4}\b",
        ),
        (
            7,
            r"\b(?:end|expiry|expiration|termination) date\b.{0,60}\b(?:is|moved|extended|changed|postponed|amended)\b"
            r".{0,60}\b(?:to|until)\b.{0,30}\b\d{4}\b|\bterm\b.{0,60}\b(?:extended|prolonged|lengthened|shortened)\b"
            r".{0,60}\b(?:to|until|by|through)\b",
        ),
        (-3, r"^(?:\W*\d[\d.]*\W*)?(?:during|throughout) the (?:\w+ )?(?:term|period)\b"),
        (
            7,
            r"^\W*(?:termination|expiry|expiration|end|completion) date\W{1,4}\w+ \d|^\W*term\W{1,4}(?:\d|one|two|"
            r"three|"
            r"four|five|ten)\b",
        ),
        (4, r"\badditional (?:\w+ )?(?:\(\d+\) )?years?\b.{0,20}$|\bplans? renews?\b|\brenews? (?:each|every)\b"),
        (3, r"\b(?:initial|renewal|original|extended|extension) (?:term|period)s?\b"),
        (2, r"\(?(?:the |its )?[\"']+(?:initial )?term[\"']+\)?"),
        (
            3.5,
            r"\b(?:commenc\w+|begin\w*|start\w*|effective)\b.{0,120}\b(?:continu\w+|end(?:s|ing)?|"
            r"until|expir\w+|terminate)\b",
        ),
        (
            4,
            r"\b(?:renew|renews|renewed|renewable|extend|extended)\b.{0,40}\b(?:automatic\w*|"
            r"additional|successive|further|consecutive|for)\b|\bautomatic\w* (?:be )?(?:renew|extend)",
        ),
        (
            1.5,
            r"\bunless (?:it is )?(?:sooner|earlier|otherwise|terminated|extended)|"
            r"\buntil (?:it is )?terminated|\bearlier of\b",
        ),
        (1.5, r"\bunless\b.{0,60}\bnotice\b|\bnon-?renewal\b"),
        (1.5, _LENGTH),
        (2, r"\bfor (?:a|an|the) (?:initial |further |additional )?(?:term|period) of\b"),
    ],
    never=r"\bsurviv|\bwarranty period\b|\bconfidentiality obligations\b|\binsurance\b|"
    r"\bshall mean the\b.{0,30}\bproduct",
    threshold=6.5,
    keep=0.68,
    most=3,
)

_AGREEMENT = (
    r"(?:contrato|acordo|instrumento|ajuste|locacao|parceria|franquia|licenca|fornecimento|"
    r"relacao|termo|aditivo|comodato|emprestimo|arrendamento|mandato|"
    r"representacao|sociedade|assinatura|plano|servicos|cessao|permanencia|patrocinio|curso|"
    r"condicoes|ata|vinculo|compromisso|duracao|prazo|projeto|avenca|trabalhos?|prestacao|contratacao|"
    r"combinado|trato|arranjo|hospedagem|consultoria|campanha|concessao|gestao|estagio|programa|exploracao)"
)
_MANY = (
    r"(?:um|uma|dois|duas|tres|quatro|cinco|seis|sete|oito|nove|dez|doze|quinze|dezoito|vinte|"
    r"trinta|quarenta|sessenta|noventa|cento)"
)
_DATE = r"(?:\d{1,2}o?\.?o? de [a-z]+(?: de \d{4})?|\d{1,2}o?/\d{1,2}/\d{2,4})"

PT = Cues(
    heading=r"vigencia|\bprazos?\b|duracao|renovacao|prorrogacao|quanto tempo|validade|periodo|"
    r"por quanto|\binicio|\btempo\b|permanencia|quanto dura|comeco|dura\b|ate quando|desde quando|prorrog",
    away=r"confidencial|sigilo|pagamento|\bpreco|entrega|rescis|dados|garantia|nivel|niveis|"
    r"concorrencia|alicia|execucao|cronograma|obra\b|resposta|atendimento|entre nos|segredo|reserva d",
    alone=r"vigencia|duracao|inicio e (?:fim|termino)|^[\W\d]*(?:d[ao] )?(?:renovacao|prorrogacao|validade)\W*$|"
    r"prazo (?:do contrato|contratual|de duracao)|quanto (?:tempo )?dura|ate quando|"
    r"^[\W\d]*(?:do )?prazo\W*$",
    signs=[
        (4, r"\b(?:vigor(?:a|ar|ara|am|ando|ou)?|vigera|vigencia|vige|viger|vigente por)\b"),
        (
            2.5,
            rf"\b{_AGREEMENT}\b.{{0,80}}\b(?:comeca|inicia(?:-se)?|dur[ae]|durara|vale|valem|valera|"
            r"valid[oa]|vigora|termina\w*|acaba\w*|encerra(?:ndo)?-se|produz|perdura|permanece|expira|finda|"
            r"abrange|compreende|estende(?:-se)?|se estende|vai|corre|segue|(?:e|sera|tem|tera|fica|"
            rf"ajustad[oa]|feit[oa]|firmad[oa]|celebrad[oa]|outorgad[oa])\b.{{0,40}}\b(?:por|de|inicio|"
            r"duracao|prazo|validade|minim[oa]))\b",
        ),
        (
            3,
            rf"\b(?:dura(?:ra|rao|m)?|duracao (?:sera )?de|val(?:e|em|era)|vai|segue|corre|permanece\w*|"
            rf"fica\w* de pe)\b"
            rf"(?: \w+){{0,5}} (?:\d+|{_MANY})(?: e {_MANY})? ?(?:\([^)]{{2,40}}\) )?(?:anos?|mes(?:es)?|safras?|"
            r"temporadas?|semestres?|semanas?|dias|ciclos|edicoes)\b",
        ),
        (
            4,
            rf"\bcomec\w+ em {_DATE}.{{0,30}}\bparamos\b|\b{_DATE} (?:a|ate|ao) (?:o dia )?{_DATE}|\b(?:comec\w+|"
            rf"inicia\w*|"
            rf"inicio)\b.{{0,70}}\b(?:termin\w*|acab\w+|encerr\w+|fim|finda\w*|ate|expira\w*)\b",
        ),
        (
            2,
            rf"\bate (?:o dia )?{_DATE}|\b(?:encerra|termina|finda|expira)\w*(?:-se)? (?:em|a|"
            rf"no dia) (?:o dia )?{_DATE}",
        ),
        (
            5,
            rf"^(?:inicio|comeco|fim|termino|"
            rf"encerramento)\W{{1,3}}(?:em |dia )?{_DATE}|\b(?:prolong\w+|"
            rf"estend\w+)(?:-se)? por "
            r"igual|\b(?:pacto|acordo|contrato) (?:se )?prolonga",
        ),
        (
            4,
            r"\b(?:se repet\w+|vai se repetindo|renova\w* sozinh\w+|recomec\w+) (?:\w+ )?(?:sozinh\w+|automatic\w+|"
            r"ate)?\b",
        ),
        (1.5, r"\bate (?:voce |alguem |que (?:\w+ ){0,3})?(?:cancel\w+|desist\w+|pedir)|\b(?:mes|ano) seguinte\b"),
        (3, rf"\bentre (?:o dia |os dias )?{_DATE} e (?:o dia )?{_DATE}"),
        (4, r"\b(?:prorrog\w+|renov\w+|reconduz\w*|reconduc\w+)\b"),
        (
            3,
            r"\b(?:de ano em ano|mes a mes|ano a ano|por igual (?:periodo|prazo)|iguais periodos|"
            r"novo periodo|periodos? sucessiv\w+|sucessiv\w+ periodos?|segue sem prazo|"
            r"continua ate que|se estende por|estende-l[oa]s?|estendid[oa])\b",
        ),
        (4, r"\b(?:tempo|prazo) indeterminado\b|\bsem prazo\b|\bprazo incerto\b|\bnao tem prazo"),
        (
            1.5,
            r"\b(?:automatic\w*|tacit\w*|silenc\w*|findo|findos|nao quer|nao continua|se opuser|se oponha|"
            r"manifestacao contraria)\b",
        ),
        (
            1.5,
            r"\b(?:pelo|por|com|o|de|em) (?:prazo|periodo|tempo)(?: \w+){0,3} de\b|"
            r"\bprazo (?:in)?determinado\b|\bduracao (?:\w+ )?de\b",
        ),
        (
            2,
            rf"\b(?:\d+|{_MANY}(?: e {_MANY})?) ?(?:\([^)]{{2,40}}\) )?(?:anos?|mes(?:es)?|safras?|"
            r"temporadas?|semestres?)\b",
        ),
        (
            1.5,
            r"\bcontad[oa]s? (?:d[aeo]|a partir)|\ba partir d[aeo]\b|\ba contar d[aeo]\b|"
            r"\bda (?:data d[ae] )?(?:sua )?assinatura\b|\bdesde (?:a|o|hoje|ja|\d)|\btermo inicial\b|"
            r"\bcom inicio\b",
        ),
        (
            2,
            r"\bproduz\w* efeitos?\b|\bentra em vigor\b|\bate (?:a|o) (?:\w+ )?(?:quitacao|conclusao|"
            r"entrega|cumprimento|pagamento|assinatura|aceite)|\bcom o aceite\b",
        ),
        (
            2.5,
            r"\b(?:termino|termo final|fim|vencimento|prazo)\b.{0,80}\b(?:adiad[oa]|estendid[oa]|"
            r"prorrogad[oa]|passa|ampliad[oa]|fica para)\b",
        ),
        (
            -5,
            r"\b(?:alvara|licenca (?:sanit|ambient)\w+|apolice|certidao|certificado|seguro)\b.{0,40}\brenova\w*|"
            r"\brenova\w* (?:d[aeo]s? |[oa]s? |se[ut]s? |suas? )*(?:alvara|licencas? (?:sanit|ambient|de func|de "
            r"oper)|seguro|apolice|frota|estoque|certid|garantia|fianca|certific|registro|cadastro|acervo|cardapio|"
            r"equipament|uniforme|estatut|mobiliari)|\bdepende\w*(?:-se)? d[aeo]s?:? .{0,60}\b(?:anuencia|aprovac|"
            r"obtenc|assinatura|registro)|\bcondic\w+ (?:preceden|suspens|previ)",
        ),
        (-4, r"\b(?:obrigac\w+|dever|compromisso|silencio)\b.{0,60}\b(?:depois|apos)\b"),
        (3, r"\b(?:sucedem?-se|suceder-se-\w+)\b|\bse sucedem?\b"),
        (5, r"\b(?:ter-se-a|tem-se|considera\w*-se) (?:por )?(?:estendid|prorrogad|renovad|prolongad)[oa]\b"),
        (
            -3,
            r"r\$ ?\d|\b(?:reajust\w+|inflacao|juros|parcelas?|aluguel|mensalidade|garanti[ao]s?|"
            r"sigilo|confidencialidade|segredo|concorrencia|aliciamento|cronograma|multa|indeniza\w*|"
            r"meses anteriores|aviso previo|pre-aviso|dias uteis|responde pel\w+)\b",
        ),
    ],
    never=r"\bapolice|\bseguro\b|\bresponsabilidade total\b|\b(?:sigilo|confidencialidade|segredo|"
    r"reserva)\b.{0,60}\b(?:anos|meses)|\bnao (?:contratara|convidara)",
    threshold=5,
    keep=0.6,
    most=2,
)
