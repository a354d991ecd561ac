"""The most a party can owe the other, and the kinds of loss nobody answers for."""

from .scoring import Cues

EN = Cues(
    heading=r"limit\w* (?:of|on) (?:\w+ )?(?:liabilit|damage|remed)|liabilit|exclusion of|"
    r"consequential|damages|disclaimer|remed|(?:things|something|it) goes? wrong|responsib|who pays|\bloss(?:es)?\b|"
    r"\bcap\b",
    away=r"insurance|definition|force majeure|tax|confidential|recital|notice|infringement",
    alone=r"limit\w* (?:of|on) (?:\w+ )?liabilit|\bcap on\b",
    signs=[
        (
            4,
            r"\b(?:in no event|under no circumstances?|in no way)\b.{0,160}\b(?:liable|liability|"
            r"exceed|responsible)\b|\bliability of\b.{0,160}\bnot exceed\b",
        ),
        (
            3.5,
            r"\b(?:neither|no|not|nor)\b.{0,120}\b(?:liable|liability|"
            r"responsible)\b.{0,200}\b(?:indirect|consequential|special|incidental|punitive|exemplary|"
            r"lost profits|loss of (?:profit|revenue|business|use))",
        ),
        (
            4,
            r"\b(?:liabilit(?:y|ies)|damages|indemnif\w+|remediation|"
            r"obligations?)\b.{0,400}\b(?:shall|will|may|must|does|be|is|"
            r"are)\b.{0,30}\b(?:not (?:\w+ )?exceed|limited to|capped|no more than)\b",
        ),
        (
            5,
            r"\b(?:responsibility|liability|exposure)\b.{0,40}\b(?:stops?|ends?) at\b|\bnothing\b.{0,60}\b(?:owes?|"
            r"pays?|"
            r"pay|payable|liability)\b.{0,60}\bexceeds?\b|\b(?:never|not) (?:\w+ ){0,3}(?:pay|owe|"
            r"answer for) (?:\w+ )?more than\b|\b(?:total|maximum|greatest) "
            r"(?:sum|amount|compensation|damages) (?:\w+ )?(?:recoverable|payable by way|claimable)\b|"
            r"\b(?:the )?(?:most|maximum)\b.{0,60}\b(?:pay|owe|recover|claim|liable|liability|asked|lose)\b|"
            r"\b(?:pay|owe|liable|liability|responsible|recover|claim|compensat\w+|damages)\b.{0,60}\b(?:no more than|"
            r"not (?:\w+ ){0,2}more than|never (?:\w+ ){0,2}(?:more than|exceed\w*|above|beyond)|up to (?:a |the )?"
            r"(?:maximum|total|limit|cap|ceiling)|"
            r"(?<!not )limited to|capped at|ceiling of|a cap of)\b",
        ),
        (
            3,
            r"\b(?:indemnif\w+|reimburse\w*|compensation|remediation|"
            r"claims?)\b.{0,120}\bnot exceed (?:the )?(?:\w+ ){0,2}"
            r"(?:payments?|amounts?|fees|sums?|price|total)\b|\bno(?:t have)? liabilit\w+ for any damages other than\b",
        ),
        (
            3,
            r"\b(?:will not|won't|shall not|cannot|can't|never|nobody|neither|no one|not)\b.{0,60}\b(?:pay|answers?|"
            r"compensate|liable|claim|responsible|cover|owe)\b.{0,80}\b(?:lost (?:profits?|business|sales|custom|"
            r"income|"
            r"revenue|data)|loss of (?:profits?|business|sales|custom|income|reputation|goodwill)|knock-on|indirect|"
            r"consequential|reputation)\b",
        ),
        (
            -3,
            r"\b(?:liable|responsible) for (?:any |the |all )?(?:\w+,? ){0,4}(?:acts?|omissions?|contracts?|debts?|"
            r"obligations?|employees|taxes)\b.{0,80}\b(?:of|incurred|by)\b|\b(?:partnership|joint venture|agency)\b|"
            r"\bresponsible for all\b|\barising (?:from|out of) (?:the )?acts (?:or|and) omissions of\b",
        ),
        (2.5, r"\b(?:aggregate|total|maximum|entire|cumulative) (?:\w+ ){0,3}liabilit"),
        (2.5, r"\b(?:indirect|consequential|incidental|punitive|exemplary)\b.{0,80}\b(?:damages?|loss(?:es)?)\b"),
        (1, r"\b(?:lost|loss of) (?:anticipated )?(?:profits?|revenues?|data|goodwill|business)\b"),
        (
            1,
            r"\b(?:even if|regardless of|whether (?:in|based|arising))\b.{0,80}\b(?:advised|contract|"
            r"tort|negligence|notice|possibility|form of)",
        ),
        (3.5, r"\bsole (?:and exclusive |or exclusive )?(?:remedy|liability)|\bexclusive remed(?:y|ies)\b"),
    ],
    never=r"\binsurance (?:policy|coverage)|\bliability insurance\b|\bpolic(?:y|ies) of insurance",
    threshold=5,
    keep=0.62,
    most=3,
)

