"""Who the agreement is between, by full name.

The parties stand where the agreement begins: between the title and the first recital or clause. There, a name is
either an organisation, which its legal suffix gives away ("Ltda.", "Inc."), or whatever is introduced the way parties
are: by a role ("LOCADOR: ..."), by a description that follows ("..., a Delaware corporation", "..., inscrita no
CNPJ") or by a short name in brackets. People who only sign for a party are left out. A cover page or the signatures
are read when the opening names nobody, and failing these the first firm that is named anywhere counts.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from .documents import Document

MOST = 10

ROLES = (
    r"contratantes?|contratad[oa]s?|tomador[ae]?|prestador[ae]?|locador[ae]?s?|"
    r"locat[áa]ri[oa]s?|vendedor[ae]?s?|comprador[ae]?s?|fornecedor[ae]?|"
    r"franquead[oa]|franqueador[a]?|licenciante|licenciad[oa]|mutuante|mutu[áa]ri[oa]|cedente|"
    r"cession[áa]ri[oa]|parceir[oa]s?(?:[ -]\w+)?|"
    r"outorgante|outorgad[oa]|comodante|comodat[áa]ri[oa]|arrendador[a]?|arrendat[áa]ri[oa]|"
    r"empresa|cliente|distribuidor[a]?|representante comercial|"
    r"representad[oa]|fabricante|reveladora?|receptora?|divulgadora?|devedor[a]?|credor[a]?|"
    r"fiador[a]?|investidor[a]?|agente|autor[a]?|editora|"
    r"arrendante|mandante|mandat[áa]ri[oa]|concedente|concession[áa]ri[oa]|permitente|permission[áa]ri[oa]|"
    r"doador[a]?|donat[áa]ri[oa]|depositante|deposit[áa]ri[oa]|transportador[a]?|anunciante|gestor[a]?|assinante|"
    r"convenente|interveniente|garantidor[a]?|produtor[a]?|consultor[a]?|promitente|promiss[áa]ri[oa]|"
    r"patrocinador[a]?|patrocinad[oa]|operadora|controladora|parte [ab12]|quem contrata|"
    r"quem presta|n[óo]s|voc[êe]|party [ab12]|customer|provider|"
    r"supplier|client|licensor|licensee|seller|buyer|landlord|tenant|consultant|contractor|"
    r"company|franchisor|franchisee|reseller|distributor|"
    r"developer|investor|sponsor"
)

_SPACE = r"(?:[ \t]{1,12}|[ \t]{0,40}\n[ \t]{0,60}(?!\w+\s*:))"
_WORD = r"(?:(?:[A-ZÀ-Ý]|Cia|Dr|St|Mr|Ind|Com|Serv)\.(?=[ \tA-Z,])|[A-ZÀ-Ý0-9][\w'’&/®-]*(?:\.[\w'’&-]+)*|&)"
_NAME = rf"{_WORD}(?:{_SPACE}(?:(?:of|for|de|da|do|das|dos|e|del|van|von|y|the){_SPACE}(?={_WORD}))?{_WORD})*"
_SUFFIX = (
    r"(?:(?i:inc|incorporated|corp|corporation|llc|l\.l\.c|ltd|limited|llp|plc|gmbh|pty|"
    r"eireli|ltda|lda|epp|slu|cia)\b\.{0,2}|Company\b|Co\b\.|CO\b\.|COMPANY\b|"
    r"(?:L\.?P\b|LP\b|N\.V|B\.V|S\.A\.?R?\.?L?|S/A|A/S|AG\b|S\.p\.A|S\.S|S/S|ME\b|MEI\b|P\.C|"
    r"N\.A|PTE\b|Sdn Bhd|SAS\b|SA\b|AB\b|KG\b|Oy\b)\.?)"
)
_ORGANISATION = re.compile(
    rf"(?<![\w.])({_NAME}?(?:{_SPACE}em{_SPACE}{_NAME})?(?:{_SPACE}\([A-Z][\w. ]{{1,24}}\))?"
    rf"(?:,?{_SPACE}{_SUFFIX}(?=[\s,.;:()\"“”'*)–-]|$))+)"
)
_NAMED_KIND = re.compile(
    r"(?<![\w.])((?:(?i:universidade|associação|cooperativa|fundação|instituto|condomínio|"
    r"município|sindicato|santa casa|espólio|colégio|clube|hospital|igreja|prefeitura))\b"
    rf"{_SPACE}(?:(?:de|da|do|das|dos|em|DE|DA|DO){_SPACE})?(?=\w{{4}}){_NAME}|"
    rf"{_NAME}{_SPACE}(?:University|UNIVERSITY|Foundation|Association|Institute|Trust|Bank)|"
    rf"University{_SPACE}of{_SPACE}{_NAME})"
)

_FOLLOWED = {
    "pt": re.compile(
        rf"(?<![\w.])({_NAME})[*_]*(?=,?\s*(?:\([^)]*\)\s*)?[\s,;:–—(-]{{1,4}}(?:[^.;\n]{{0,25}}\b)"
        r"?(?:pessoa\s+jur|pessoa\s+f[íi]sica|sociedade|companhia|empresa|inscrit|C\.?N\.?P\.?J|"
        r"C\.?P\.?F|"
        r"brasileir|estrangeir|portugu[êe]s|com\s+sede|estabelecid|sediad|casad|solteir|divorciad|"
        r"vi[úu]v|residente|portador|associaç|cooperativa|fundaç|autarquia|"
        r"microempre|empres[áa]ri|produtor|m[ée]dic|engenheir|advogad|arquitet|aposentad|"
        r"doravante|domiciliad|maior|RG\b|OAB\b|(?:adiante|aqui|daqui)\b|[\"“]))"
    ),
    "en": re.compile(
        rf"(?<![\w.])({_NAME})[*_]*(?=,?{_SPACE}(?:an?\s+(?:[\w,]+\s+){{0,6}}(?:corporation|"
        r"company|partnership|individual|organization|association|university|entity|trust|firm|"
        r"resident)|"
        r"\([^()\"“]{0,60}[\"“]|having\s|with\s+(?:its|an|a)\s|an\s+individual|whose\s|located\s|"
        r"residing\s|organi[sz]ed\s|doing\s+business))"
    ),
}
_ROLE = re.compile(
    rf"(?im:^[\s|#>*_\-•\d.()ivx]{{0,14}}(?:{ROLES}))[*_\s]*(?:\([^)\n]{{0,40}}\)|"
    rf"\s+\w+)?[*_\s]*(?::[\s*_|]*|[|–—-][ \t*_|]*)({_NAME})"
)
_OPENING = {
    "pt": re.compile(
        r"(?i)\b(?:de\s+um\s+lado|entre\b|partes\b|contratante|contratad[oa]|locador|nós\b|"
        r"qualificad|celebra|firma)"
    ),
    "en": re.compile(r"(?i)\b(?:between|among|amongst|parties\b|party\b)"),
}
_BODY = {
    "pt": re.compile(
        r"(?im)(?:^[\s#*_]*(?:cl[áa]usula\s+(?:primeira|1|um\b|i\b)|1[ªºa]?[.\s)–—-]|(?:do|"
        r"o)\s+(?:objeto|que\s)|objeto|considerand|pre[âa]mbulo|definiç|contexto|antecedentes|introdução|premissas|"
        r"hist[óo]rico|motivos?\b|[a-z]\.1\s|i\s*[-–—]\s*do)|"
        r"t[êe]m\s+entre\s+si|resolvem\b|ajustam\s+o\s+seguinte|considerando\b|"
        r"as\s+partes\s+acima|contratam\s+o\s+seguinte|fica\s+(?:justo|combinado))"
    ),
    "en": re.compile(
        r"(?im)(?:\bwhereas\b|\bw\s*i\s*t\s*n\s*e\s*s\s*s\s*e\s*t\s*h|"
        r"^\s*r\s*e\s*c\s*i\s*t\s*a\s*l\s*s?\b|\brecitals[:.\s]|\bbackground[:.]?\s|"
        r"\bnow,?\s+therefore\b|preliminary\s+statement|"
        r"agree(?:s|d)?\s+as\s+follows|hereby\s+agree|following\s+facts|^\s*(?:article\s+)?[1i][.\s)]+[A-Z])"
    ),
}
_NOT_BEFORE = re.compile(
    r"(?i)(?:\b(?:an?|subsidiar(?:y|ies)\s+of|division\s+of|affiliate\s+of|laws\s+of|"
    r"state\s+of|c/o|source:|owned\s+by|general\s+partner\s+of|at|in|rua|avenida|av\.|rodovia|"
    r"em|sede|"
    r"cidade\s+de|munic[íi]pio\s+de|comarca\s+de|estado\s+d[aeo]|grupo|subsidi[áa]ria\s+da|"
    r"alameda|praça|estrada|bairro|travessa|cartório\s+d[aeo])\s+|"
    r"testemunhas?:?\s*\d?\.?\s*(?:nome:)?\s*)$"
)
_SIGNS_FOR = re.compile(
    r"(?i)(?:representad[oa]s?|por\s+se[ua]s?\s+(?:\w+\s*-?){1,3},?|respons[áa]vel\s+legal|"
    r"represented\s+by|by\s+its|s[óo]ci[oa](?:\s*-?\s*administrador[a]?)?,?|"
    r"diretor[a]?(?:-\w+)?,?|administrador[a]?,?|presidente,?|sr\.|sra\.|dr\.|"
    r"dra\.)[^.;()\n]{0,70}$"
)
_INTRODUCED = re.compile(rf"(?i)\b(?:lado|outro|outra|partes?|eu|como\s+\w+|{ROLES})\s*,\s*$")
_THE = re.compile(r"(?i)\b(?:lado|outro|outra|partes?|entre|e|com|como\s+\w+)[\s,]+a\s+$|(?:^|\n)[\s*_]*a\s+$")
"""A Portuguese article, which looks like an English one."""
_NO_PARTY = re.compile(
    r"(?i)(?:\b(?:the|an?|this|these|of|as|in|to|with|its|their|our|your|under|called|see)\s+|" r"[\"“*(])$"
)
_NEVER = re.compile(
    r"(?i)(?:this|the|these|agreement|contrato|contract|exhibit|schedule|section|article|"
    r"party|parties|partes?|cláusula|clausula|whereas|recitals?|effective|term|"
    r"nº|cnpj|cpf|rua|praça|alameda|estrada|travessa|quadra|bairro|avenida|av\.?|rodovia|"
    r"estado|comarca|lei|anexo|termo|instrumento|sr\.?|sra\.?|dr\.?|dra\.?|cep|rg|ssp|page|"
    r"suite|street|road|copyright|all|any|each|cada|primeiro|segundo|witness\w*|"
    r"aditivo|acordo|confidential|execution|amendment|na|no|em|por|de|oab|presente|pelo|este|"
    r"esta|as|os|o|a|e|inscrita?|qualificação|identificação|united|state|sa)$"
)
_PLACE_BEFORE = re.compile(r"(?i)\b(?:n[oa]|nest[ea]|d[oa]|dest[ea]|situad[oa]\s+em)\s+$")
_TITLE_WORD = re.compile(
    r"(?i)(?:parceria|prestação|locação|licença|licenciamento|compra|venda|cessão|compromisso|distrato|convênio|"
    r"fornecimento|hospedagem|mútuo|doação|permuta|comodato|conteúdo|condições|disposições|proposta|anexo|lei|decreto|"
    r"código|artigo|item|distrito|polo|setor|zona|lote|galpão|loteamento|conjunto|bloco|km)$"
)
_ROLE_WORD = re.compile(
    rf"(?i)(?:{ROLES}|agent|manager|eireli|epp|me|mei|slu|s/a|s/s|member|talent|pessoa|"
    r"jurídica|física|cnpj|mf|cpf|ltda|inc|llc|corporation|limited|corp|co|s\.?a)\.?$"
)


def party_names(document: Document) -> list[str]:
    """The parties' full names, as first written, without line breaks."""
    return [" ".join(document.text[start:end].split()) for start, end in party_quotations(document)]


