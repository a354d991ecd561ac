"""What is paid, when, how, how it is adjusted, and what a delay costs."""

from .scoring import Cues

EN = Cues(
    heading=r"payment|\bfees?\b|\bprice|pricing|compensation|royalt|invoic|consideration|billing|"
    r"charges|remuneration|rent\b|purchase price|commission|what (?:it|this) costs|what (?:we|you) pay|money\b|"
    r"\bcosts?\b|\brates?\b",
    away=r"confidential|liabilit|indemn|definition|terminat|insurance|warrant|audit|assign|tax",
    alone=r"^[\W\d]*(?:price|fees?|charges|rent|payment|payments|compensation)\W*$",
    signs=[
        (
            4,
            r"\b(?:shall|will|agrees? to|must|is to|are to|may)\b.{0,40}\b(?:pay|remit|compensate|"
            r"remunerate|reimburse|invoice|charge|bill)\b.{0,100}\b(?:fees?|amounts?|price|royalt\w+|"
            r"sum|compensation|charges|rent|commission|invoices?|costs|\$|usd|eur|gbp|monthly|"
            r"annual\w*|rate|[a-z]*dollars)",
        ),
        (
            3,
            r"\b(?:fees?|price|payments?|amounts?|invoices?|royalt\w+|charges|"
            r"rent)\b.{0,60}\b(?:shall|will|is|are|must)\b.{0,40}\b(?:be|paid|payable|due|"
            r"non-?refundable|invoiced|calculated|equal|exclusive|billed)\b",
        ),
        (
            3,
            r"\b(?:pays?|costs?|charges?|bills?|invoices?|owes?|earns?|receives?)\b.{0,80}(?:(?:\$|£|€) ?\d|"
            r"\b(?:usd|eur|gbp) ?\d|\b\d+(?:\.\d+)? ?(?:%|per ?cent))",
        ),
        (
            5,
            r"\b(?:keeps?|gets?|takes?|receives?|retains?|earns?|remits?|entitled to)\b.{0,40}\b(?:\d+(?:\.\d+)? ?(?:%|"
            r"per ?cent)|(?:ten|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-\w+)? per ?cent|half|"
            r"(?:one|two)[- ]thirds?)\b.{0,60}\b(?:sales?|receipts|revenue|proceeds|profits?|income|price|turnover|"
            r"gross|"
            r"net|takings)\b",
        ),
        (2, r"(?:(?:\$|£|€) ?\d|\b(?:usd|eur|gbp) ?\d)[\d.,]*.{0,30}\b(?:per|for each|for every|each|a|an|every)\b"),
        (
            3,
            r"\b(?:fee|price|rate|rent|charge|amount|royalty|commission)s?\b.{0,60}\b(?:increased|raised|reduced|"
            r"changed|"
            r"lowered|amended|becomes?)\b.{0,30}(?:\$|£|€|\d+(?:\.\d+)? ?%)",
        ),
        (3, r"(?:\$|\busd|\beur|\bgbp|£|€) ?\d|\bdollars\b"),
        (
            2.5,
            r"\b(?:net|within|no later than|on or before)\b.{0,20}\b(?:\d+|thirty|fifteen|ten|"
            r"forty-five|sixty)\b.{0,20}\bdays\b.{0,60}\b(?:invoice|receipt|due|date)",
        ),
        (
            2,
            r"\b(?:late|overdue|past due|unpaid)\b.{0,60}\b(?:interest|fee|charge|rate)|"
            r"\binterest\b.{0,60}\b(?:per month|per annum|percent|%)",
        ),
        (1, r"\b(?:monthly|annually|quarterly|in advance|in arrears|per month|per year|upfront)\b"),
        (
            1,
            r"\b(?:customer|client|buyer|licensee|company|you|recipient|purchaser|"
            r"subscriber)\b.{0,20}\b(?:shall|will|must|agrees? to) pay\b",
        ),
    ],
    never=r"\b(?:for example|by way of (?:example|illustration)|e\. ?g\.|illustrat\w+|for instance|to give an idea)|"
    r"\bindemnif|\binsurance\b|\bliabilit(?:y|ies)\b.{0,60}\bexceed|\bshall mean\b|"
    r"\bexpenses\b.{0,40}\b(?:suit|attorney)|\battorneys?'? fees|\bunable to pay|"
    r"\bcosts of arbitrat",
    threshold=5,
    keep=0.7,
    most=3,
)

