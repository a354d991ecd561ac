"""Whether a party may hand the agreement, or rights and duties under it, to somebody else."""

from .scoring import Cues

EN = Cues(
    heading=r"\bassign|\btransfer|(?:hand|pass)(?:ing)? (?:it|this|the contract)|somebody else|another company|"
    r"taking over|novation|\bsuccessor|\bdelegat|no assignment|change of control",
    away=r"intellectual|ownership|definition|invention|work product|title|insurance|tax|confidential|warrant",
    alone=r"\bassignment\b",
    signs=[
        (
            5,
            r"\b(?:neither|no|nor|not|none)\b.{0,90}\b(?:assign(?:ed|able|ment)?|transfer(?:red)?|novated?|charged|"
            r"delegated?|cede|sublicense|hand (?:over|on|this|it)|pass (?:on|this|it)|sell this|give (?:this|away)|"
            r"sub-?contract)\b.{0,200}\b(?:agreement|m?nda|contract|terms|subscription|"
            r"rights?|obligations?|duties|interests?|hereunder|franchise|license)\b",
        ),
        (
            4,
            r"\b(?:agreement|rights?|interests?|obligations|privileges)\b.{0,140}\b(?:not|"
            r"nor)\b.{0,60}\b(?:assigned|assignable|transferred|transferable|delegated|sold|assign)\b",
        ),
        (
            4,
            r"\b(?:is|are) personal\b.{0,60}\b(?:not|cannot|nor)\b|\bpersonal to (?:the|each|it)\b|"
            r"\b(?:not|cannot|can't|won't|don't|never|nobody|neither)\b.{0,60}\b(?:hand|pass|sell|give|make over|"
            r"transfer|"
            r"switch|lend)\b.{0,40}"
            r"\b(?:contract|agreement|job|place|rights|work|role|account|licen[cs]e|subscription|membership|it|"
            r"seat)\b.{0,30}\b(?:to|"
            r"over|on)"
            r"(?: \w+)? (?:another|anyone|somebody|someone|others?|a third|third)\b",
        ),
        (
            5,
            r"\bnon-?(?:transferable|assignable)\b|\b(?:takes?|took) over (?:this|the) (?:contract|agreement|lease)\b",
        ),
        (
            3,
            r"\b(?:not|nor|cannot|never)\b(?: \w+){0,3} (?:be )?(?:assign\w*|novat\w*|charged|transferred)(?:,|"
            r"\b).{0,40}"
            r"\b(?:by|to|without|in whole|or)\b",
        ),
        (2, r"\bwithout\b.{0,40}\b(?:consent|approval|permission)\b|\b(?:consent|approval) of\b"),
        (
            2.5,
            r"\b(?:may|shall have the right to|entitled to|free to|right to)\b.{0,25}\b(?:assign|"
            r"transfer)\b.{0,90}\b(?:agreement|rights|obligations|interest)\b",
        ),
        (
            2,
            r"\b(?:purported|attempted|any) (?:\w+ ){0,3}(?:assignment|transfer)\b.{0,160}\b(?:void|"
            r"null|invalid|breach|consent)",
        ),
        (-2, r"\b(?:assign\w*|transfer)\b.{0,60}\b(?:ip|proprietary|intellectual property) assets?\b"),
        (
            5,
            r"\bassignment of\b.{0,110}\brequires?\b.{0,30}\b(?:consent|approval)\b|\b(?:licen[cs]e|membership|status|"
            r"ticket|lease|option)s?\b.{0,120}\b(?:may|shall|can|must)? ?not be (?:assigned|transferred|resold|sold)\b",
        ),
        (1, r"\bsuccessors?\b.{0,30}\bassigns?\b|\boperation of law\b|\bpermitted assigns\b"),
    ],
    never=r"\b(?:hereby assigns?|agrees to assign) (?:to )?\b.{0,80}\b(?:title|copyright|invention)|"
    r"\bassigned (?:employees|personnel|account)|\bconfidential information\b.{0,60}\bassign",
    threshold=6.5,
    keep=0.75,
    most=2,
)