@lru_cache(maxsize=64)
def party_quotations(document: Document) -> tuple[tuple[int, int], ...]:
    """Where each party's full name first stands, in the order of the text; at most ten."""
    text = document.text
    start, end = opening(document)
    found = list(_names(document, start, end))
    for cover in ((0, 2500), (max(0, len(text) - 4000), len(text))):
        if len(found) < 2:
            found += _found(text, _ORGANISATION, *cover)
    if not found:
        found = list(_found(text, _ORGANISATION, 0, 30_000))[:1]
    distinct: dict[str, tuple[int, int]] = {}
    for s, e in sorted(set(found), key=lambda span: (span[0], -span[1])):
        key = same_name(text[s:e])
        longer = next((k for k in distinct if k.startswith(key) or key.startswith(k)), None)
        if longer is None:
            distinct[key] = (s, e)
        elif len(key) > len(longer):
            del distinct[longer]
            distinct[key] = (s, e)
    return tuple(sorted(distinct.values())[:MOST])


def same_name(name: str) -> str:
    """A name reduced to what two spellings of it have in common."""
    return "".join(c for c in name.casefold() if c.isalnum())


def opening(document: Document) -> tuple[int, int]:
    """Where the parties are introduced: from the first word that announces them to the first recital or clause."""
    text, language = document.text, document.language
    announced = _OPENING[language].search(text, 0, 15_000)
    start = announced.start() if announced else 0
    if language == "pt":
        start = 0
    body = _BODY[language].search(text, start + 60, start + 6000)
    end = body.start() if body else min(len(text), start + 2500)
    return start, end


