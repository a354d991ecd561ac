"""What is common to all questions, taken out of a question's vector.

An embedding model puts every question near every other: most of the length of such a vector says "this is a question",
and "in Portuguese". Texts that merely look like questions, or are in the question's language, come too near by that. So
a share of the mean question of its language is taken away; what is left is what it asks about. The idea is that of
"All-but-the-Top" (Mu and Viswanath, 2018), applied to questions alone: what is stored stays as the model gave it.

The means are of the questions in `typical_questions.txt`, which ask about all sorts of things, and lie in
`typical_questions.npz` by the model's fingerprint, since to embed them takes a second. A model that is not there keeps
its vectors as they are. After a change of the questions or of a model's version:

    python -m lousa.memory_layers.typical_questions
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING

from .conversation.language import language_of

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]

SHARE = 0.6
"""Of the mean question; between a half and 0.7 all is alike (docs/recall.md)."""
_ANY = "any"
_FOLDER = files(__package__ or "")
_TEXTS, _MEANS = _FOLDER / "typical_questions.txt", _FOLDER / "typical_questions.npz"


def asked_about(vector: Vectors, text: str, fingerprint: str) -> Vectors:
    """The vector of a question, of length 1, without what all questions have in common.

    Where the language does not show, the mean of both languages is taken.
    """
    import numpy

    means = _means().get(fingerprint)
    if means is None:
        return vector
    common = means.get(language_of(text) or _ANY, means[_ANY])
    left = vector - numpy.float32(SHARE) * common
    return left / numpy.maximum(numpy.linalg.norm(left), numpy.float32(1e-12))


def questions() -> dict[str, list[str]]:
    """The typical questions of each language."""
    found: dict[str, list[str]] = {}
    language = ""
    for line in filter(None, _TEXTS.read_text(encoding="utf-8").splitlines()):
        if line.startswith("# "):
            language = line.removeprefix("# ")
        else:
            found.setdefault(language, []).append(line)
    return found


@cache
def _means() -> Mapping[str, Mapping[str, Vectors]]:
    """Fingerprint → language → the mean question, as the model gave it."""
    import numpy

    found: dict[str, dict[str, Vectors]] = {}
    with as_file(_MEANS) as path, numpy.load(path) as held:
        for name in held.files:
            fingerprint, _, language = name.partition(" ")
            found.setdefault(fingerprint, {})[language] = held[name]
    for means in found.values():
        means[_ANY] = _mean(list(means.values()))
    return found


async def measured() -> Mapping[str, Vectors]:
    """The means anew, by fingerprint and language."""
    from . import embedding

    found: dict[str, Vectors] = {}
    for embedder in embedding.local():
        for language, texts in questions().items():
            vectors = await embedder.questions(texts)
            found[f"{embedder.fingerprint} {language}"] = _mean(vectors)
    return found


def _mean(vectors: Vectors | Sequence[Vectors]) -> Vectors:
    import numpy

    return numpy.asarray(numpy.mean(vectors, axis=0), dtype=numpy.float32)


def _main() -> None:
    import numpy

    with as_file(_MEANS) as path:
        numpy.savez(path, allow_pickle=False, **asyncio.run(measured()))


if __name__ == "__main__":
    _main()