_HARM = (
    r"(?:responsabilidade|indeniza\w+|ressarc\w+|repar(?:acao|acoes|ar|a|am|ara|arao|em)|perdas e danos|"
    r"prejuizos?|danos?|condenac\w+|respond\w+|estragos?|exposicao financeira)"
)
_NO_MORE = (
    r"\b(?:limita\w*|(?:nao|nunca|jamais|nem) (?:\w+ ){0,3}(?:excede\w*|ultrapass\w*|pass(?:a|am|ar\w*)|supera\w*|"
    r"alem|acima|mais (?:do )?que|superior\w*)|teto|no maximo|ate (?:o|a) (?:limite|montante|quantia|valor|"
    r"equivalente|total|soma|dobro|triplo)|ate r\$|jamais|maxim[ao]|se esgota\w*|adstrit\w+|circunscr\w+|restring\w+)\b"
)

PT = Cues(
    heading=r"responsabili|limite|limitacao|teto|indeniza|\bdanos?\b|perdas|quem responde|riscos|ate quanto|prejuizo|"
    r"ressarc|reparac|estrago|quem paga (?:a conta|se)|der errado",
    away=r"seguro|tribut|trabalh|ambient|confidencial|sigilo|preco|pagamento|credito|multa",
    alone=r"limit\w* (?:d[aeo]s? )?(?:responsab|indeniza|danos|reparac)|\bteto\b|exclus\w+ de responsab|ate quanto",
    signs=[
        (
            3,
            rf"\b{_HARM}\b.{{0,220}}{_NO_MORE}|\b{_HARM}\b.{{0,60}}\b(?:encontra|tem|tera) (?:por |como )?(?:limite|"
            rf"teto)",
        ),
        (1.5, rf"\b(?:devera|pagar|pagara|arca\w*)\b.{{0,220}}{_NO_MORE}"),
        (
            2.5,
            rf"{_NO_MORE}.{{0,60}}(?:r\$ ?\d|\b\d+ ?%|\b(?:valor|total|soma|somatorio|montante|preco|quantia|"
            r"mensalidades?|fatura\w*|honorarios|dobro|triplo|receb\w+|pag[oa]s?|desembolsad\w+|apolice)\b)",
        ),
        (
            3.5,
            rf"\b(?:nenhum[ao]?|ninguem|nem)\b.{{0,80}}\b(?:pag\w+|indeniz\w+|respond\w+|repar\w+|ressarc\w+|"
            rf"devera?)\b.{{0,60}}\b(?:mais (?:do )?que|alem d[aeo]|acima d[aeo])|\b{_HARM}\b.{{0,60}}\bse "
            r"(?:esgota\w*|limita\w*|resum\w+|restring\w+|circunscrev\w+)",
        ),
        (
            -5,
            r"\bsem (?:qualquer |nenhum |nenhuma )?(?:limite|teto|limitacao)\b|\bilimitad\w+|"
            r"\bnao ha(?:vera)? (?:limite|teto)",
        ),
        (-5, r"\bmulta (?:por|de|diaria)\b.{0,80}\b(?:atraso|entrega|dia)\b"),
        (
            4,
            r"\b(?:nao|nem|tampouco)\b.{0,40}\b(?:respond\w+|indeniz\w+|repar\w+|"
            r"ressarc\w+)\b.{0,80}\b(?:superior(?:es)? a|"
            r"maior(?:es)? (?:do )?que|que exced\w+)",
        ),
        (-4, r"^o disposto nest[ea]\b.{0,40}\bnao (?:alcanca|abrange)"),
        (-4, r"\b(?:desconto|abatimento|credito)s?\b.{0,80}\b(?:meta|faturamento|fatura|mensalidade|ponto)\b"),
        (-2.5, r"\b(?:nao|nem) (?:\w+ ){0,2}respond\w+ p(?:el[ao]s?|or) (?:execuc|ato|obra|servico|qualidade|conduta)"),
        (
            3.5,
            r"\bmaximo (?:que|a que) (?:\w+ ){0,3}(?:devolv\w+|pag\w+|indeniz\w+|ressarc\w+|respond\w+|reembols\w+)|"
            r"\b(?:nao (?:sao|serao)|sem ser|nunca serao) indeniza\w+|\b(?:fora|excluid[oa]s?|exclu\w+-se|"
            r"nao (?:entra\w*|se inclu\w+|abrang\w+|alcanc\w+|cobr\w+))\b.{0,50}"
            r"\b(?:reparac\w+|indeniza\w+|ressarc\w+|perdas|lucros|vendas|danos|ganhos)",
        ),
        (5, r"\bteto\b.{0,60}\b(?:sobe|passa|elev\w+|aument\w+|fica)\b.{0,40}(?:r\$|\d)"),
        (
            3,
            r"\bteto de\b|\bate o (?:teto|limite|valor|maximo)\b|\b(?:circunscrit\w+|restrit\w+|adstrit\w+|"
            r"limitad\w+|limita-se) (?:a|ao|aos)\b|\bmais (?:do )?que r?\$? ?\d|\bnao pass(?:a|am|ar\w*) d[aeo]\b|"
            r"\bpor mais que\b",
        ),
        (
            2.5,
            r"\b(?:exposicao financeira|a qualquer titulo|responde|respondem|respondera|ressarc\w+|"
            r"indeniz\w+|nao paga\b)\b.{0,120}\b(?:ate|no maximo|teto|circunscrit\w+|restrit\w+|"
            r"mais do que|limit\w+|no total)\b",
        ),
        (
            4,
            r"\b(?:limit[ea]\w*|limitacao|teto|maxim[ao]|"
            r"montante maximo)\b.{0,60}\b(?:d[aeo]s? )?(?:responsabilidade|indeniza\w+|reparacao|"
            r"perdas e danos|ressarcimento|danos)\b",
        ),
        (
            3.5,
            r"\b(?:responsabilidade|indenizacao|indenizacoes|ressarcimento|danos|"
            r"reparacao)\b.{0,40}\b(?:total|global|agregada|maxima|maximo|acumulada)\b|\b(?:total|"
            r"soma|conjunto|montante) (?:d[aeo]s? )?(?:indeniza|responsabilidade|condenac)",
        ),
        (
            3.5,
            r"\bem (?:nenhuma hipotese|nenhum caso|hipotese alguma|caso algum|"
            r"qualquer hipotese)\b.{0,160}\b(?:responsab|respond|indeniza|exced|ultrapass|super)",
        ),
        (
            3.5,
            r"\b(?:nao|nenhuma|nem|tampouco|ninguem|sem)\b.{0,100}\b(?:respond\w*|responsav\w*|"
            r"responsabiliz\w*|indeniza\w*|dev\w+|cobr\w+|pagar\w*|exclui\w*|exclu\w+|"
            r"reembols\w+)\b.{0,160}\b(?:lucros? cessantes?|danos? indiretos?|perda de (?:receita|"
            r"lucro|negocio|chance|faturamento)|lucros? que|indiretos|lucros|danos? morais|emergentes|"
            r"imagem)",
        ),
        (
            3,
            r"\b(?:lucros? cessantes?|danos? indiretos?|prejuizos? indiretos?|perda de (?:receita|"
            r"lucro|faturamento|negocio|chance))\b",
        ),
        (
            2,
            r"\b(?:limita\w*|exced\w*|ultrapass\w*|super\w*)\b.{0,60}\b(?:a soma|ao valor|o valor|"
            r"ao total|o total|ao equivalente|equivalente|montante|r\$|pag[oa]s?|faturad[oa]s?|"
            r"mensalidades|\d+%|quantia|receb\w+)",
        ),
        (
            2,
            r"\bperdas? d[aeo] \w+|\bo? ?lucros? que\b|\bdeix\w+ de (?:ganhar|ter|lucrar|vender|fazer|"
            r"receber)\b|\b(?:vendas?|mercadorias?|producao) (?:perdidas?|estragadas?|parada)\b|"
            r"\bprejuizos\b|\bnegocios perdidos|\bdanos? (?:a reputacao|reflex\w+|a imagem)|\bprejuizo reflexo",
        ),
        (
            1.5,
            r"\b(?:nao|nem)\b (?:\w+ ){0,3}(?:respond\w*|pag\w+|indeniz\w+|arca\w*)\b|\bdevolv\w+,? no maximo\b|"
            r"\bno maximo\b|"
            r"\bmaximo que\b|\brestrit[oa]\b",
        ),
        (
            2,
            r"\b(?:dolo|culpa grave|ma-fe)\b.{0,60}\b(?:limit|teto)|\b(?:salvo|exceto|"
            r"ressalvad\w+)\b.{0,40}\b(?:dolo|culpa grave|fraude)",
        ),
    ],
    never=r"\bresponsabilidade civil\b.{0,60}\bcobertura|\bapolice|\bseguradora|\b(?:juros|"
    r"fatura nao paga|frete|aviso|garantia estendida)\b|\bdesconto\b.{0,60}\bpor cento|"
    r"\bmulta (?:moratoria|de 2)|\bresponsabilidade limitada,",
    threshold=5,
    keep=0.6,
    most=3,
)
