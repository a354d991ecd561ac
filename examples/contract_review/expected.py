"""What each common kind of agreement is expected to say, so that a review does not blame a lease for having no secrets.

The kind is read from the title and the first lines; whatever is of no kind known here is expected to say everything
an agreement on services does. Data protection and service levels are expected of any agreement that speaks of them.
"""

import re

from .clauses import CLAUSES

_ALWAYS = ("parties", "governing_law")
_SERVICES = (*_ALWAYS, "term", "payment", "termination", "liability_cap", "confidentiality", "assignment")
_SECRETS = (*_ALWAYS, "term", "confidentiality", "assignment")
_HIRE = (*_ALWAYS, "term", "payment", "termination", "assignment")

_PREMISES = (
    r"(?:imove(?:l|is)|residencia(?:l|is)|apartamentos?|casas?|lojas?|salas?|galp(?:ao|oes)|predios?|terrenos?|vagas?|"
    r"espacos?|quiosques?|escritorios?|glebas?|ponto comercial|uso comercial|fins comerciais|shopping|premises|"
    r"apartment|dwelling|house|office|building|land|shop|warehouse space)"
)
_LET = re.compile(
    r"\b(?:locacao|arrendamento|sublocacao|lease|tenancy|rental)\b(?! de (?:mao de obra|servicos|software|pessoal))"
)
_THINGS = re.compile(
    r"\b(?:veiculos?|equipamentos?|maquinas?|moveis|andaimes?|impressoras?|guindastes?|equipment|vehicles?|machinery)\b"
)
_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        r"\b(?:confidencialidade|sigilo|nao (?:divulgacao|revelacao)|segredo|non-?disclosure|m?nda)\b",
        _SECRETS,
    ),
    (r"\b(?:distrato|transacao extrajudicial|quitacao|settlement|termination agreement)\b", (*_ALWAYS, "payment")),
    (r"\b(?:doacao|deed of gift|permuta)\b", _ALWAYS),
    (r"\b(?:comodato|emprestimo de (?:uso|coisa|bens?|equipamentos?))\b", (*_ALWAYS, "term", "termination")),
    (
        r"\b(?:contrato (?:individual )?de (?:trabalho|estagio|experiencia)|termo de compromisso de estagio|"
        r"employment agreement|contract of employment)\b",
        ("parties", "term", "payment", "termination"),
    ),
    (
        r"\b(?:mutuo|emprestimo|confissao de divida|cedula de credito|nota promissoria|loan|promissory note|"
        r"credit agreement)\b",
        (*_ALWAYS, "term", "payment", "assignment"),
    ),
    (r"\bparceria (?:agricola|rural|pecuaria|agropecuaria)\b|\barrendamento rural\b|\bsharecropping\b", _HIRE),
    (
        r"\b(?:representacao comercial|representante comercial|franquia|franchise|corretagem|patrocinio|sponsorship|"
        r"influenciador\w*|endorsement|parceria de conteudo|profissional autonom\w+|cessao de imagem|"
        r"contrato de edicao)\b",
        (*_HIRE, "confidentiality"),
    ),
    (
        r"\b(?:compra e venda|compromisso de venda|venda de|cessao de quotas|bill of sale|sale and purchase|"
        r"(?:asset|share|stock|real estate) purchase|purchase and sale)\b"
        r"(?!.{0,80}\b(?:fornecimento|gas|energia|firme|safra|mensal|continuad|supply))",
        (*_ALWAYS, "payment"),
    ),
)


def expected_of(title: str, text: str) -> list[str]:
    """The clauses that an agreement is expected to have, in the order of the review; `title` and `text` are flat."""
    clauses = {*_kind(title, text)}
    if re.search(r"dados pessoais|dado pessoal|personal (?:data|information)|alunos|pacientes", text):
        clauses.add("data_protection")
    if re.search(
        r"software como servico|\bsaas\b|nuvem|\bcloud\b|hospedagem|hosting|suporte tecnico|technical support", text
    ):
        clauses.add("service_levels")
    return [clause for clause in CLAUSES if clause in clauses]


def _kind(title: str, text: str) -> tuple[str, ...]:
    """Secrecy may be told below the title, and what is let further below; anything else is in the title."""
    for said, clauses in _KINDS:
        if re.search(said, f"{title} {text[:300]}" if clauses is _SECRETS else title):
            return clauses
    if not _LET.search(title):
        return _SERVICES
    let = _THINGS.search(title) is None and re.search(rf"\b{_PREMISES}\b", f"{title} {text[:1500]}")
    return _HIRE if let else (*_HIRE, "liability_cap")
