"""What must be kept secret, how, and for how long."""

from .scoring import Cues

EN = Cues(
    heading=r"confidential|non-?disclosure|secre|proprietary information|protection of|privacy|\bquiet\b|private|"
    r"^[\W\d]*confidence\b|"
    r"between us|what stays|keep(?:ing)? (?:it|things) (?:to|between)|discre",
    away=r"definition|personal data|data protection|assign|terminat|return|publicity|notice|"
    r"liabilit|indemn|exceptions?|required by law|compelled",
    alone=r"^[\W\d]*(?:\w\W )?confidentiality|term of confidentiality|confidential information|secrecy|"
    r"non-?disclosure|stays between|keeping (?:it |things )?(?:quiet|private|secret)",
    signs=[
        (-4, r"^(?!.*confidential information).*personal (?:data|information)"),
        (
            4,
            r"\b(?:shall|will|must|agrees?(?: that it will)? to|may|not to|"
            r"undertakes? to)\b.{0,140}\b(?:not (?:use|disclose)|keep|hold|maintain|protect|treat|"
            r"safeguard|disclose|use)\b.{0,160}\b(?:confiden\w+|secret|proprietary|private)\b",
        ),
        (
            4,
            r"\b(?:confidential|proprietary) information\b.{0,200}\b(?:shall|will|must|may|"
            r"agrees?)\b.{0,60}\b(?:not|only|solely|held|kept|protect|keep)\b",
        ),
        (
            4,
            r"\b(?:not|never|no one|nobody|neither|nor|no|only)\b.{0,90}\b(?:tell|show|share|reveal|disclos\w+|publish|"
            r"discuss|pass on|mention|talk|post|copy|photograph|let slip|communicate|divulge|leak|release|"
            r"announce)\b.{0,140}\b(?:anyone|anybody|others?|outside\w*|third part(?:y|ies)|competitors?|press|public|"
            r"social media|information|secrets?|what (?:it|they|we|you|he|she)\b|learn\w*|recipes?|prices?|data|"
            r"terms|plans?|figures|matters?|affairs?|knowledge)\b|\btrade secrets?\b",
        ),
        (
            5,
            r"\b(?:stays?|remains?|kept|keep|must stay|held)\b.{0,60}\b(?:between us|to (?:itself|themselves|"
            r"yourself|ourselves|himself|herself)|secret|private|quiet|under wraps|"
            r"inside the \w+|within the (?:school|company|firm|group|team))|"
            r"\btreat\w*\b.{0,30}\b(?:as|in) (?:\w+ )?(?:confidential|secret|private|confidence)\b|"
            r"\bduty of (?:secrecy|silence|confidence|confidentiality|discretion)\b|\bnot leave the\b",
        ),
        (
            3,
            r"\b(?:duty|obligations?|secrecy|confidentiality|confidence|undertaking|this|these|"
            r"it)\b.{0,80}\b(?:endures?|"
            r"lasts?|continues?|survives?|goes on|carr(?:y|ies) on|remains?|applies|apply|binds?)\b.{0,60}\b(?:years?|"
            r"months|indefinitely|forever|for ever|after|without limit)\b",
        ),
        (
            2,
            r"\b(?:in (?:strict )?confidence|strictly confidential|not (?:to )?disclose|"
            r"non-?disclosure|confidentiality)\b",
        ),
        (1.5, r"\b(?:receiving party|recipient|disclosing party)\b"),
        (
            1.5,
            r"\b(?:same|reasonable) (?:degree|standard|level|protections?|"
            r"measures)\b.{0,20}(?:of care)?|\bno less than\b|\bneed to know\b",
        ),
        (1.5, r"\b(?:period of|for)\b.{0,40}\byears?\b.{0,60}\b(?:after|following|from)\b|\bsurviv"),
        (1, r"\bthird part(?:y|ies)\b|\bprior written\b"),
    ],
    never=r"\bconfidential treatment\b.{0,60}\b(?:request|omitted|commission)|\bdoes not include\b|"
    r"\bshall not (?:apply|include)\b|\binsurance\b|\bwarrant(?:y|ies)\b|\bpublicly available\b|\bsubpoena|"
    r"\bpublic domain",
    threshold=6,
    keep=0.7,
    most=3,
)

