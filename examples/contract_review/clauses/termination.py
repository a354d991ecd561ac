"""How a party may end the agreement early: without cause first of all, then for a breach."""

from .scoring import Cues

EN = Cues(
    heading=r"\bterminat|\bcancel|\btermination for convenience|\bexpiration|\bleav(?:e|ing)\b|walk(?:ing)? away|"
    r"\bending\b|\bend(?:s)? early|stopping|early exit|\bexit\b|getting out",
    away=r"effects? of|consequences|surviv|definition|confidential|insurance|force majeure|employ|obligations upon",
    alone=r"^[\W\d]*(?:early )?(?:termination|cancellation)(?: (?:rights|for convenience|without cause))?\W*$",
    signs=[
        (
            3,
            r"\b(?:may|shall have the right to|right to|entitled to|can|option to|"
            r"elect to)\b.{0,100}\b(?:terminate|cancel|end)\b",
        ),
        (
            4,
            r"\b(?:may|can|could|free to|entitled to|right to)\b.{0,60}\b(?:walk away|rescind (?:this|the|it)|"
            r"determine this|stop (?:your |the |this )?(?:subscription|membership|plan|order|service)|pull out|"
            r"call it off|step away|"
            r"opt out of this|bring (?:\w+ ){1,4}to an end|put an end to|cease th(?:is|e) (?:agreement|contract|"
            r"arrangement)|leave (?:this|the) (?:agreement|contract|arrangement|scheme)|"
            r"stop (?:this|the) (?:agreement|contract|arrangement|services?)|"
            r"end (?:this|it|the (?:agreement|contract|arrangement|deal|services?)))\b",
        ),
        (
            3,
            r"\b(?:agreement|license|order form|subscription)\b.{0,40}\b(?:may|shall|"
            r"can) be (?:\w+ ){0,2}(?:terminated|cancelled|canceled)\b",
        ),
        (
            1.5,
            r"\bterminat\w+\b.{0,40}\b(?:this|the) (?:\w+ ){0,3}(?:agreement|mnda|contract)\b|"
            r"\bagreement\b.{0,60}\bterminat",
        ),
        (
            4,
            r"\b(?:without cause|for convenience|for any (?:or no )?reason|any or no reason|no reason|"
            r"with or without cause|without reason|at its sole (?:and absolute )?discretion|"
            r"in its sole (?:and absolute )?discretion|at will|whenever (?:you|we|it|they|either) (?:like|want|"
            r"wish)\w*)\b",
        ),
        (
            2.5,
            r"\b(?:at any time|upon|on|by|with|giving|providing|"
            r"after) (?:\w+ ){0,8}(?:\(\d+\) )?(?:calendar |business )?(?:days?|"
            r"months?|weeks?)['s]*\b.{0,40}\bnotice\b|\b(?:days?|weeks?|months?)'? (?:written )?(?:notice|warning)\b",
        ),
        (1.5, r"\bat any time\b"),
        (1, r"\bnotice\b"),
        (0.5, r"\beither party\b"),
        (-2, r"\bbreach|\bdefault|\bbankrupt|\binsolven|\bfail(?:s|ure) to\b|\bcure\b"),
        (
            -2,
            r"\b(?:upon|after|following|in the event of|event of) (?:any |"
            r"the )?(?:\w+ ){0,3}(?:termination|expiration)\b|\bnon-?renew|\bnot (?:to )?(?:be )?renew",
        ),
    ],
    never=r"\bsurvive\b|\bemployment\b.{0,40}\bterminat|\bshall not be liable\b",
    threshold=4,
    keep=0.6,
    most=3,
)

