"""Summaries and topics without a model: what was said most to the point, in the words in which it was said.

A sentence counts by the words that it shares with the other turns (SumBasic: how frequent its words are, and each word
that was taken counts less from then on, so that nothing is said twice), and for more when it holds a name, a number, a
date, or says that something was decided, must be or is wanted. Thanks and greetings have no words that count. The
sentences come in the order in which they were said, each after whoever said it.

A topic is a word, or two that stand together, that several turns share; its text is the best of what was said with it.

The same turns always give the same. The words that count as decisions, duties and wishes are few and plain, in
Portuguese and English; in any other language the rest works as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..context.terms import STOP_WORDS, identifiers
from ..execution.memories import folded

LONGEST_SENTENCE = 240
_LONGEST_READ = 4_000
_STEM = 6
"""Letters by which words are compared: what follows is mostly an ending, in both languages."""
_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+(?=[\"'“‘(¿¡]*[A-ZÀ-Þ0-9])|\s*[\n⏎]+\s*")
_ABBREVIATION = re.compile(
    r"\b(?:dr|dra|sr|sra|srta|prof|profa|eng|ex|mr|mrs|ms|st|art|arts|inc|ltda|cia|vs|no|n|p|pp|fl|fls|av|tel|etc)\.$"
)
_WORD = re.compile(r"[^\W_]+(?:[-./@:#+]+[^\W_]+)*")
_NEWS = 0.2
"""The share of a sentence's words that must not be in one that was taken already."""
_SAYS = re.compile(
    r"\b(?:decid\w+|agree[ds]?|confirm\w*|prefer\w*|must|never|always|deadline|due|need(?:s|ed)?|want(?:s|ed)?|will"
    r"|approv\w*|cancel\w*|chang\w+|from now on|instead"
    r"|combin(?:ad\w|amos|ei)|acord(?:o|ad\w|amos)|precis\w+|deve\w*|nunca|sempre|prazo|vence|quer\w*|vamos|vou"
    r"|aprov\w+|cancel\w+|mud(?:ou|ar|amos|anca)|alter\w+|a partir de|em vez de)\b"
)
_NAMED = re.compile(r"(?<=\w\s)[A-ZÀ-Þ][\w'-]+")
_COURTESIES = """
oi ola bom boa dia tarde noite obrigado obrigada valeu beleza certo claro ok okay tudo bem tchau abraco por favor hi
hello hey good morning afternoon evening thanks thank welcome sure yes no sim bye great perfect perfeito otimo please
help ajudar ajudo
"""
_SILENT = STOP_WORDS | frozenset(_COURTESIES.split())
_EVERYDAY = """
able actually almost already also always amazing another anything awesome back best better bring came care come comes
coming cool days done enough even ever every everyone everything exactly excited exciting feel feeling feels felt find
fine first found gave gets getting give given gives glad going gone gonna gotta guess happen happened happy hard hear
heard hope however idea important inspiring instead interesting keep kept kind kinda knew know known knows last lately
later least left life like liked likes little long look looked looking looks lots love loved loves made make makes
making many maybe mean means might moment more much must need needed needs never next nice nothing often part past
people perhaps point possible pretty probably quite rather really recently right said saying says seem seems seen
several share show showed small something sometimes soon sort sound sounds special start started stay still stuff
super take takes taking talk talked tell thing things think thinking thought time times today together told tomorrow
tonight took totally tough tried true truly trying turn understand used using usually want wanted wants ways week
weeks well went whole wish wonder wonderful words work worked working works world would wrong yeah year years
yesterday
acabei acabou acho agora ainda alem algo alguem algum alguma alguns apenas assim bastante bonito cada caso certa
certeza chegar chegou coisa coisas comecar comecou consegui conseguir conta dava deixa deixar demais dentro desde
dessa desse devo dias disse dizer dois duas durante enquanto entanto espero estar exemplo facil faco falar falei falou
falta fazem fazendo fazer feito fica ficar ficou fora foram forma gente geral gosta gosto grande hoje ideia importante
inclusive incrivel jeito junto lado legal lembrar levar logo longe lugar maior maioria maneira melhor menos meses
mesma momento mostrar muita muitas muitos nada nenhum nenhuma ninguem nova novo nunca onde ontem outra outras outro
outros parece parte partir passado passar pensar pensei perto pessoa pessoas pode podem poder podia porem possivel
pouca pouco precisa precisamos preciso pronto proximo pude quase queria quero sabe saber sabia sair semana semanas
sempre senhor senhora sentir sido simples sobre sozinho talvez tanto tarde tentar tentei tinha tipo todas todo todos
tomar trabalho tras tres tudo usar vamos veio verdade vezes vida vira voltar vontade
"""
_PLAIN = frozenset(_EVERYDAY.split())
"""Words that anything is said with, and that name no topic."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one speaker said at one point; `place` is handed back."""

    who: str
    text: str
    place: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """A topic: its name as it was written, the best of what was said with it, and the places where it was."""

    name: str
    text: str
    places: tuple[int, ...]


def sentences(text: str) -> list[str]:
    """The sentences of a text, one that is very long cut at a word."""
    found: list[str] = []
    joined = ""
    for piece in _END.split(text[:_LONGEST_READ]):
        joined = f"{joined} {piece}".strip() if joined else piece.strip()
        if joined and not _ABBREVIATION.search(joined.casefold()):
            found.append(shortened(joined, LONGEST_SENTENCE))
            joined = ""
    return [*found, shortened(joined, LONGEST_SENTENCE)] if joined else found