_TELL = (
    r"(?:revel\w*|divulg\w*|compartilh\w*|cont(?:ar|a|am|e|em|ara|arao)|exp(?:or|oe|oem|ora|ost\w+)|"
    r"public(?:a|am|ar|ara|arao|ad[oa]s?|que|quem|iza\w*)|repass\w*|transmit\w*|mostr\w*|exib\w*|utiliz\w*|"
    r"us(?:ar|ara|arao|e|em|a|am|ad[oa]s?)|empreg(?:a|ar|ara|ad[oa]s?)|fornec\w*|copi\w*|coment\w*|comunic\w*|"
    r"fal(?:ar|a|am|ara|e|em)|discut\w*|mencion\w*|reproduz\w*|fotograf\w*|film(?:ar?|am|e)|grav(?:ar?|am|e)|"
    r"vaz(?:ar?|am|ara|e)|levar|levam?|abr(?:ir|e|em)|espalh\w*|propal\w*|notici\w*|post(?:ar?|am|e)|"
    r"d(?:ar|a|ao|e|ara) (?:pistas?|conhecimento|a conhecer|noticias?|publicidade|ciencia|entrevistas?)|relat(?:ar?|"
    r"am|e)|retir(?:ar?|am|e)|ensin(?:ar?|ad[oa]s?|am|e)|torn\w+ public\w+|"
    r"disponibiliz\w*|pass\w+ adiante|le(?:r|ia|em))"
)
_NOT = (
    r"(?:nao|nem|ninguem|jamais|nunca|so|somente|apenas|veda\w*|proib\w*|abst\w+|nenhum[ao]?|sem|evita\w*|"
    r"defes[oa]|impedid[oa]s?)"
)
_KNOWN = (
    r"(?:informac\w+|segredos?|dados|documentos|confidencia\w+|receitas?|precos?|margens|senhas|listas?|projetos?|"
    r"saber|souber\w*|conhec\w+|conteudos?|metodos?|know-how|termos|tabelas|descontos|lancamento|condicoes|plan[oa]s?|"
    r"numeros|negociac\w+|negocios?|cifras|carteira|clientes|formulas?|desenhos?|amostras|estrategias?|achados?|"
    r"orcamentos?|papeis|materia(?:l|is)|fotografias|assunto|processos? produtivos?|custos|fornecedores|codigos?|"
    r"fatos?|casos|balancetes|prontuarios|livros|rotina|intimidade|contratos?|propostas?|resultados|relatorios|"
    r"(?:tudo|aquilo|o) que (?:\w+ ){0,3}(?:souber\w*|vir\w*|ouvir\w*|"
    r"aprend\w+|conhec\w+|ver|ouve|ve|sabe|sabem|receb\w+|viu|leu|ler))"
)
_ANYONE = (
    r"(?:terceir[oa]s?|ninguem|a quem quer que seja|quem quer que seja|outras? pessoas?|estranh[oa]s|gente de fora|"
    r"quem (?:e|esta|esteja|seja) de fora|pessoas? (?:alheias?|estranhas?|de fora)|concorrentes?|imprensa|"
    r"redes sociais|qualquer pessoa|outrem|quem nao (?:precis\w+|dev\w+))"
)
_SECRET = r"(?:confidencia\w+|sigilos?\w*|segredo\w*|reservad[oa]s?|restrit[oa]s?|secret[oa]s?|nao public[oa]s?)"