def _names(document: Document, start: int, end: int) -> Iterator[tuple[int, int]]:
    text = document.text
    for pattern in (_ORGANISATION, _NAMED_KIND, _FOLLOWED[document.language], _ROLE):
        for s, e in _found(text, pattern, start, end):
            if (
                pattern is not _FOLLOWED["en"]
                or _ORGANISATION.fullmatch(text[s:e])
                or not _NO_PARTY.search(text[max(0, s - 20) : s])
            ):
                yield s, e


def _found(text: str, pattern: re.Pattern[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    for match in pattern.finditer(text, start, end):
        s, e = _without_opening_words(text, *match.span(1))
        if _is_name(text, s, e):
            yield s, e


def _without_opening_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Drops what is capitalised only because it opens a line or announces the name, and punctuation at the end."""
    for cut in re.finditer(
        r"(?i)(?:\b(?:between|among|agreement|entre|lado|outro|partes?)\b[\s:,]+|\n[ \t]*\n\s*|"
        r"\b(?:and|e)\b[\s:,]+)",
        text[start:end],
    ):
        joins = cut[0].strip(" :,\n").lower() in {"and", "e"}
        if cut.end() < end - start and (
            not joins or _ORGANISATION.fullmatch(text[start : start + cut.start()].strip(" ,"))
        ):
            return _without_opening_words(text, start + cut.end(), end)
    while start < end and (first := re.match(r"(?i)(?:the|and|e|a|o|this|of|de|sr|sra|dra?)\.?\s+", text[start:end])):
        start += first.end()
    while end > start and text[end - 1] in " ,;:*_\n":
        end -= 1
    return start, end


def _is_name(text: str, start: int, end: int) -> bool:
    """Whether a candidate is a name at all, and stands where a party and not its address or its signatory stands."""
    name = text[start:end]
    words = re.findall(r"[^\W_][\w'’/-]*", name)
    if (
        not 4 <= len(name) <= 120
        or not words
        or all(_ROLE_WORD.match(w) or _NEVER.match(w) or w.isdigit() for w in words)
    ):
        return False
    before = text[max(0, start - 90) : start].replace("\n", " ")
    after = text[end : end + 12]
    if (
        _NEVER.match(words[0])
        or (_NOT_BEFORE.search(before) and not _THE.search(before))
        or re.match(r"[A-Z]{1,2}[.-]\d", name)
    ):
        return False
    if _NAMED_KIND.fullmatch(name) and (name[0].islower() or _PLACE_BEFORE.search(before)):
        return False
    if _ORGANISATION.fullmatch(name) or _NAMED_KIND.fullmatch(name):
        return not (name.endswith(", Co.") and re.match(r"\s+[A-Z]", after))
    if (
        _TITLE_WORD.match(words[0])
        or re.search(r"\d{3}|\b(?i:agreement|contrato|republic|province)\b", name)
        or _SIGNS_FOR.search(before)
        or (re.search(r"[\w.]\s*,\s*$", before) and not _INTRODUCED.search(before))
    ):
        return False
    if re.match(r"[ \t]+(?!CNPJ|CPF|RG|MEI)[A-ZÀ-Ý]\w+", after) or words[-1].lower() in {"of", "de"}:
        return False
    return len(words) > 1 or (
        len(name) > 4 and bool(re.search(r"(?i)(?:\b(?:between|among|and|entre|e)|:|\()[\s*_]*$", before))
    )
