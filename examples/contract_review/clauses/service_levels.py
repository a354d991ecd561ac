"""How good the service must be, in figures, and what is owed when it is not."""

from .scoring import Cues

_PERCENT = (
    r"(?:\d{2}(?:\.\d+)? ?(?:%|per ?cent)|(?:eighty|ninety)(?:-\w+)?(?: point \w+)? per ?cent|"
    r"\d{2} (?:out )?(?:of|in) (?:every )?100|nine(?:teen)? (?:out of|in) (?:every )?(?:ten|twenty))"
)
_SOON = (
    r"(?:\d+|an?|one|two|three|four|five|six|eight|ten|twelve|fifteen|twenty|twenty-four|thirty|forty-five|forty-eight|"
    r"sixty|ninety) ?(?:\(\d+\) ?)?(?:business |working |clock )?(?:hours?|minutes?|seconds?|(?<=business )days?|"
    r"(?<=working )days?)"
)

EN = Cues(
    heading=r"service levels?|\bsla\b|availability|uptime|response times?|performance (?:standards?|"
    r"levels?|metrics)|support|service credits?|turnaround|quality|how (?:good|fast|quick)|targets?|\bkpis?\b|"
    r"\bperformance\b|standards? of service|service standards?|reliab",
    away=r"definition|confidential|liabilit|indemn|payment|terminat|warrant|force majeure",
    alone=r"service levels?|\bsla\b|\buptime\b|response times?|\bkpis?\b",
    signs=[
        (4, r"\b(?:service levels?|service level agreement|sla|slas|uptime|service credits?)\b"),
        (
            4,
            r"\b(?:availab\w+|accessible|operational|uptime|up and running|on[- ]time|fill rate|"
            rf"accuracy|reachable|online|punctual\w*|in stock|up)\b.{{0,120}}\b(?:{_PERCENT}|24 hours|24x7|24/7)|"
            rf"\b{_PERCENT}.{{0,120}}\b(?:availab\w+|accessible|operational|uptime|on[- ]time|accura\w+|reachable|"
            rf"online|"
            rf"served|picked|dispatched|shipped|answered|deliver\w+|complet\w+|process\w+|received|resolved|"
            rf"within {_SOON})",
        ),
        (
            3.5,
            rf"\b(?:at least|no(?:t)? less than|minimum of|not (?:fall|drop) below|below|under|exceeds?)\b.{{0,20}}"
            rf"\b{_PERCENT}|\b{_PERCENT} of (?:all |the )?(?:\w+ ){{1,3}}(?:shall|will|must|are|is)\b",
        ),
        (
            3.5,
            rf"\b(?:call|ticket|fault|incident|request|order|delivery|deliver\w*|meals?|lunch\w*|complaint|outage|"
            rf"problem|quer(?:y|ies)|engineer|technician|attend\w*|arriv\w*|pallet|truck|trailer|shipment|served|"
            rf"picked|"
            rf"dispatched|unloaded|answered|"
            rf"acknowledged|fixed|start\w*)s?\b.{{0,120}}\b(?:within|in under|in less than|no later than|inside)\b"
            rf" (?:\w+ )?{_SOON}",
        ),
        (
            3,
            r"\b(?:credit|deduct\w*|rebate|discount|reduc\w+|refund)s?\b.{0,120}\b(?:below|each|every|miss\w*|fail\w*|"
            r"shortfall|late|short of)\b|\b(?:below|miss\w*|fall\w* short|shortfall)\b.{0,120}\b(?:credit|deduct\w*|"
            r"rebate|discount|refund)",
        ),
        (
            3.5,
            r"\b(?:respond|response|resolve|resolution|acknowledge|repair|restore|correct|answer|fix|"
            r"turnaround)\b.{0,120}\bwithin\b.{0,40}\b(?:hours?|minutes?|business days?|"
            r"business hours?)\b",
        ),
        (3, r"\b(?:response|resolution|repair|turnaround) times?\b"),
        (
            2.5,
            r"\b\d{2}(?:\.\d+)? ?(?:%|percent)\b.{0,60}\b(?:of the time|each month|per month|monthly|"
            r"measured|orders|calls|calendar month)",
        ),
        (
            2,
            r"\b(?:severity|priority) (?:level )?[1-4a-d]\b|\b(?:maintenance window|"
            r"scheduled maintenance|downtime|business hours|help ?desk)\b",
        ),
        (1, r"\b(?:shall|will|must)\b"),
    ],
    never=r"\btax|\binterest\b|\broyalt|\bownership interest|\bvoting\b|\bnet sales\b",
    threshold=6.5,
    keep=0.6,
    most=3,
)