_END = (
    r"(?:rescind\w*|rescis\w+|resili\w*|resolv(?:er|id[oa]|e-se|e|era)|resolve-l[oa]|"
    r"resili-l[oa]|denunci\w*|encerra\w*|terminad[oa]|terminar|cancela\w*|extin\w+|desfaz\w*|"
    r"desfeit\w*|desfazer|"
    r"romp\w+|sair|saida|desist\w*|distrat\w*|interromper|desvincul\w*|deslig\w+|retirar-se|"
    r"retirada|despejo|devolver o imovel|deixar (?:o|a) (?:contrato|parceria|sociedade|"
    r"imovel)|livre|finalizar|parar|revoga\w*|renunciar|exclusao|excluid[oa]s?|ir embora|pular fora|largar|sair fora|"
    r"d(?:ar|a|ao|e) fim|p(?:or|oe|oem|onha) (?:um )?(?:fim|termo|ponto final)|acabar com|nao (?:mais )?continuar|"
    r"abandona\w*|dispensa(?:r|d[oa])|encerra-l[oa])"
)
_AGREEMENT = (
    r"(?:contrato|acordo|ajuste|instrumento|locacao|parceria|fornecimento|relacao|vinculo|"
    r"avenca|assinatura|plano|franquia|negocio|arrendamento|hospedagem|servicos?|termo|"
    r"licenca|ata|projeto|trabalhos?|prestacao|contratacao|combinado|trato|arranjo|sociedade|consultoria|"
    r"mandato|campanha|concessao|gestao|curso|matricula|estagio|programa)"
)

