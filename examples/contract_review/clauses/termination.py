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

_END = (
    r"(?:rescind\w*|rescis\w+|resili\w*|resolv(?:er|id[oa]|e-se|e|era)|resolve-l[oa]|resili-l[oa]|denunci\w*|encerra\w*|terminad[oa]|terminar|cancela\w*|extin\w+|desfaz\w*|desfeit\w*|desfazer|"
    r"romp\w+|sair|saida|desist\w*|distrat\w*|interromper|desvincul\w*|deslig\w+|retirar-se|retirada|despejo|devolver o imovel|deixar (?:o|a) (?:contrato|parceria|sociedade|imovel)|livre|finalizar|parar|revoga\w*|renunciar|exclusao)"
)
_AGREEMENT = r"(?:contrato|acordo|ajuste|instrumento|locacao|parceria|fornecimento|relacao|vinculo|avenca|assinatura|plano|franquia|negocio|arrendamento|hospedagem|servicos?|termo|licenca|ata)"

PT = Cues(
    heading=r"rescis|revogac|extincao|encerramento|terminacao|denuncia|resili|resoluc|cancelamento|desist|deslig|desfaz|ruptura|romp|quebra|devoluc\w+ antecip|sair|saida|ir embora|retirada|\bfim d|distrato|acabar|termino|encerrar",
    away=r"efeitos|confidencial|sigilo|foro|preco|pagamento|dados|cronograma|suporte",
    alone=r"rescis|extincao d|encerramento|resilicao|denuncia|cancelamento|distrato|desligamento|ruptura",
    signs=[
        (2.5, rf"\b(?:pode\w*|faculta\w*|direito de|a qualquer (?:momento|tempo)|a todo tempo|quando quiser|querendo|quiser|basta|dara?o?|considera\w*(?:-se)?)\b.{{0,160}}\b{_END}\b"),
        (2.5, rf"\b{_AGREEMENT}\b.{{0,80}}\b{_END}\b|\b{_END}\b.{{0,50}}\b{_AGREEMENT}\b"),
        (1.5, rf"\b{_END}\b"),
        (3.5, r"\b(?:imotivad\w*|sem (?:necessidade de )?(?:justa causa|justificativa|motivo|causa|justificar|dar (?:motivo|explicac\w+|razoes)|motivacao|precisar|explicar|onus|multa)|independentemente de (?:causa|motivo|justificativa|motivacao)|imotivadamente|por conveniencia|qualquer motivo|injustificadamente|unilateral\w*|por vontade|quando quiser|a qualquer (?:tempo|momento)|a todo tempo)\b"),
        (2.5, r"\b(?:aviso|avis\w+|notifica\w*|pre-aviso|comunica\w*|antecedencia|carta)\b.{0,70}\b(?:dias|meses|mes|dia 1o)\b|\b(?:dias|meses) de (?:antecedencia|aviso|notificacao|pre-aviso)\b"),
        (2, r"\b(?:de pleno direito|resolucao imediata|imediatamente|de imediato|desde logo|rescisao imediata|justa causa|motivos justos|sem aviso|na hora|sem pre-aviso|independentemente de (?:interpelacao|notificacao|aviso))\b"),
        (2.5, r"\b(?:falencia|falir|recuperacao judicial|insolvencia|inadimpl\w+|descumpr\w+|infra[cç]\w+|infring\w+|falta de pagamento|nao pagar|(?:deixar|deixe) de pagar|sem pagamento|atras(?:ar|o superior)\w*|dissolucao|liquidacao|falta grave|faltar com|abandon\w+|faturas em aberto)\b"),
        (3, r"\b(?:dar|da|darao|dando|considera\w*(?:-se)?|ter|declara\w*)\b.{0,20}\b(?:por )?(?:find[oa]|desfeit[oa]|encerrad[oa]|resolvid[oa]|rescindid[oa]|extint[oa]|terminad[oa])\b|\bpo[er]m? fim ao?\b|\bpor fim ao?\b|\bda causa a"),
        (2.5, r"^(?:se|caso) .{0,60}\b(?:desist\w*|deix\w+ de|descumpr\w*|faltar|parar|nao (?:pagar|cumprir|entregar|comprar))"),
        (1.5, r"\bantes (?:disso|do (?:fim|termo|prazo|vencimento|termino))|\bresolucao do (?:contrato|ajuste)|\bvencimento antecipado|\bretomar\b|\b(?:parte|partes) inocente"),
        (1, r"\b(?:qualquer (?:das partes|delas|uma|de nos|lado)|uma das partes|ambas|qualquer parte|um dos dois)\b"),
        (-3, r"\b(?:renova|prorroga|reconduz)\w*|\b(?:apos|depois d[ao]|finda?o?|encerrad[oa]|extint[oa]|rescindid[oa]|com) (?:[oa] |este |esta )?(?:termino|encerramento|fim|extincao|contrato|franquia|parceria|locacao|relacao|assinatura|rescisao)\b|^(?:encerrad[oa]|extint[oa]|findo)\b|^em caso de (?:rescisao|termino)"),
        (-3, r"\b(?:sigilo|segredo|reajust\w+|chamad[oa]s?|vazamento|incidente|obra|medicoes|juros|seguro|correcao|ordem judicial|cronograma)\b"),
    ],
    never=r"\bsobrevive|\bsubsisti|\b(?:devolve\w*|restituir\w*|entregar\w*)\b.{0,40}\b(?:documentos|chaves|cracha|copias)",
    threshold=5,
    keep=0.6,
    most=3,
)