_PERCENTO = (
    r"(?:\d{2}(?:,\d+)? ?%|(?:oitenta|noventa)(?: e \w+)?(?:,? ?virgula \w+| inteiros e \w+ \w+)? por cento|"
    r"nove em (?:cada )?dez)"
)

PT = Cues(
    heading=r"nive(?:l|is) de (?:servico|qualidade|atendimento|desempenho)|\bsla\b|disponibilidade|"
    r"atendimento|suporte|desempenho|padr(?:ao|oes) de|plantao|frequencia|\berros?\b|eficiencia|qualidade|metas?|"
    r"indicadores|pontualidade|prazos de (?:atendimento|"
    r"resposta)|tempo de|manutencao|como (?:voce e |vamos )?atend|compromisso",
    away=r"preco|pagament|vigencia|rescis|sigilo|confidencial|dados|foro|responsab|multa|tribut",
    alone=r"nive(?:l|is) (?:minimos? )?(?:de|do) (?:servico|atendimento|desempenho)|acordo de niveis|\bsla\b|"
    r"prazos de (?:atendimento|resposta)|tempos? de (?:atendimento|resposta)|^[\W\d]*disponibilidade\W*$|\bmetas de",
    signs=[
        (
            4,
            r"\b(?:nive(?:l|is) (?:minimo\w* )?de servicos?|sla|acordo de nivel|nive(?:l|"
            r"is) de atendimento|uptime)\b",
        ),
        (
            5,
            r"\b(?:disponibilidade|disponive(?:l|is)|no ar|funcionando|funcionamento|operante|"
            r"indisponib\w+|em operacao|acessive(?:l|is))\b.{0,140}\b\d{1,2}(?:,\d+)? ?%|"
            r"\b\d{2}(?:,\d+)? ?%.{0,100}\b(?:disponib\w*|disponive(?:l|is)|no ar|do tempo|"
            r"das horas)\b",
        ),
        (
            4.5,
            r"\b(?:chamad\w+|atend\w+|respond\w+|respost\w+|vist[oa]|consert\w+|corrig\w+|"
            r"descobert\w+|restabelec\w+|mecanico|reposi\w+|assistencia|retorno|despach\w+|solu\w+|"
            r"resolv\w+|incident\w+|ocorrenci\w+|defeit\w+|repar\w+|conserto|reclama\w+|visita|"
            r"tecnic\w+|substitui\w*|comparec\w+|cheg(?:a|am|ara|arao)|suprid[oa]s?|socorro)\b.{0,160}\b(?:em|ate|"
            r"maximo de|prazo de|dentro de|"
            r"prazos?)\b.{0,40}\b\d*\s?(?:\([^)]{2,30}\) )?(?:horas?|minutos?|dias? ut(?:il|eis)|h)\b",
        ),
        (
            3,
            r"\b(?:ate|no maximo|em no maximo|maximo de|prazo de|em|mais de|menos de)\b ?(?:\d+|uma?|"
            r"duas|tres|quatro|seis|oito|doze|vinte e quatro|trinta|"
            r"quarenta e oito)\s?(?:\([^)]{2,30}\) )?(?:horas?|minutos?)\b",
        ),
        (
            3.5,
            r"\b(?:abaixo|inferior|nao (?:\w+ )?(?:atingi\w*|cumpri\w*|alcanc\w*|fica\w*|poder?a?)|"
            r"cada (?:ponto|meio ponto|hora)|descumpri\w*|desconto|desconta\w*|reducao|abatimento|"
            r"credito|glosa|bonus|devolv\w+|devolucao)\b.{0,160}\b(?:desconto|credito|abatimento|"
            r"mensalidade|fatura\w*|meta|indice|glosa|abaixo|bonus|plantao|frete|\d+ ?%)",
        ),
        (
            3,
            r"\b(?:igual ou superior|superior|inferior|ao menos|pelo menos|no minimo|abaixo|minim[oa]|"
            r"nao (?:\w+ ){0,3}(?:ultrapass\w+|exced\w+)|garant\w+)\b.{0,30}\b\d{1,3}(?:,\d+)? ?%",
        ),
        (
            3,
            r"\b(?:indice|indicador|meta|taxa|percentual|pontualidade|acerto|ocupacao|erros?|perdas|"
            r"pedidos)\b.{0,100}\b\d{1,2}(?:,\d+)? ?%",
        ),
        (
            1.5,
            r"\b(?:mes civil|por mes|ao mes|cada mes|mensal\w*|mede-se|medid[oa]|apurad[oa]|minim[oa]|"
            r"no minimo|ao menos|pelo menos|garant\w+|assegur\w+)\b",
        ),
        (
            2.5,
            r"\bnotas? (?:media|minima|final|mensal)\b|\bprazos? (?:maximo )?(?:de|para) (?:solucao|"
            r"atendimento|resposta|reparo|correcao)|\bavarias?\b|\bpontualidade\b|\bsatisfacao\b",
        ),
        (
            3.5,
            rf"\b(?:ao menos|pelo menos|no minimo|minimo de) {_PERCENTO} d[aeo]s \w+ (?:\w+ ){{0,3}}(?:serao|devem|"
            rf"deverao|estarao|"
            rf"sairao|chegarao)\b|\b{_PERCENTO}.{{0,30}}\b(?:entregas?|chamad\w+|pedidos?|ligac\w+|atendimentos?|"
            rf"viagens|partidas|"
            rf"solicitac\w+|"
            r"visitas|pecas|refeic\w+|horarios?|notas?|linhas|equipamentos)\b",
        ),
        (
            6,
            r"\btempo (?:medio|maximo|total) (?:de |para )?(?:espera|resposta|atendimento|solucao|reparo|chegada|"
            r"carregamento|descarga|entrega)\b.{0,80}\b(?:minutos?|horas?|segundos?|dias? ut\w+)\b",
        ),
        (
            5,
            r"\bpor (?:dia|hora|cada \w+) (?:\w+ ){0,2}(?:d?e )?(?:falha|parad[ao]|indisponibilidade|atraso)\b.{0,60}"
            r"\b(?:credit\w+|abat\w+|descont\w+)\b.{0,40}%|\b(?:credit\w+|abat\w+|descont\w+)\b.{0,40}\b(?:\d+ ?%|"
            r"1/30).{0,30}"
            r"\bpor (?:dia|hora) (?:\w+ ){0,2}(?:falha|parad[ao]|indisponi\w+|atraso)",
        ),
        (2, r"\b(?:critic\w+|urgen\w+|alta|altos|media|severidade|prioridade|gravidade|emergencia\w*)\b"),
    ],
    never=r"\b(?:garantias? rea(?:l|is)|penhor|alienacao fiduciaria|caucao|hipoteca|saldo devedor|recebiveis|"
    r"mutuari[oa]|mutuante|duplicatas?|cobertura minima)\b|\bpor exemplo\b|\ba titulo de (?:exemplo|ilustr)|"
    r"\brecalcul\w+|\bmulta de \d+ ?%|\bjuros\b|\bincidente de seguranca|\bvazamentos? de (?:dados|inform)|\breajust|"
    r"\baluguel\b|"
    r"\bdados pessoais\b|\bvigorara\b|\bquota|\bpalet|\blote\b|\brevelac|\bencarregad|"
    r"\bdias de antecedencia|\b(?:avisa|avisar|avisara|comunica\w*|notifica|notificara|"
    r"relatad\w+|informad[oa])\b.{0,60}\bhoras\b|\brescis|\bimpost|\bcomissao|"
    r"\bdo faturamento|\broyalt|\bpreco\b|\beconomia\b",
    threshold=6,
    keep=0.6,
    most=3,
)
