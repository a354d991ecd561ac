"""What must be kept secret, how, and for how long."""

from .scoring import Cues

EN = Cues(
    heading=r"confidential|non-?disclosure|secre|proprietary information|protection of|privacy",
    away=r"definition|personal data|data protection|assign|terminat|return|publicity|notice|"
    r"liabilit|indemn|exceptions?|required by law|compelled",
    alone=r"^[\W\d]*(?:\w\W )?confidentiality|term of confidentiality|confidential information",
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
    r"\bshall not (?:apply|include)\b|\bpublicly available\b|\bsubpoena|\bpublic domain",
    threshold=6,
    keep=0.7,
    most=3,
)

PT = Cues(
    heading=r"confidencial|sigilo|segredo|nao divulga|reserva|discricao|privacidade das inform|guardar|boca fechada",
    alone=r"confidencialidade|\bsigilo\b|dever de segredo",
    away=r"dados pessoais|protecao de dados|lgpd|devolucao|rescis|foro|exce[cp]|"
    r"revelacao obrigatoria|nao e confidencial",
    signs=[
        (
            4,
            r"\b(?:guarda\w*|mante\w*|conserva\w*|preserva\w*|zela\w*|resguarda\w*|observa\w*|"
            r"obriga\w*)\b.{0,100}\b(?:sigilo\w*|segredo|confidencia\w+|reserva|discricao|sob sigilo|"
            r"sigilos\w+)\b",
        ),
        (
            4,
            r"\b(?:nao|nem|ninguem|jamais|so|veda\w*|proib\w*|abst\w+|nenhuma|"
            r"sem)\b.{0,100}\b(?:revel\w*|divulg\w*|compartilh\w*|cont(?:ar|e|ara)\b|expor|expo\w+|"
            r"public\w+|repass\w*|transmit\w*|mostr\w*|utiliz\w*|us(?:ar|ara|e)|emprega|fornec\w*|"
            r"copia\w*|comenta\w*)\b.{0,200}\b(?:informac\w+|segredo|dados|documentos|confidencia\w+|"
            r"receitas?|precos|margens|senhas|listas?|projeto|terceiros|ninguem|pessoa|saber|souber|"
            r"conhec\w+|conteudos?|metodos?|know-how|termos|tabelas|descontos|lancamento|condicoes|"
            r"preco|plano|numeros|negociac\w+|cifras|carteira|clientes)\b",
        ),
        (
            3.5,
            r"\b(?:com|em) reserva\b|\bficam? (?:so )?entre (?:as partes|nos)\b|\bguard\w+ para si\b|"
            r"\bnao (?:serao|sera|podem ser|devem ser) (?:divulgad|revelad|compartilhad|publicad)\w+|"
            r"\bnao (?:comenta|revela|divulga)\w*\b|\bcobert[oa] pelo segredo",
        ),
        (
            3,
            r"\bfora do alcance\b|\bso (?:\w+ ){0,2}(?:usa|usara|utiliza|mostra)\w*\b|"
            r"\bcompromisso prende\b|\bdever de (?:reserva|sigilo|segredo)\b|\bestritamente confidenc",
        ),
        (-2, r"\bordem judicial\b|\blei (?:mandar|exigir|impuser)"),
        (
            1.5,
            r"\b(?:durante|por toda|apos|depois|seguintes|para sempre)\b.{0,60}\b(?:contrato|relacao|"
            r"trabalho|anos|meses|sempre)\b",
        ),
        (
            3,
            r"\b(?:informac\w+|dados|documentos|conteudo|conhecimento|manual|"
            r"tudo)\b.{0,160}\b(?:confidencia\w+|sigilo\w*|em segredo|sigilos\w+|reservad[oa]s?|"
            r"nao public[oa]s?)\b",
        ),
        (
            3,
            r"\b(?:dever|obrigac\w+|compromisso|sigilo|confidencialidade|segredo|"
            r"reserva)\b.{0,120}\b(?:subsist\w+|perdur\w+|permanec\w+|continua\w*|sobreviv\w+|dura\w*|"
            r"vale\w*|mantem-se|estende\w*|persist\w+)\b.{0,100}\b(?:anos?|meses|apos|depois|fim|"
            r"termino|encerrament\w*|indeterminad\w*)\b",
        ),
        (2, r"\b(?:sigilo|confidencialidade|confidencia(?:l|is)|segredo)\b"),
        (1.5, r"\b(?:cuidado|diligencia|zelo|empregados|representantes|que precisem|necessidade de conhecer)\b"),
    ],
    never=r"\bnao se (?:considera|aplica|inclu)|\bja eram? public|\bdominio publico|\bmulta\b|"
    r"\bjuiz\b|\bresponsabilidade total|\bdados pessoais\b|\blgpd\b|\bquebra de sigilo\b|"
    r"\bdireitos de publicar|\bnao excedera\b|\bprevist[oa] na clausula\b",
    threshold=5,
    keep=0.62,
    most=3,
)