PT = Cues(
    heading=r"confidencial|sigilo|segredo|nao divulga|reserva\b|discricao|privacidade das inform|guardar|boca fechada|"
    r"silencio|entre nos\b|informac\w+ (?:nao publicas|reservadas|restritas|privilegiadas|trocadas|estrategicas|"
    r"da outra|de negocio|internas)|nao (?:se )?(?:conta|fala|comenta|sai)\b|o que (?:nao )?(?:pode|se pode) "
    r"(?:contar|falar|comentar)|conversas? reservadas",
    alone=r"confidencia(?:lidade|l|is)\b|\bsigilo\b|\bsegredo|fica entre nos|nao divulgacao|discricao|silencio|"
    r"boca fechada|"
    r"informac\w+ (?:nao publicas|reservadas|restritas|privilegiadas)",
    away=r"dados pessoais|protecao de dados|lgpd|devolucao|rescis|foro|exce[cp]|"
    r"revelacao obrigatoria|nao e confidencial|cess|transfer",
    signs=[
        (
            6,
            r"\b(?:prazo|dever|periodo|duracao) d[aeo] (?:sigilo|segredo|confidencialidade)\b.{0,60}\bpassa\w* "
            r"(?:a|de|para)\b.{0,40}\b(?:anos?|mes|meses)\b",
        ),
        (
            4,
            r"\b(?:guarda\w*|mante\w*|conserva\w*|preserva\w*|zela\w*|resguarda\w*|observa\w*|proteg\w+|respeit\w+|"
            r"obriga\w*|trata\w*|comprome\w+)\b.{0,100}\b(?:sigilo\w*|segredo|confidencia\w+|reserva|discricao|"
            r"silencio|reservad[oa]s?)\b",
        ),
        (
            4,
            rf"\b{_NOT}\b.{{0,100}}\b{_TELL}\b.{{0,200}}\b(?:{_KNOWN}|{_ANYONE}|pessoa)\b|"
            rf"\b{_KNOWN}\b.{{0,160}}\b{_NOT}\b.{{0,50}}\b{_TELL}\b",
        ),
        (1.5, rf"\b{_NOT}\b.{{0,60}}\b{_TELL}\b.{{0,200}}\b{_ANYONE}\b|\b{_NOT} sa(?:i|em|ira|irao|ia)\b"),
        (
            1.5,
            r"\b(?:vier\w* a (?:conhecer|saber|ter acesso)|tiver\w* acesso|ter(?:a|ao)? acesso|tomar\w* conhecimento|"
            r"souber\w*|ficar\w* sabendo|revelad[oa]s? por|recebid[oa]s? d[aeo]|colhid[oa]s|da outra (?:parte)?|"
            r"em (?:razao|virtude|decorrencia|funcao) d[aeo])\b",
        ),
        (
            3.5,
            r"\b(?:com|em|sob) reserva\b|\bficam? (?:so |apenas )?entre (?:as (?:partes|duas)|nos|os dois)\b|"
            r"\bguard\w+ (?:\w+ )?para si\b|\bnao (?:serao|sera|podem ser|devem ser) (?:divulgad|revelad|"
            r"compartilhad|publicad|comunicad|mostrad|comentad)\w+|"
            r"\bnao (?:comenta|revela|divulga)\w*\b|\b(?:fica\w*|sao|permanec\w+) (?:restrit|"
            r"reservad)[oa]s? (?:a[os]?|entre)\b|\b(?:cobert|protegid)[oa]s? (?:pelo|por|sob) (?:segredo|sigilo)",
        ),
        (
            5,
            r"\bcalad[oa]s?\b|\bboca fechada\b|\b(?:guard\w+|mant\w+|faz\w*|dever de|mesmo|absoluto) silencio\b|"
            r"\b(?:contar|contou|disser|revelar|confiar)\w*\b.{0,30}\bem confianca\b|\bentrevistas? (?:sobre|"
            r"a respeito)|\bmorrem? aqui\b|\bnao (?:pode\w* |deve\w* )?sa(?:em|i|ir|ira|"
            r"irao) (?:daqui|de dentro|da empresa|"
            r"da (?:fabrica|sala|equipe|oficina)|desta|do ambito)|\bdar pistas?\b",
        ),
        (
            3,
            r"\bfora do alcance\b|\bso (?:\w+ ){0,2}(?:usa|usara|utiliza|mostra)\w*\b|"
            r"\bcompromisso prende\b|\bdever de (?:reserva|sigilo|segredo|silencio)\b|\bestritamente confidenc|"
            r"\b(?:carater|natureza|cunho) (?:\w+ )?(?:reservad|sigilos|confidenc|restrit)|\buso (?:restrito|"
            r"interno)\b",
        ),
        (-2, r"\bordem judicial\b|\blei (?:mandar|exigir|impuser)"),
        (
            1.5,
            r"\b(?:durante|por toda|apos|depois|seguintes|para sempre|por tempo ilimitado)\b.{0,60}\b(?:contrato|"
            r"relacao|trabalho|anos|meses|sempre|fechamento|parceria)\b",
        ),
        (
            3,
            rf"\b(?:informac\w+|dados|documentos|conteudo|conhecimento|manual|tudo)\b.{{0,160}}\b{_SECRET}\b|"
            rf"\btrat\w+ (?:\w+ ){{0,3}}(?:como|por|de forma) {_SECRET}",
        ),
        (
            3,
            r"\b(?:dever|obrigac\w+|compromisso|sigilo|confidencialidade|segredo|silencio|discricao|isso|"
            r"reserva)\b.{0,120}\b(?:subsist\w+|perdur\w+|permanec\w+|continua\w*|sobreviv\w+|dura\w*|vigor\w*|"
            r"vale\w*|mantem-se|estende\w*|persist\w+|segue|prosseg\w+|acompanha\w*)\b.{0,100}\b(?:anos?|meses|apos|"
            r"depois|fim|termino|encerrament\w*|indeterminad\w*|ilimitado|sempre)\b",
        ),
        (2, r"\b(?:sigilo|confidencialidade|confidencia(?:l|is)|segredo)\b"),
        (1.5, r"\b(?:cuidado|diligencia|zelo|empregados|representantes|que precisem|necessidade de conhecer)\b"),
        (-2.5, r"\b(?:dados pessoais|lgpd|lei geral de protecao|posicao que ocup\w+|manutenc\w+ avisad\w+)\b"),
    ],
    never=r"\bnao se (?:considera|aplica|inclu)|\bja eram? public|\bdominio publico|\bmulta\b|"
    r"\bjuiz\b|\bresponsabilidade total|\bdados pessoais\b|\blgpd\b|\bquebra de sigilo\b|"
    r"\bdireitos de publicar|\bnao excedera\b|\bprevist[oa] na clausula\b",
    threshold=5,
    keep=0.62,
    most=3,
)
