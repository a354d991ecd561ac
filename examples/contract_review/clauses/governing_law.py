"""Which law rules, and where a dispute is heard: courts, venue, arbitration."""

from .scoring import Cues

EN = Cues(
    heading=r"^[\W\d]*(?:the )?law\W*$|where (?:we|to) (?:argue|sue|settle)|\bcourts?\b|governing law|applicable law|"
    r"choice of law|jurisdiction|venue|law and|disputes?\b|"
    r"arbitration|controlling law",
    away=r"definition|compliance|confidential|notice|insurance|recital|tax",
    alone=r"governing law|choice of law|applicable law|^[\W\d]*(?:the )?law(?: and (?:courts?|jurisdiction|disputes?|"
    r"venue))?\W*$",
    signs=[
        (5, r"\b(?:governed|construed|interpreted|enforced|determined)\b.{0,120}\blaws?\b"),
        (
            2,
            r"\b(?:governed|construed|interpreted)\b.{0,60}\b(?:by|under|in accordance with|"
            r"according to)\b.{0,60}\blaws? of\b",
        ),
        (1.5, r"\b(?:this|the) .{0,30}\bagreement\b.{0,80}\b(?:governed|construed|interpreted)\b"),
        (
            1.5,
            r"\blaws? of (?:the )?(?:state|commonwealth|province|republic|people|england|united|"
            r"kingdom|[a-z]+,? without)",
        ),
        (1.5, r"\bconflicts?[- ]of[- ]laws?|\bchoice[- ]of[- ]law"),
        (
            3,
            r"\b(?:exclusive|personal|non-exclusive) (?:jurisdiction|venue)\b|\bexclusive forum\b|"
            r"\bsubmits? to the\b.{0,40}\bjurisdiction",
        ),
        (1, r"\bcourts? (?:of|located|sitting|in)\b"),
        (
            5,
            r"\b(?:english|scots|scottish|irish|french|german|swiss|brazilian|portuguese|spanish|canadian|australian|"
            r"indian|dutch|[a-z]+ state|new york|california|delaware|texas) law (?:applies|governs|shall (?:apply|"
            r"govern)|"
            r"controls|is to)\b|\b(?:under|by|subject to|according to|in accordance with) (?:english|scots|scottish|"
            r"irish|french|german|swiss|brazilian|portuguese|spanish|new york|california|delaware|texas) law\b|"
            r"\blaws? of [a-z ]{3,30} (?:applies|apply|governs?|controls?)\b",
        ),
        (
            2.5,
            r"\b(?:seat|place) of (?:the )?arbitration\b|\barbitrat\w+\b.{0,60}\b(?:seated|sitting|rules)\b|"
            r"\bin the (?:\w+ ){0,4}courts?\b|\bin (?:\w+ ){1,3}courts?\b|\bcourts? of [a-z ]{3,30} (?:decide|have|"
            r"hear|"
            r"shall|will|settle)",
        ),
        (1, r"\b(?:any|all|every) (?:\w+ ){0,2}(?:dispute|claim|disagreement|controversy)s?\b"),
        (
            -5,
            r"\b(?:filed|commenced|brought|pending) (?:suit|an? action|a lawsuit|proceedings)? ?(?:against|"
            r"in)?\b.{0,60}"
            r"\b(?:in|on) (?:19|20)\d\d\b",
        ),
        (
            2.5,
            r"\b(?:settled|resolved|determined|heard|decided) (?:exclusively |finally |"
            r"solely )*by\b.{0,40}\barbitration\b.{0,60}\bin [a-z]",
        ),
        (
            2.5,
            r"\b(?:suit|action|proceeding|dispute|claim)s?\b.{0,80}\b(?:brought|instituted|"
            r"commenced)\b.{0,60}\bcourts?\b",
        ),
    ],
    never=r"\bcopyright laws?\b|\bmade for hire\b",
    keep=0.85,
    most=2,
)

