"""How personal data is treated: whose orders, which law, which safeguards, what happens after an incident."""

from .scoring import Cues

EN = Cues(
    heading=r"privacy|personal (?:data|information)|data protection|data processing|security|gdpr|data privacy",
    away=r"definition|confidential|liabilit|indemn|notice|assign|terminat",
    alone=r"personal data|data protection|^[\W\d]*privacy\W*$",
    signs=[
        (4, r"\bpersonal(?:ly identifiable)? (?:data|information|details)\b"),
        (
            4,
            r"\b(?:details|data|information|records|photos|photographs|names) (?:of|about|on) (?:\w+ ){0,2}(?:pupils?|"
            r"customers?|users?|patients?|children|employees|guests|members|individuals|people|students|parents|"
            r"visitors|players|donors)\b|\b(?:pupil|customer|user|patient|children|employee|guest|member|student|"
            r"parent|visitor|player|donor)'?s?'? (?:personal )?(?:details|data|records|information|names)\b",
        ),
        (
            4,
            r"\b(?:gdpr|ccpa|hipaa|ferpa|lgpd|general data protection|data protection (?:laws?|act|"
            r"legislation|requirements)|privacy (?:laws?|act|rights|policy|statement|regulations?)|"
            r"dpa|data processing (?:agreement|addendum))\b",
        ),
        (
            2,
            r"\b(?:shall|will|must|agrees? to|may)\b.{0,140}\b(?:process\w*|protect\w*|collect\w*|"
            r"store|secure|notify|delete|comply|safeguard|disclose|use)\b|\b(?:only|never) (?:use|store|keep|share|"
            r"collect)s?\b|\bdeletes?\b",
        ),
        (
            2,
            r"\b(?:data subjects?|controller|processor|sub-?processors?|end users?'? (?:data|"
            r"information)|student data|user data|security (?:breach|incident))\b",
        ),
        (
            1.5,
            r"\b(?:technical and organi[sz]ational|appropriate|reasonable) (?:\w+ ){0,3}(?:measures|"
            r"safeguards|security)|\bencrypt",
        ),
    ],
    never=r"\bconfidential information (?:means|includes)|\bliabilit\w+\b.{0,80}\bexceed|\b(?:means|"
    r"is defined)\b.{0,20}\bany information\b",
    threshold=6,
    keep=0.7,
    most=3,
)

PT = Cues(
    heading=r"dados|^[\W\d]*cadastros?\b|lgpd|privacidade|tratamento|protecao d|informac\w+ (?:pessoais|"
    r"d[aeo]s? (?:clientes|alunos|"
    r"pacientes|"
    r"hospedes|usuarios|tutores|moradores|criancas|pessoas|consumidores|visitantes|funcionarios|empregados))",
    alone=r"dados pessoais|\blgpd\b|protecao de dados|tratamento de dados|^[\W\d]*(?:d[ao] )?privacidade|"
    r"^[\W\d]*dados d[aeo]s? (?:alunos|pacientes|clientes|usuarios|moradores|hospedes|saude|consumidores|pessoas)",
    away=r"sala de dados|definic|propriedade|devolucao|preco|banco de dados",
    signs=[
        (
            4,
            r"\bdados (?:pessoais|sensiveis|d[aeo]s? (?:saude|clientes|alunos|usuarios|pacientes|"
            r"empregados|moradores|funcionarios|criancas|consumidores|visitantes|seus))\b|"
            r"\bdado pessoal\b|\bbases? de (?:contatos|clientes|pacientes|alunos)\b|"
            r"\binformac\w+ (?:pessoais|que (?:\w+ )?identifi\w+)|\bpessoas? (?:natura(?:l|is)|identific\w+)|"
            r"\b(?:dados|informac\w+|cadastros?|fichas?|contatos|imagens|fotos|fotografias|prontuarios?|laudos|"
            r"exames|biometri\w+) "
            r"(?:sobre |relativ[oa]s a |referentes a )?(?:d?[aeo]s? )?(?:trabalhadores|cameras|tutores|hospedes|"
            r"pacientes|alunos|moradores|"
            r"clientes|consumidores|usuarios|criancas|pais|empregados|funcionarios|visitantes|inscritos|doadores|"
            r"participantes|candidatos|atletas|socios|fregueses|compradores|leitores|seguidores|terceiros)\b",
        ),
        (
            4,
            r"\b(?:seus?|sua|o|os) (?:\w+, )?(?:cpf|rg|e-mail|telefone|endereco)\b.{0,60}\b(?:para|so|somente|"
            r"apenas)\b|\b(?:lgpd|lei (?:geral )?de protecao de dados|13\.709|anpd|autoridade nacional)\b",
        ),
        (
            3,
            r"\b(?:operador[ae]?s?|controlador[ae]?s?)\b.{0,80}\b(?:dados|lgpd|tratamento)\b|\bdados\b.{0,120}"
            r"\b(?:operador[ae]?s?|controlador[ae]?s?|titular(?:es)?)\b|\bsuboperador\w*|"
            r"\btitular(?:es)? (?:d[eo]s? dados|dess?es dados)|\bencarregad[oa]\b.{0,60}\b(?:dados|incident|anpd|"
            r"titular)|\b(?:dados|incidente|seguranca|anpd)\b.{0,60}\bencarregad[oa]\b|"
            r"\bpedidos? de (?:acesso|correcao|exclusao)|\b(?:acesso, correcao|correcao ou exclusao)\b",
        ),
        (3, r"\b(?:incidentes?|vazamentos?|acesso nao autorizado|violacao de (?:dados|seguranca))\b"),
        (
            2,
            r"^(?=.*\b(?:dados|informac\w+|cadastr\w+|fichas|imagens|laudos|exames|prontuarios?|vazamentos?|anpd|"
            r"lgpd)\b).*"
            r"\b(?:trat(?:ara|ar|ad[oa]s?|amento)|tratam|trata|coleta\w*|usad[oa]s?|usa\w*|"
            r"armazena\w*|vendid[oa]s?|emprestad[oa]s?|guarda\w*|elimina\w*|apaga\w*|anonimiz\w*|compartilha\w*|"
            r"proteg\w+|devolv\w+|"
            r"exclui\w*)\b.{0,100}",
        ),
        (
            1.5,
            r"\b(?:finalidade\w*|instruc\w+|consentimento|medidas (?:tecnicas|de seguranca)|seguranca|"
            r"criptograf\w*|base legal|necessari\w*)\b",
        ),
        (
            4,
            r"\b(?:guardamos|coletamos|usamos|pedimos|armazenamos|tratamos|guarda|coleta)\b.{0,80}\b(?:nome|cpf|e-mail|"
            r"telefone|endereco|biometria|imagens?|informac\w+)\b|\b(?:suas|seus|sua) (?:informac\w+|dados)\b",
        ),
        (1, r"\bdados\b"),
        (1, r"\b(?:avis\w+|comunic\w+|notific\w+|relat\w+)\b.{0,80}\b(?:horas|dias?|imediat\w+|anpd)\b"),
    ],
    never=r"\bfichas (?:clinicas )?dos animais|\bdecidiram nao\b|\bresponsabilidade\b.{0,100}\b(?:limita|exceder)|"
    r"\bindenizacao\b.{0,120}\bexcedera|"
    r"\bdados de transac|\bdados (?:bancarios|cadastrais) d[ae] conta|"
    r"\btitular(?:es)? (?:da marca|das quotas|da conta)",
    threshold=5,
    keep=0.55,
    most=3,
)
