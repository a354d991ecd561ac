"""A prompt's context, packed: what holds always, what is known, what was found, what may be outdated, what was said.

    rules and blocks → facts → what is known → possibly outdated, verify → summary → what was said last

Rules and blocks come before anything else and may take the whole budget, because they must not be crowded out; when it
is too small for them, their heading says so, and `Context.rules_left_out` says which. The window comes last, nearest to
the question, and is cut at its old end. Within the sections between, the best stands first and the second best last:
models read both ends of a list better than its middle. Of a summary, one line a part, the newest parts are kept.

Every line of a memory ends with the id it can be cited by. A memory is one line, whatever it holds: nothing in it can
pass for a heading, another line or another memory's id. What says the same is shown once, where it counts most, with
the ids of all; a turn of the window that is also remembered is cited in its place.

What nobody confirmed is not shown. A recall brings nothing from quarantine; a turn that came from the web, or that
commands an assistant and was not the user's, is named in the window and held back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import get_args
from uuid import UUID

from ..infra import shape
from ..infra.errors import BadInput
from .context_lines import Cite, Language, cited, flat, gist, held_back, labelled, memory_line, turn_line
from .context_sheet import Counter, Line, Section, Sheet
from .conversation.window import Turn, whole
from .execution.memories import folded
from .instructions import commands
from .records import QUARANTINE_BELOW, Hit, MemoryKind

ALWAYS = frozenset({MemoryKind.PROCEDURAL, MemoryKind.BLOCK})
"""The kinds that are in every context, as far as the reader may see them."""
FOUND = frozenset({MemoryKind.EPISODIC, MemoryKind.SEMANTIC, MemoryKind.FACT, MemoryKind.DECISION})
"""The kinds that a question has to find."""
WINDOW_SHARE = 0.4
"""The part of the budget that the window may take when memories want the rest."""
SUMMARY_SHARE = 0.2
"""The part of the budget that the summary of what was said before may take."""

_HEADINGS: Mapping[Language, tuple[str, str, str, str, str, str, str]] = {
    "en": (
        "Rules",
        "Rules (not all fit)",
        "Facts",
        "What is known",
        "Possibly outdated, verify",
        "Summary of what was said before",
        "Last said",
    ),
    "pt": (
        "Regras",
        "Regras (nem todas couberam)",
        "Fatos",
        "O que se sabe",
        "Talvez desatualizado, verifique",
        "Resumo do que foi dito antes",
        "Dito por último",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A packed context. `cited` are the memories in it, `tokens` what it counts, `left_out` how many did not fit.

    `rules_left_out` are the rules and blocks among these: a prompt without them may break what always holds. `repeats`
    gives for a memory that is cited the others that say the same, and `named` whose an id in the text is.
    """

    text: str
    cited: tuple[UUID, ...]
    tokens: int
    left_out: int
    rules_left_out: tuple[UUID, ...] = ()
    repeats: Mapping[UUID, tuple[UUID, ...]] = field(default_factory=dict[UUID, tuple[UUID, ...]])
    named: Mapping[str, UUID] = field(default_factory=dict[str, UUID])

    def __str__(self) -> str:
        return self.text


def count_tokens(text: str) -> int:
    """About how many tokens: four characters each."""
    return (len(text) + 3) // 4


def pack(
    hits: Iterable[Hit],
    turns: Sequence[Turn] = (),
    *,
    budget: int,
    language: Language = "en",
    counter: Counter = count_tokens,
    summary: str = "",
    cite: Cite = "full",
) -> Context:
    """Hits, best first, and turns, oldest first, as one text of at most `budget` tokens, as `counter` counts the whole.

    Raises:
        BadInput: no budget, a language without headings, or a counter that does not count.
    """
    check_frame(budget, language, cite)
    plain, partial, *others = _HEADINGS[language]
    rules = Section(plain, "as given")
    facts, known, doubtful = (Section(heading) for heading in others[:3])
    before, said = Section(others[3], "backwards"), Section(others[4], "backwards")

    given = [*{hit.id: hit for hit in hits}.values()]
    distinct = _folded(given)
    labels = labelled((identifier for hit in distinct for identifier in (hit.id, *hit.also)), cite)
    lines = {hit.id: Line(memory_line(hit, language, labels), (hit,)) for hit in distinct}
    sheet = Sheet([rules, facts, known, doubtful, before, said], counter)

    always = [lines[hit.id] for hit in distinct if hit.kind in ALWAYS]
    if not sheet.fits(rules, always, budget):
        rules.heading = partial
        sheet.add(rules, always, budget)
    short = [Line(f"- {flat(line)}") for line in reversed(summary.splitlines()) if flat(line)]
    sheet.add_in_a_row(before, short, min(budget, sheet.used + int(budget * SUMMARY_SHARE)))

    places = {
        facts: [hit for hit in distinct if hit.kind is MemoryKind.FACT and not hit.to_confirm],
        known: [hit for hit in distinct if hit.kind not in (*ALWAYS, MemoryKind.FACT) and not hit.to_confirm],
        doubtful: [hit for hit in distinct if hit.kind not in ALWAYS and hit.to_confirm],
    }
    spoken = _spoken(turns, places[known], language, labels)
    wanted = sum(_whole_cost(sheet, place, [lines[hit.id] for hit in those]) for place, those in places.items())
    share = max(int(budget * WINDOW_SHARE), budget - sheet.used - wanted)
    sheet.add_in_a_row(said, spoken, min(budget, sheet.used + share))
    told = _written(sheet)
    for place, those in places.items():
        sheet.add(place, [lines[hit.id] for hit in those if hit.id not in told], budget)
    written = _written(sheet)
    rest = takewhile(lambda line: not any(hit.id in written for hit in line.about), spoken[len(sheet.lines(said)) :])
    sheet.add_in_a_row(said, [*rest], budget)
    written = _written(sheet)

    shown = sum(len(line.text.split("\n")) for line in sheet.lines(said))
    missing = [hit for hit in distinct if hit.id not in written]
    return Context(
        text=sheet.text,
        cited=tuple(written),
        tokens=sheet.used,
        left_out=len(missing) + sum(len(line.text.split("\n")) for line in spoken) - shown,
        rules_left_out=_rules_among(missing, given),
        repeats={hit.id: hit.also for hit in written.values() if hit.also},
        named={labels[one]: one for hit in written.values() for one in (hit.id, *hit.also)},
    )