def shortened(text: str, most: int) -> str:
    """At most so many characters of a text, cut at a word, on one line."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    head = text[: most - 1]
    return (head.rsplit(" ", 1)[0] if " " in head[most // 2 :] else head) + "…"


def content(text: str) -> list[str]:
    """The words of a text that say something, as they are compared."""
    return [stem(word) for word in _WORD.findall(folded(text)) if word not in _SILENT]


def stem(word: str) -> str:
    """A folded word as it is compared: its beginning, without the s of a plural; an identifier whole."""
    return (word[:-1] if word[-1] == "s" else word)[:_STEM] if word.isalpha() and len(word) > 3 else word


def summarise(said: Sequence[Said], most: int) -> str:
    """The best of what was said, in at most `most` characters; '' where nothing was said in words."""
    candidates = [
        _Candidate(each.who, sentence, order, frozenset(content(sentence)))
        for order, (each, sentence) in enumerate((each, one) for each in said for one in sentences(each.text))
    ]
    chosen = _choose([each for each in candidates if each.words], most)
    if not chosen:
        chosen = [each for each in candidates if each.text][:1]
    return shortened_lines([each.line for each in sorted(chosen, key=lambda each: each.order)], most)


def condense(lines: Sequence[str], most: int) -> str:
    """The best of lines that were taken from what was said, oldest first, in at most `most` characters."""
    candidates = [_Candidate("", line, order, frozenset(content(line))) for order, line in enumerate(lines) if line]
    chosen = _choose([each for each in candidates if each.words], most) or candidates[:1]
    return shortened_lines([each.line for each in sorted(chosen, key=lambda each: each.order)], most)


def shortened_lines(lines: Iterable[str], most: int) -> str:
    """Lines as one text; where it is too long, the last of them are shortened or left out."""
    kept: list[str] = []
    left = most
    for line in lines:
        if left < min(len(line), 20):
            break
        kept.append(shortened(line, left))
        left -= len(kept[-1]) + 1
    return "\n".join(kept)


def topics(said: Sequence[Said], most: int = 3, longest: int = 300) -> list[Found]:
    """What at least two of these have in common, the most common first."""
    places: dict[str, dict[int, None]] = {}
    written: dict[str, Counter[str]] = {}
    speakers = {stem(word) for each in said for word in folded(each.who).split()}
    for each in said:
        for key, shown in _names(each.text):
            if key in speakers:
                continue
            places.setdefault(key, {})[each.place] = None
            written.setdefault(key, Counter())[shown] += 1
    shared = [key for key, held in places.items() if len(held) > 1]
    # Two words say more than one of them, and in the same number of places that is what is meant.
    shared.sort(key=lambda key: (-len(places[key]), -key.count(" ")))
    found: list[Found] = []
    for key in shared:
        if len(found) == most:
            break
        if not any(places[key].keys() <= {*each.places} for each in found):
            name = written[key].most_common(1)[0][0]
            found.append(Found(name, about(key, said, longest), tuple(places[key])))
    return found


def about(key: str, said: Sequence[Said], longest: int) -> str:
    """The best of what was said with the words of `key`."""
    wanted = set(key.split())
    with_it = [
        Said(each.who, sentence) for each in said for sentence in sentences(each.text) if wanted <= {*content(sentence)}
    ]
    return summarise(with_it, longest)


def name_key(name: str) -> str:
    """A topic's name as it is compared."""
    return " ".join(content(name)) or folded(name)


@dataclass(frozen=True, slots=True)
class _Candidate:
    who: str
    text: str
    order: int
    words: frozenset[str]

    @property
    def line(self) -> str:
        return f"{self.who}: {self.text}" if self.who else self.text

    @property
    def weight(self) -> float:
        weight = min(1.0, 0.4 + len(self.words) / 10) if len(self.words) > 2 else 0.2
        if identifiers(self.text) or any(sign.isdigit() for sign in self.text):
            weight += 0.5
        if _SAYS.search(folded(self.text)):
            weight += 0.5
        if _NAMED.search(self.text):
            weight += 0.2
        return weight * 0.7 if self.text.rstrip().endswith("?") else weight


def _choose(candidates: Sequence[_Candidate], most: int) -> list[_Candidate]:
    """Greedily the best for the room there is; a word that was taken counts the square of what it did."""
    total = sum(len(each.words) for each in candidates)
    counted = Counter(word for each in candidates for word in each.words)
    share = {word: count / total for word, count in counted.items()}
    weights = {each.order: each.weight for each in candidates}
    left: list[_Candidate] = [*candidates]
    chosen: list[_Candidate] = []
    room = most
    while left:
        best = max(left, key=lambda each: (_worth(each, share) * weights[each.order], -each.order))
        if len(best.line) + 1 > room and chosen:
            left = [each for each in left if len(each.line) + 1 <= room]
            continue
        chosen.append(best)
        left = [each for each in left if len(each.words - best.words) > len(each.words) * _NEWS]
        room -= len(best.line) + 1
        for word in best.words:
            share[word] **= 2
    return chosen


def _worth(candidate: _Candidate, share: dict[str, float]) -> float:
    return sum(share[word] for word in candidate.words) / len(candidate.words) ** 0.5


def _names(text: str) -> Iterable[tuple[str, str]]:
    """What could be a topic's name in a text: keys, and as they are written."""
    for sentence in sentences(text):
        words: list[str] = _WORD.findall(sentence)
        before: tuple[str, str] | None = None
        for word in words:
            plain = folded(word)
            if plain in _SILENT or plain.isdigit() or plain in _PLAIN or (len(plain) < 4 and plain.isalpha()):
                before = None
                continue
            here = stem(plain), word
            yield here
            if before is not None and before[0] != here[0]:
                yield f"{before[0]} {here[0]}", f"{before[1]} {word}"
            before = here
