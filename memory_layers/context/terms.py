"""What a text is found by, word by word: plain terms and exact identifiers.

Plain terms are folded words; the database stems them in Portuguese and in English. An identifier (`CX-10`,
`NF-2024/001`, `us-east-1`, an error code, a CNPJ, an e-mail address) is kept whole beside them, as one lexeme that
begins with `=`, because stemming and splitting lose exactly what makes it exact. Between a letter and a digit, and in a
long number, separators do not count: `CX10` is `CX-10`, and a CNPJ is found with or without its dots.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..execution.memories import folded

_TOKEN = re.compile(r"\w+(?:[-./:@#+]+\w+)*")
WORD = re.compile(r"[^\W_]+")
_MIXED = re.compile(r"(?<=[^\W\d_])[-./_:](?=\d)|(?<=\d)[-./_:](?=[^\W\d_])")
_LONGEST = 200

_FUNCTION_WORDS = """
a about above after again against ali all am an and any ao aos aquela aquelas aquele aqueles aqui aquilo are as at
ate be because been before being below between both but by can com como da das de dela delas dele deles depois did
do does doing don dos down during e each ela elas ele eles em entre era eram eramos essa essas esse esses esta
estamos estao estas estava estavam estavamos este esteja estejam estejamos estes esteve estive estivemos estiver
estivera estiveram estiveramos estiverem estivermos estivesse estivessem estivessemos estou eu few foi fomos for
foram foramos forem formos fosse fossem fossemos from fui further ha had haja hajam hajamos hao has have havemos
having he hei her here hers herself him himself his houve houvemos houver houvera houveram houveramos houverao
houverei houverem houveremos houveria houveriam houveriamos houvermos houvesse houvessem houvessemos how i if in
into is isso isto it its itself ja just la lhe lhes mais mas me mesmo meu meus minha minhas more most muito my
myself na nao nas nem no nor nos nossa nossas nosso nossos not now num numa o of off on once onde only or os other
ou our ours ourselves out over own para pela pelas pelo pelos por porque quais qual quando quanta quantas quanto
quantos que quem s same sao se seja sejam sejamos sem sera serao serei seremos seria seriam seriamos seu seus she
should so some somos sou sua suas such t tambem te tem temos tenha tenham tenhamos tenho tera terao terei teremos
teria teriam teriamos teu teus teve than that the their theirs them themselves then there these they this those
through tinha tinham tinhamos tive tivemos tiver tivera tiveram tiveramos tiverem tivermos tivesse tivessem
tivessemos to too tu tua tuas um uma under until up very voce voces vos was we were what when where which while who
whom why will with you your yours yourself yourselves
"""
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Both languages' function words, folded."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A question's terms, each once, in the order in which they appear."""

    words: tuple[str, ...]
    identifiers: tuple[str, ...]


def terms(text: str, *, most: int = 48) -> Terms:
    """The terms that a question is asked by: without function words, and at most `most` of each sort."""
    plain = folded(text)
    words = (word for word in WORD.findall(plain) if word not in STOP_WORDS and len(word) <= _LONGEST)
    return Terms(tuple(dict.fromkeys(words))[:most], tuple(dict.fromkeys(identifiers(text)))[:most])


def identifiers(text: str) -> list[str]:
    """The exact identifiers in a text, as lexemes."""
    tokens: list[str] = _TOKEN.findall(folded(text))
    # Most tokens are plain words, and a batch has thousands.
    marked = (token for token in tokens if not token.isalpha())
    return ["=" + _canonical(token) for token in marked if len(token) <= _LONGEST and _is_identifier(token)]


def _is_identifier(token: str) -> bool:
    digits = sum(sign.isdigit() for sign in token)
    if digits == len(token):
        return digits >= 5
    return digits > 0 or any(sign in "_@./:#" for sign in token)


def _canonical(token: str) -> str:
    digits = "".join(sign for sign in token if sign.isdigit())
    if len(digits) >= 8 and not any(sign.isalpha() for sign in token):
        return digits
    return _MIXED.sub("", token)