_HAND_OVER = (
    r"\b(?:ced(?:e|er|era|erao|erem|am|a|emos|id[oa]s?)(?:-l[oa]s?|-se)?|cede-l[oa]s?|cessao|"
    r"transf(?:er|ir)\w*|trespass\w+|sub-?rog\w+|repass\w+|pass(?:ar|"
    r"ad[oa])(?:-l[oa])?(?! d[aeo] )|"
    r"delega\w*|subloca(?:r|d[oa]s?|cao)|subarrend(?:ar|ad[oa]|amento)|subcontrat\w+|"
    r"subempreit\w+|aliena\w*|empresta\w*|emprestimo d[aeo]s? (?:imove|bem|bens|coisa|equip|maquin|veicul|sala|chave|"
    r"licenca|acesso|conta)\w*|"
    r"transmit\w+|transmiss\w+|substituir por|"
    r"muda de maos|em seu lugar|no lugar d[aeo]|assum[aei]\w*|endoss\w+|empenh(?:ar|ad[oa]s?|o)|caucion\w+|"
    r"trocad[oa]s? por outr\w+|passam? (?:para|a) (?:os |as )?(?:terceiros|herdeiros|outr\w+)|fazer substituir|"
    r"se substituir|fazer-se substituir|revend\w+|onera(?:r|d[oa]s?)|vend(?:er|id[oa]s?)|novar|"
    r"dar em garantia|substituicao|substituid[oa]s?|"
    r"pass(?:a|ar|am|e|ara)\b(?: \w+){1,5} (?:adiante|a|para) (?:frente|outr\w+|terceiros|alguem|ninguem)|"
    r"pass(?:a|ar|am|e|ara)\b(?: \w+){1,5} adiante|adiante)\b"
)
_WHAT = (
    r"\b(?:contratos?|contratua(?:l|is)|instrumento|acordo|ajuste|termo|direitos?|obrigac\w+|"
    r"posic\w+|lugar|deveres|creditos?|divida|franquia|licenca|locacao|imovel|gleba|"
    r"assinatura|conta|"
    r"plano|vaga|sala|mandato|parceria|representacao|quotas|ata|servicos?|trabalhos?|negocio|contratante|"
    r"papel|tarefas?|execucao|titulo|encargos?|incumbencia|compromisso|hospedagem|projeto|contratada)\b"
)

PT = Cues(
    heading=r"\bcess|transfer|sub-?rog|subloca|sucess|\bpassar\b|repass|terceiros|ceder|intransmiss|"
    r"subempreit|subcontrat|mudanca de (?:contratante|parte)|troca de parte|outrem|adiante|"
    r"passar o contrato|substituic\w+ d[aeo]|outra empresa|em nosso lugar|personalissim",
    away=r"propriedade|autora|imagem|dados|confidencial|objeto|tribut|direito de uso|resultados|criac|quotas",
    alone=r"cessao (?:d[aeo]|e|ou|contrat)|^[\W\d]*(?:\w+ [\w-]+ - )?(?:d[ao] )?(?:cessao|"
    r"transferencia)\W*$|cessao e transferencia|ceder o contrato|intransferi|intransmiss|"
    r"passar o contrato|mudanca de (?:contratante|parte)|personalissim",
    signs=[
        (
            4,
            rf"{_HAND_OVER}.{{0,140}}(?:{_WHAT}|\b(?:terceir\w+|outr[ao] (?:pessoa|empresa|parte|casa)|"
            r"outrem|ninguem)\b)",
        ),
        (3.5, rf"{_WHAT}.{{0,140}}(?:{_HAND_OVER}|\bintrans(?:feri|mis)\w+)"),
        (2, rf"{_HAND_OVER}"),
        (
            2,
            r"\b(?:sem (?:que|o|a|previ[oa]|anuencia|concordancia|autorizacao|consentimento|pedir|"
            r"permissao|sua|nossa|expressa|licenca|ouvir)|vedad[oa]|proibid[oa]|nao|nenhuma?|nem|"
            r"ninguem|defeso|ilicito|dependera?|depende|somente|apenas|so|pode\w*|livre para|salvo|"
            r"intrans\w+|impedid[oa]|personalissim\w+|intuitu personae|pessoalmente|sem se fazer)\b",
        ),
        (
            2,
            r"\b(?:anuencia|consentimento|assentimento|concordancia|autorizacao|aprovacao|concord\w+|"
            r"aceite|autoriz\w+|aprov\w+|de acordo|permissao|permit\w+|licenca da outra|consinta|"
            r"falar com|visto|ouvir|deixar)\b",
        ),
        (
            1.5,
            r"\b(?:mesmo grupo|grupo economico|conglomerado|no todo ou em parte|total ou parcialmente|"
            r"sucessor\w*|incorporacao|fusao|coligad\w*|controlad\w*)\b",
        ),
        (
            -3,
            r"\b(?:metade|saldo|estornos?|parcelas?|conteudo|livro|marca|tiragem|capa|comissao|ingressos|cadeira|"
            r"utensilios|informac\w+|frete|indeniza\w*|divulgad\w+|r\$)\b",
        ),
    ],
    never=r"\bdeixar passar\b|\babr(?:iu|e|ir) mao\b|\b(?:tolerancia|transigencia|mera liberalidade)\b|"
    r"\bendoss\w+ d[ao] (?:apolice|seguro)|\bcnpj\b.{0,600}\bcnpj\b|\bnovos? emprestimos?\b|"
    r"\btransfer\w+ as partes\b|\b(?:propriedade|riscos?|posse|dominio)\b.{0,30}\b(?:se )?transfer\w+|"
    r"\bdireitos (?:patrimoniais|autorais|de autor|de imagem)\b|\bdados pessoais\b|"
    r"\btransferencia (?:bancaria|eletronica)|\binternacional de dados\b|\bpatente\b|"
    r"\bcedem? (?:a|ao|os|todos|neste)\b|\bcodigos?-fonte\b|\bdados reais\b",
    threshold=6,
    keep=0.7,
    most=2,
)
