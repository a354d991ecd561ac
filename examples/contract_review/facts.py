"""What a review may tell the knowledge graph: subject, predicate, object, only where the document leaves no
choice.

The subject is the agreement, by its title and its parties, so that the same agreement under another file name is the
same subject. Objects are the document's own words.
"""

from collections.abc import Sequence

from .attributes import ATTRIBUTES, read
from .clauses import Quotation
from .contradictions import title_of
from .documents import Document
from .parties import party_names

_PREDICATES = {
    ("term", "length"): "lasts",
    ("term", "start"): "starts on",
    ("term", "end"): "ends on",
    ("term", "renewal"): "is renewed for",
    ("termination", "notice"): "notice of termination",
    ("liability_cap", "cap"): "liability cap",
    ("confidentiality", "how long"): "confidentiality lasts",
    ("governing_law", "law"): "governing law",
}


def facts(document: Document, quotations: Sequence[Quotation]) -> list[tuple[str, str, str]]:
    """Facts about one agreement, in the order of the clauses; an attribute with two values in the document gives
    none."""
    names = party_names(document)
    subject = subject_of(document, names)
    told = [(subject, "party", name) for name in names]
    for clause, attributes in ATTRIBUTES.items():
        readings = [read(clause, q.text) for q in quotations if q.clause == clause]
        for name in dict.fromkeys(attribute.name for attribute in attributes):
            values = [reading[name] for reading in readings if name in reading]
            if values and len({value.canonical for value in values}) == 1:
                told.append(
                    (
                        subject,
                        _PREDICATES.get((clause, name), name),
                        " ".join(values[0].shown.split()),
                    )
                )
    return told


def subject_of(document: Document, names: Sequence[str]) -> str:
    """ "CONTRATO DE LOCAÇÃO (Ana Lima / Padaria Sol Ltda.)"."""
    title = " ".join(title_of(document).split()).rstrip(" .:")
    if len(title) > 90:
        title = title[:90].rsplit(" ", 1)[0] + "…"
    return f"{title} ({' / '.join(names[:2])})" if names else title


def predicates(clause: str) -> frozenset[str]:
    """The predicates that `facts` may state about a clause."""
    if clause == "parties":
        return frozenset({"party"})
    return frozenset(
        _PREDICATES.get((clause, attribute.name), attribute.name) for attribute in ATTRIBUTES.get(clause, ())
    )