PT = Cues(
    heading=r"rescis|revogac|extincao|encerramento|terminacao|denuncia|resili|resoluc|cancelamento|"
    r"desist|deslig|desfaz|ruptura|romp|quebra|devoluc\w+ antecip|sair|saida|ir embora|"
    r"retirada|\bfim d|distrato|acabar|termino|encerrar|terminar|interromp|dissoluc|parar antes|"
    r"antes da hora|dar fim|cancelar|separac",
    away=r"efeitos|confidencial|sigilo|foro|preco|pagamento|dados|cronograma|suporte",
    alone=r"rescis|extincao d|encerramento|resilicao|denuncia|cancelamento|distrato|desligamento|ruptura",
    signs=[
        (
            2.5,
            r"\b(?:pode\w*|faculta\w*|direito de|a qualquer (?:momento|tempo)|a todo tempo|"
            rf"quando quiser|querendo|quiser|basta|dara?o?|considera\w*(?:-se)?)\b.{{0,160}}\b{_END}\b",
        ),
        (2.5, rf"\b{_AGREEMENT}\b.{{0,80}}\b{_END}\b|\b{_END}\b.{{0,50}}\b{_AGREEMENT}\b"),
        (1.5, rf"\b{_END}\b"),
        (
            3.5,
            r"\b(?:imotivad\w*|sem (?:necessidade de )?(?:justa causa|justificativa|motivo|causa|"
            r"justificar|dar (?:motivo|explicac\w+|razoes)|motivacao|precisar|explicar|onus|multa)|"
            r"independentemente de (?:causa|motivo|justificativa|motivacao)|imotivadamente|"
            r"por conveniencia|qualquer motivo|injustificadamente|unilateral\w*|por vontade|"
            r"quando quiser|a qualquer (?:tempo|momento)|a todo tempo)\b",
        ),
        (
            2.5,
            r"\b(?:dias|mes|meses) de (?:aviso|antecedencia|pre-aviso)\b.{0,20}\b(?:basta\w*|sao suficientes|chega\w*)|"
            r"\b(?:basta\w*|suficiente)\b.{0,40}\b(?:aviso|avisar|carta|e-mail|mensagem|comunica\w*)\b",
        ),
        (2, r"\b(?:aviso|pre-aviso|antecedencia)\b.{0,40}\b(?:rescis|denuncia|resilic|saida|encerra|distrato)"),
        (
            2.5,
            r"\b(?:aviso|avis\w+|notifica\w*|pre-aviso|comunica\w*|antecedencia|"
            r"carta)\b.{0,70}\b(?:dias|meses|mes|dia 1o)\b|\bcom (?:\d+|trinta|sessenta|noventa|"
            r"quinze|cento e vinte) (?:\([^)]*\) )?dias\b|\b(?:dias|meses) de (?:antecedencia|aviso|"
            r"notificacao|pre-aviso)\b",
        ),
        (
            2,
            r"\b(?:de pleno direito|resolucao imediata|imediatamente|de imediato|desde logo|"
            r"rescisao imediata|justa causa|motivos justos|sem aviso|na hora|sem pre-aviso|"
            r"independentemente de (?:interpelacao|notificacao|aviso))\b",
        ),
        (
            2.5,
            r"\b(?:falencia|falir|recuperacao judicial|insolvencia|inadimpl\w+|descumpr\w+|"
            r"infra[cç]\w+|infring\w+|falta de pagamento|nao pagar|(?:deixar|deixe) de pagar|"
            r"sem pagamento|atras(?:ar|o superior)\w*|dissolucao|liquidacao|falta grave|faltar com|"
            r"abandon\w+|faturas em aberto)\b",
        ),
        (
            3,
            r"\b(?:dar|da|darao|dando|considera\w*(?:-se)?|ter|"
            r"declara\w*)\b.{0,20}\b(?:por )?(?:find[oa]|desfeit[oa]|encerrad[oa]|resolvid[oa]|"
            r"rescindid[oa]|extint[oa]|terminad[oa])\b|\bpo[er]m? fim ao?\b|\bpor fim ao?\b|"
            r"\bda causa a",
        ),
        (
            5,
            r"\b(?:constitu\w+|configur\w+|considera\w+-se|sao|havera)\b.{0,30}\b(?:causas?|motivos?|hipoteses?|casos) "
            r"(?:de|para(?: a)?) (?:resolucao|rescisao|extincao|termino|encerramento|denuncia)\b",
        ),
        (
            4,
            r"\b(?:aviso|antecedencia|pre-aviso)\b.{0,60}\bpassa (?:a|de|para)\b.{0,30}\b(?:dias|meses|mes)\b",
        ),
        (-5, r"\b(?:interromper|suspender) (?:as?|os?) (?:entregas?|fornecimento)\b"),
        (
            2.5,
            r"^(?:se|caso) .{0,60}\b(?:desist\w*|deix\w+ de|descumpr\w*|faltar|parar|nao (?:pagar|"
            r"cumprir|entregar|comprar))",
        ),
        (
            1.5,
            r"\bantes (?:disso|do (?:fim|termo|prazo|vencimento|termino))|\bresolucao do (?:contrato|"
            r"ajuste)|\bvencimento antecipado|\bretomar\b|\b(?:parte|partes) inocente",
        ),
        (
            1,
            r"\b(?:qualquer (?:das partes|delas|uma|de nos|lado|um)|uma das partes|cada (?:lado|parte|um)|ambas|"
            r"qualquer parte|um dos dois)\b",
        ),
        (
            -3,
            r"\b(?:renova|prorroga|reconduz)\w*|\b(?:apos|depois d[ao]|finda?o?|encerrad[oa]|"
            r"extint[oa]|rescindid[oa]|com) (?:[oa] |este |esta )?(?:termino|encerramento|fim|"
            r"extincao|contrato|franquia|parceria|locacao|relacao|assinatura|rescisao)\b|"
            r"^(?:encerrad[oa]|extint[oa]|findo)\b|^em caso de (?:rescisao|termino)",
        ),
        (
            -3,
            r"\b(?:sigilo|segredo|reajust\w+|chamad[oa]s?|vazamento|incidente|obra|medicoes|juros|"
            r"seguro|ordem judicial|cronograma|as contas|senhas|acessos?)\b",
        ),
    ],
    never=r"\bsobrevive|\bsubsisti|\b(?:devolve\w*|restituir\w*|"
    r"entregar\w*)\b.{0,40}\b(?:documentos|chaves|cracha|copias)",
    threshold=5,
    keep=0.6,
    most=3,
)
