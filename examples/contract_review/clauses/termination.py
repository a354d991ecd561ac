"""How a party may end the agreement early: without cause first of all, then for a breach."""

from .scoring import Cues

EN = Cues(
    heading=r"\bterminat|\bcancel|\btermination for convenience|\bexpiration",
    away=r"effects? of|consequences|surviv|definition|confidential|insurance|force majeure|employ|obligations upon",
    signs=[
        (3, r"\b(?:may|shall have the right to|right to|entitled to|can|option to|elect to)\b.{0,100}\b(?:terminate|cancel|end)\b"),
        (3, r"\b(?:agreement|license|order form|subscription)\b.{0,40}\b(?:may|shall|can) be (?:\w+ ){0,2}(?:terminated|cancelled|canceled)\b"),
        (1.5, r"\bterminat\w+\b.{0,40}\b(?:this|the) (?:\w+ ){0,3}(?:agreement|mnda|contract)\b|\bagreement\b.{0,60}\bterminat"),
        (4, r"\b(?:without cause|for convenience|for any (?:or no )?reason|any or no reason|no reason|with or without cause|without reason|at its sole (?:and absolute )?discretion|in its sole (?:and absolute )?discretion|at will)\b"),
        (2.5, r"\b(?:at any time|upon|on|by|with|giving|providing|after) (?:\w+ ){0,8}(?:\(\d+\) )?(?:calendar |business )?(?:days?|months?)['s]*\b.{0,40}\bnotice\b"),
        (1.5, r"\bat any time\b"),
        (1, r"\bnotice\b"),
        (0.5, r"\beither party\b"),
        (-2, r"\bbreach|\bdefault|\bbankrupt|\binsolven|\bfail(?:s|ure) to\b|\bcure\b"),
        (-2, r"\b(?:upon|after|following|in the event of|event of) (?:any |the )?(?:\w+ ){0,3}(?:termination|expiration)\b|\bnon-?renew|\bnot (?:to )?(?:be )?renew"),
    ],
    never=r"\bsurvive\b|\bemployment\b.{0,40}\bterminat|\bshall not be liable\b",
    threshold=4,
    keep=0.6,
    most=3,
)

PT = Cues(
    heading=r"rescis|extincao|encerramento|terminacao|denuncia|resili|resoluc|cancelamento|desist|deslig|devoluc\w+ antecip|sair|saida|ir embora|fim d|distrato|acabar|termino|encerrar",
    away=r"efeitos|confidencial|sigilo|foro|preco|pagamento|dados",
    signs=[
        (3.5, r"\b(?:pode\w*|faculta\w*|podendo|direito de|livre para|a qualquer (?:momento|tempo)|querendo|quiser|por iniciativa)\b.{0,160}\b(?:rescind\w*|resili\w*|denuncia\w*|encerra\w*|terminar|cancela\w*|extin\w+|por fim|desfeit\w*|desfazer|romper|resolv\w+|sair|desist\w*|distrat\w*|interromper)\b"),
        (3, r"\b(?:contrato|acordo|ajuste|instrumento|locacao|parceria|fornecimento|relacao|vinculo|avenca|assinatura)\b.{0,80}\b(?:rescindid[oa]|resilid[oa]|resolvid[oa]|extint[oa]|denunciad[oa]|cancelad[oa]|desfeit[oa]|encerrad[oa]|considera-se|rompid[oa]|termina|acaba)\b"),
        (3.5, r"\b(?:imotivad\w*|sem (?:necessidade de )?(?:justa causa|justificativa|motivo|causa|justificar|dar (?:motivo|explicac\w+)|motivacao|precisar|explicar)|independentemente de (?:causa|motivo|justificativa|motivacao)|imotivadamente|por conveniencia|qualquer motivo|injustificad\w*|unilateral\w*)\b"),
        (2.5, r"\b(?:aviso|avis\w+|notifica\w*|pre-aviso|comunica\w*|antecedencia|comunicacao)\b.{0,70}\b(?:dias|meses|mes)\b|\b(?:dias|meses) de (?:antecedencia|aviso)\b"),
        (3, r"\b(?:de pleno direito|resolucao imediata|imediatamente|de imediato|rescisao imediata|justa causa|sem aviso|na hora|sem pre-aviso)\b"),
        (2.5, r"\b(?:falencia|recuperacao judicial|insolvencia|inadimpl\w+|descumpr\w+|infra[cç]\w+|violacao|falta de pagamento|deixar de pagar|atras\w+|dissolucao|liquidacao)\b"),
        (3, r"\b(?:dar|da|darao|dando|considera\w*(?:-se)?|ter|declara\w*)\b.{0,20}\b(?:por )?(?:find[oa]|desfeit[oa]|encerrad[oa]|resolvid[oa]|rescindid[oa]|extint[oa])\b|\bpo[er]m? fim a|\bpor fim a"),
        (3, r"\b(?:deslig\w+|deixar (?:o|a) (?:contrato|parceria|sociedade|imovel)|devolver o imovel|encerra\w*|rescind\w+|resili\w+|denunci\w+)\b"),
        (1.5, r"\bantes (?:disso|do (?:fim|termo|prazo|vencimento|termino))|\bresolucao do (?:contrato|ajuste)|\bvencimento antecipado"),
        (1.5, r"\b(?:rescisao|resilicao|denuncia|resolucao|extincao|encerramento|distrato)\b"),
        (1, r"\b(?:qualquer (?:das partes|delas|uma|de nos)|uma das partes|ambas as partes|qualquer parte)\b"),
    ],
    never=r"\b(?:renova|prorroga)\w*\b.{0,80}\bautomatic|\bsobrevive|\bsubsistir|\b(?:devolve\w*|restituir\w*|entregar\w*)\b.{0,40}\b(?:documentos|chaves|cracha|copias)|\bencerrad[oa] (?:o|este) contrato, |\bem caso de (?:rescisao|termino)",
    threshold=5,
    keep=0.62,
    most=3,
)
