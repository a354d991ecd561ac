"""What is paid, when, how, how it is adjusted, and what a delay costs."""

from .scoring import Cues

EN = Cues(
    heading=r"payment|\bfees?\b|\bprice|pricing|compensation|royalt|invoic|consideration|billing|charges|remuneration|rent\b|purchase price|commission",
    away=r"confidential|liabilit|indemn|definition|terminat|insurance|warrant|audit|assign|tax",
    signs=[
        (4, r"\b(?:shall|will|agrees? to|must|is to|are to|may)\b.{0,40}\b(?:pay|compensate|remunerate|reimburse|invoice|charge|bill)\b.{0,100}\b(?:fees?|amounts?|price|royalt\w+|sum|compensation|charges|rent|commission|invoices?|costs|\$|usd|eur|gbp|monthly|annual\w*|rate|[a-z]*dollars)"),
        (3, r"\b(?:fees?|price|payments?|amounts?|invoices?|royalt\w+|charges|rent)\b.{0,60}\b(?:shall|will|is|are|must)\b.{0,40}\b(?:be|paid|payable|due|non-?refundable|invoiced|calculated|equal|exclusive|billed)\b"),
        (3, r"(?:\$|\busd|\beur|\bgbp|£|€) ?\d|\bdollars\b"),
        (2.5, r"\b(?:net|within|no later than|on or before)\b.{0,20}\b(?:\d+|thirty|fifteen|ten|forty-five|sixty)\b.{0,20}\bdays\b.{0,60}\b(?:invoice|receipt|due|date)"),
        (2, r"\b(?:late|overdue|past due|unpaid)\b.{0,60}\b(?:interest|fee|charge|rate)|\binterest\b.{0,60}\b(?:per month|per annum|percent|%)"),
        (1, r"\b(?:monthly|annually|quarterly|in advance|in arrears|per month|per year|upfront)\b"),
        (1, r"\b(?:customer|client|buyer|licensee|company|you|recipient|purchaser|subscriber)\b.{0,20}\b(?:shall|will|must|agrees? to) pay\b"),
    ],
    never=r"\bindemnif|\binsurance\b|\bliabilit(?:y|ies)\b.{0,60}\bexceed|\bshall mean\b|\bexpenses\b.{0,40}\b(?:suit|attorney)|\battorneys?'? fees|\bunable to pay|\bcosts of arbitrat",
    threshold=5.5,
    keep=0.7,
    most=3,
)

PT = Cues(
    heading=r"preco|pagament|remunera|honorari|valor|faturament|quanto custa|aluguel|alugueis|royalt|\btaxa|contrapresta|mensalidade|reajuste|investimento|quanto (?:voce )?(?:paga|pagar)|custo|comiss|juros|encargos|divisao d[aeo]s? (?:receita|lucro|resultado)|parcelas|amortiza|salario|repasse|financeir|cobranca|dinheiro",
    away=r"confidencial|sigilo|responsab|rescis|dados|foro|nivel|niveis|multa contratual|penalidade|seguro|objeto|garantia",
    signs=[
        (4, r"\b(?:pagar[a-z]*|paga|pagam|pago|pagos|paga[- ]se|remunerar[a]?|remunera|desembolsa\w*|custa|custam|custara|cobra\w*|cobrad[oa]s?|recebera|receber\w*|devid[oa]s?|fixad[oa]|ajustad[oa]|quitad[oa]s?|repassara|importa em|corresponde\w* a|sera de|e de|passa a ser|reembolsar\w*)\b.{0,140}(?:r\$ ?\d|\bus\$|\d+(?:,\d+)?%|\breais\b)"),
        (3, r"r\$ ?\d"),
        (2, r"r\$ ?\d.{0,80}\b(?:pag\w+|mensa\w+|por (?:mes|ano|hora)|a vista|venc\w+|antecipad\w+)"),
        (-3, r"\binfrac\w+\b|\bviolac\w+\b|\bperdas e danos\b"),
        (2, r"\b(?:preco|valor(?:es)?|mensalidade|aluguel|remuneracao|honorarios|quantia|contraprestacao|parcelas?|taxa|royalties|comissao|assinatura|fatura|anuidade|diaria|milheiro|hora)\b"),
        (3.5, r"\b(?:notas?(?: fiscais| fiscal)?|faturas?|boletos?|pagamentos?|mensalidades?|valor|aluguel|parcelas?|honorarios|cobranca|devid[oa])\b.{0,120}\b(?:pag[oa]s?|vence\w*|vencimento|vencivel|ate o|ate o dia|em \d+ dias|dias (?:da|do|apos|contad)|dia \d+|quinto dia|a vista|adiantad\w*|pix|ted|boleto|transferencia|deposito)\b"),
        (3.5, r"\b(?:reajust\w*|corrigid[oa]s?|atualizad[oa]s?|revist[oa]s?|correcao|ajustam|se ajusta\w*)\b.{0,140}\b(?:ipca|igp-?m|inpc|ipc|indice|anual\w*|cada (?:doze|seis|12|6|ano)|variacao|inflacao|uma vez por ano|semestr\w*|planilha)\b"),
        (3, r"\b(?:atras\w*|mora|inadimpl\w+|nao pag\w*)\b.{0,140}\b(?:multa|juros|correcao|encargos)\b|\b(?:multa|juros)\b.{0,100}\b(?:ao mes|atras\w*|mora|pro rata)\b"),
        (1, r"\b(?:mensa(?:l|is|lmente)|anual|semestral|trimestral|por mes|por hora|por ano|cada mes|por unidade|parcela unica)\b"),
    ],
    never=r"\bresponsabilidade (?:total|da|de)\b|\bmulta (?:nao )?compensatoria|\bcapital social|\bindeniza|\bapolice|\bseguro\b|\bsigilo\b|\babatimento de\b|\bdesconto de \d+%.{0,80}\b(?:meta|ponto)|\bcredito de \d|\blimite de responsabilidade",
    threshold=5,
    keep=0.55,
    most=3,
)