def check_frame(budget: int, language: Language, cite: Cite = "full") -> None:
    """What a context can be packed into.

    Raises:
        BadInput: no budget, a language without headings, or ids of no such form.
    """
    if shape.whole("budget", budget) < 1:
        raise BadInput(f"a budget is a number of tokens above 0, got {budget}")
    if language not in get_args(Language):
        raise BadInput(f"there are no headings in {language!r}; the languages are {', '.join(_HEADINGS)}")
    if cite not in get_args(Cite):
        raise BadInput(f"ids are cited {' or '.join(get_args(Cite))}, got {cite!r}")


def _standing(hit: Hit) -> int:
    """Where a memory counts: as a rule most, as something outdated least."""
    if hit.kind in ALWAYS:
        return 0
    return 3 if hit.to_confirm else 1 if hit.kind is MemoryKind.FACT else 2


def _folded(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, those that count most first; what says the same is one of them, with the ids of all."""
    best: dict[tuple[str, ...], list[Hit]] = {}
    for hit in sorted(hits, key=_standing):
        context = "" if hit.fact is None else folded(hit.fact.qualifier)
        best.setdefault((folded(hit.speaker or ""), context, *gist(hit.text)), []).append(hit)
    return [
        replace(first, also=tuple(dict.fromkeys([*first.also, *(one for hit in more for one in (hit.id, *hit.also))])))
        for first, *more in best.values()
    ]


def _spoken(turns: Sequence[Turn], known: Iterable[Hit], language: Language, labels: Mapping[UUID, str]) -> list[Line]:
    """Exchanges, newest first: turns, no call without its result, and with a turn the memory that says the same."""
    remembered = {gist(hit.text): hit for hit in known}
    spoken: list[Line] = []
    for exchange in reversed(exchanges(whole(turns))):
        about: list[Hit] = []
        texts: list[str] = []
        for turn in reversed(exchange):
            if turn.trust < QUARANTINE_BELOW or (turn.comes_from != "user" and commands(turn.text)):
                texts.append(held_back(turn.role, language))
                continue
            said, same = turn_line(turn.role, turn.text), remembered.pop(gist(turn.text), None)
            if same is not None:
                about.append(same)
                said = f"{said} [{cited(same, labels)}]"
            texts.append(said)
        spoken.append(Line("\n".join(reversed(texts)), (*reversed(about),)))
    return spoken


def exchanges(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Turns in runs that must stay together: from a call to its last result."""
    reaches, made = [*range(len(turns))], dict[str, int]()
    for place, turn in enumerate(turns):
        if turn.answers is not None and turn.answers in made:
            reaches[made[turn.answers]] = place
        made.update(dict.fromkeys(turn.calls, place))
    found: list[list[Turn]] = []
    reach = -1
    for place, turn in enumerate(turns):
        if place > reach:
            found.append([])
        found[-1].append(turn)
        reach = max(reach, reaches[place])
    return found


def _whole_cost(sheet: Sheet, section: Section, lines: Sequence[Line]) -> int:
    return sheet.cost(f"## {section.heading}\n", *(line.text + "\n" for line in lines)) if lines else 0


def _written(sheet: Sheet) -> dict[UUID, Hit]:
    """The memories that are written, from top to bottom."""
    return {hit.id: hit for line in sheet.lines() for hit in line.about}


def _rules_among(missing: Iterable[Hit], given: Iterable[Hit]) -> tuple[UUID, ...]:
    """The rules and blocks that are not written, with those that were folded into them."""
    rules = {hit.id for hit in given if hit.kind in ALWAYS}
    return tuple(one for hit in missing for one in (hit.id, *hit.also) if one in rules)