_PERCENT = (
    r"(?:\d+(?:,\d+)? ?(?:\([^)]{3,50}\) ?)?(?:%|por cento)|(?:um|dois|tres|quatro|cinco|seis|sete|oito|nove|dez|doze|"
    r"quinze|vinte|trinta|quarenta|cinquenta|sessenta|setenta|oitenta|noventa)(?: e \w+)? por cento|metade|"
    r"(?:um|dois) tercos?|(?:um|tres) quartos?)"
)

PT = Cues(
    heading=r"preco|pagament|remunera|honorari|valor|faturament|quanto custa|aluguel|alugueis|royalt|"
    r"\btaxa|contrapresta|mensalidade|reajuste|investimento|quanto (?:voce )?(?:paga|pagar)|"
    r"cust[ao]|comiss|juros|encargos|divisao d[aeo]s? (?:receita|lucro|resultado)|parcelas|"
    r"amortiza|salario|repasse|financeir|cobranca|dinheiro|fatura\b|partilha|subvenc|premio|cache|como se paga|"
    r"quinhao|rateio|tarifa",
    away=r"confidencial|sigilo|responsab|rescis|dados|foro|nivel|niveis|multa contratual|"
    r"penalidade|seguro|objeto|garantia",
    alone=r"^[\W\d]*(?:clausula \w+ \W*)?(?:d[aeo]s? )?(?:precos?|pagamentos?|remuneracao|honorarios|mensalidades?|"
    r"aluguel|alugueis|quanto custa|repasses?|cache|renda|valor(?:es)?|comissao)\b(?! (?:de|do) (?:mercado|causa))",
    signs=[
        (
            4,
            r"\b(?:pagar[a-z]*|paga|pagam|pago|pagos|paga[- ]se|remunerar[a]?|remunera|desembolsa\w*|"
            r"custa|custam|custara|cobra\w*|cobrad[oa]s?|recebera|receber\w*|devid[oa]s?|fixad[oa]|"
            r"ajustad[oa]|quitad[oa]s?|repassara|importa em|corresponde\w* a|sera de|e de|passa a ser|"
            r"reembolsar\w*|destinar\w*|destina|ganhara|ganha|liberar\w*|concede\w*|aportar\w*|recolher\w*|recolhe|"
            r"deposita\w*|sai|saem|saira|transferir\w*|contribui\w*|acerta\w*|"
            r"composta de|totaliza\w*|faturad[oa]s?|cota\w*|muda para|sobe para|baixa para)\b.{0,140}(?:r\$ ?\d|"
            r"\bus\$|\d+(?:,\d+)?%|\breais\b)",
        ),
        (3, r"r\$ ?\d"),
        (
            5,
            r"\b(?:pag\w+|transfer\w+|recebe\w*|deposit\w+|custa\w*|repass\w+|desembols\w+)\b.{0,60}\b(?:mil|cem|cento|"
            r"duzentos|trezentos|quatrocentos|quinhentos|\w+enta|\w+centos) (?:e \w+ )?(?:mil )?reais\b",
        ),
        (2, r"r\$ ?\d.{0,80}\b(?:pag\w+|mensa\w+|por (?:mes|ano|hora)|a vista|venc\w+|antecipad\w+)"),
        (-3, r"\binfrac\w+\b|\bviolac\w+\b|\bperdas e danos\b"),
        (
            3.5,
            r"\b(?:comissao|royalt\w+|receita|ganhos|lucros?|resultado|faturado|faturamento|vendas?|producao|colheita|"
            rf"safra|bilheteria|repasse|partilha)\b.{{0,80}}\b{_PERCENT}|\b(?:cab(?:e|em|era|erao)|fica(?:ra|rao|"
            rf"m)? com|"
            rf"toca\w*|fara jus a|faz jus a|corresponde\w* a|tera (?:direito a)?|recebe\w*|contribui\w*|"
            rf"corresponde\w*|ganha\w*)\b.{{0,40}}\b{_PERCENT}|"
            rf"\b{_PERCENT}.{{0,60}}\b(?:da receita|do valor d[aeo]s? vend\w+|das vendas|do faturamento|da producao|"
            rf"da colheita|da safra|"
            r"dos lucros|do resultado|do liquido|do bruto|cabe\w*|fica\w* para|para [oa] \w+)\b",
        ),
        (
            2,
            r"\b(?:preco|valor(?:es)?|mensalidade|aluguel|remuneracao|honorarios|quantia|"
            r"contraprestacao|parcelas?|taxa|royalties|comissao|assinatura|faturas?|anuidade|diaria|"
            r"milheiro|hora)\b",
        ),
        (
            3.5,
            r"\b(?:notas?(?: fiscais| fiscal)?|faturas?|boletos?|pagamentos?|mensalidades?|valor|"
            r"aluguel|parcelas?|honorarios|cobranca|devid[oa])\b.{0,120}\b(?:pag[oa]s?|vence\w*|"
            r"vencimento|vencivel|ate o|ate o dia|em \d+ dias|dias (?:da|do|apos|contad)|dia \d+|"
            r"quinto dia|dia util|a vista|adiantad\w*|pix|ted|debito|boleto|transferencia|deposito)\b",
        ),
        (
            3.5,
            r"\b(?:reajust\w*|corrigid[oa]s?|atualizad[oa]s?|revist[oa]s?|aplica-se o|incide o|correcao|ajustam|"
            r"se ajusta\w*)\b.{0,140}\b(?:ipca|igp-?m|inpc|ipc|indice|anual\w*|cada (?:doze|seis|12|6|"
            r"ano)|variacao|inflacao|uma vez por ano|semestr\w*|planilha)\b",
        ),
        (
            3,
            r"\b(?:atras\w*|mora|inadimpl\w+|nao pag\w*)\b.{0,140}\b(?:multa|juros|correcao|"
            r"encargos)\b|\b(?:multa|juros)\b.{0,100}\b(?:ao mes|atras\w*|mora|pro rata)\b",
        ),
        (
            3,
            r"^\W*(?:[\d.]+ )?(?:o |os )?(?:vencimento|pagamento)s?\b.{0,60}"
            r"\bdia (?:\d+|cinco|dez|quinze|vinte|trinta)\b",
        ),
        (
            3.5,
            r"\b(?:vencimentos?|venc(?:e|em|era|erao|iveis|ivel)(?:-se)?|pagamentos?|debito)\b.{0,60}\b(?:no|o|para o|"
            r"ao|"
            r"todo|cada) dia (?:\d+|cinco|dez|quinze|vinte|trinta)\b",
        ),
        (
            1,
            r"\b(?:mensa(?:l|is|lmente)|anual|semestral|trimestral|por mes|por hora|por ano|cada mes|"
            r"por unidade|parcela unica)\b",
        ),
    ],
    never=r"\bgarantia real\b|\bfianca bancaria\b|\bcarta de fianca\b|\bsaldo devedor\b.{0,40}\bgarantia|\b(?:por|"
    r"como|a titulo de|para|"
    r"de) (?:\w+ )?(?:exemplo|exemplific\w+|ilustra\w+|referencia|simulacao|ideia|"
    r"comparacao)\b(?! \w+ (?:o )?ipca)|\bexemplo:|\bv\. ?g\.|\bp\. ?ex|\bexemplific\w+|\bestimativ\w+|\bestima-se|"
    r"\bnao pagar\w* (?:\w+ ){0,3}mais (?:do )?que\b|\b(?:imagine|suponha|digamos)\w*|\bilustrativ\w+|\bhipotetic\w+|"
    r"\bcustaria\w*|\bsairia\w*|"
    r"\bresponsabilidade (?:total|da|de)\b|\bmulta (?:nao )?compensatoria|\bcapital social|"
    r"\bindeniza|\bapolice|\bseguro\b|\bsigilo\b|\babatimento de\b|"
    r"\bdesconto de \d+%.{0,80}\b(?:meta|ponto)|\bcredito de \d|\blimite de responsabilidade",
    threshold=5,
    keep=0.55,
    most=3,
)