PT = Cues(
    heading=r"\bforo\b|onde (?:se )?(?:discut|brig|process)|compromissoria|lei aplicavel|legislacao|"
    r"solucao de (?:conflitos|controversias|disputas)|"
    r"\bleis?\b|jurisdicao|arbitra|disput|conflito|litigio|controversia|brig|desacordo|"
    r"resolv\w+|se entender|regencia|juizo|juizes|justica|discord|direito aplicavel|tribuna",
    alone=r"\bforo\b|lei aplicavel|jurisdicao|legislacao aplicavel|juizo competente|solucao de (?:conflit|controv|"
    r"disput|litig)|arbitragem|direito aplicavel|onde se resolve|^[\W\d]*(?:do )?juizo\W*$",
    away=r"confidencial|sigilo|protecao de dados|tribut|objeto",
    signs=[
        (5, r"\bforo\b|\bforum\b"),
        (
            4,
            r"\b(?:elege|elegem|eleito|eleita|escolhem|escolhe|escolhido|escolhida|competente|"
            r"competencia)\b.{0,80}\b(?:comarca|juizo|justica|vara|tribunal|cidade|circunscricao)\b",
        ),
        (3, r"\bcomarca\b|\bsecao judiciaria\b|\bcircunscricao judiciaria\b"),
        (
            5,
            r"\b(?:rege-se|reger-se-a|regem-se|regid[oa]s?|regera|regula-se|se regula|se rege|"
            r"submete-se|sujeit[oa]|aplica-se|aplicam-se|aplica|obedece\w*|segue\w*|observa\w*|governad[oa]|"
            r"interpretad[oa]s?|interpretam?-se|vale|"
            r"valem)\b.{0,80}\b(?:leis?|direito|legislacao|codigo civil)\b",
        ),
        (
            2,
            r"\b(?:leis?|direito|legislacao)\b.{0,20}\b(?:brasil|brasileir[oa]s?|republica federativa|"
            r"nacional|portugues|portugal)",
        ),
        (
            4,
            r"\b(?:arbitragem|arbitros?|compromissoria|lei (?:n\S* )?9\.307|tribunal arbitral|camara (?:de|arbitral)|"
            r"arbitral)\b",
        ),
        (
            2,
            r"\b(?:dirimir|dirimid[oa]s?|litigios?|controversias?|questoes|conflitos?|disputas?|"
            r"demandas?|divergencias?|pendencias?|contendas?|processos?|acoes|acao|pendencias|duvidas|"
            r"desavencas?|questao)\b",
        ),
        (
            1.5,
            r"\brenuncia.{0,60}\b(?:outro|privilegiad)|\bpor mais privilegiad|\be nenhum outro|"
            r"\bcom exclusao de qualquer outro",
        ),
        (
            3,
            r"\b(?:justica|tribunais|juizes|juizo|juizados?|juiz(?: de direito)?|varas?(?: civ\w+| estadua\w+)?|"
            r"judiciario)\b"
            r".{0,40}\b(?:de|da|do|em)\b",
        ),
        (
            4,
            r"\b(?:perante|para|cabera?|competem?|levad[oa]s?|leva-se|submetid[oa]s?|propost[oa]s?|ajuizad[oa]s?|"
            r"decidid[oa]s?|julgad[oa]s?|resolv\w+|discutid[oa]s?|vai|vao|corre\w*)\b.{0,60}\b(?:n?[ao]s? |pel[ao]s? )?"
            r"(?:juiz|juizes|juizo|juizados?|justica|tribuna(?:l|is)|varas?|forum|judiciario)\b.{0,40}\bd[aeo] [a-z]",
        ),
        (
            5,
            r"^(?:\W*(?:aplica-se|vale|rege)?\W*(?:o |a )?(?:direito|leis?|legislacao)(?: d[aeo])? (?:brasil\w*|"
            r"portugues\w*|nacional)\W*)$|^\W*(?:o )?(?:juizo|justica|foro|forum|comarca|tribuna(?:l|is)|varas?)\b"
            r".{3,70}$",
        ),
        (
            3,
            r"\b(?:demandas?|acoes|acao|processos?|litigios?|causas?)\b.{0,60}\b(?:tramita(?:rao|ra|m)|corre|correm|"
            r"correra\w*|"
            r"serao (?:propost|ajuizad|julgad)\w+)\b",
        ),
        (
            -6,
            r"\bcorre no foro\b|\bacao n\b|\b(?:cartorio|registro de (?:imoveis|titulos)|registro civil|tabeli\w+|"
            r"junta comercial|"
            r"oficio de notas|escritura publica|matricula n|autos n|processo n|em tramite|tramita|tramitam|tramitou|"
            r"inventario|"
            r"transit\w+ em julgado|foi (?:julgad\w+|proferid\w+|distribuid\w+|protestad\w+)|registrad[oa] n[ao])\b",
        ),
        (
            3,
            r"\b(?:juiz|juizo|juizado|justica|tribunal|corte)\b.{0,30}\b(?:e|decid\w+|sera|"
            r"compet\w+)\b|\bdecid\w+\b.{0,30}\b(?:juiz|juizo|justica)\b|\bqualquer (?:processo|"
            r"acao)\b.{0,60}\b(?:corre|proposta|ajuizada|sera|em|na|no)\b",
        ),
        (-3, r"\bmedidas? (?:\w+ )?(?:de urgencia|urgentes?|cautelar(?:es)?)\b"),
        (2, r"\b(?:camara|centro)\b.{0,60}\b(?:mediacao|arbitragem|arbitral)\b"),
        (
            2.5,
            r"\b(?:pendencia|questao|desacordo|controversia|divergencia|litigio|disputa|"
            r"problema)s?\b.{0,60}\b(?:resolv\w+|decid\w+|julg\w+)\b.{0,20}\b(?:em|no|na|pel[oa])\b",
        ),
        (1.5, r"\bmedia(?:cao|dor)\b"),
    ],
    never=r"\blei n\S* 13\.709|\blgpd\b|dados pessoais|ordem judicial|\brecuperacao judicial\b|\banticorrupcao\b",
    threshold=5,
    keep=0.6,
    most=2,
)
