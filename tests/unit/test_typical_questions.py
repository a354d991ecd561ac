"""What all questions have in common is taken out of a question's vector, and out of nothing else."""

from __future__ import annotations

import numpy
import pytest
from lousa.memory_layers import embedding
from lousa.memory_layers.typical_questions import asked_about, measured, questions


def test_there_are_as_many_typical_questions_in_either_language() -> None:
    found = questions()
    assert set(found) == {"en", "pt"}
    assert len(found["en"]) == len(found["pt"]) == len(set(found["en"])) == len(set(found["pt"]))


async def test_the_means_that_are_shipped_are_those_of_the_questions_and_the_models() -> None:
    for name, mean in (await measured()).items():
        fingerprint, _, language = name.partition(" ")
        # A vector that is the mean itself is all that questions share: what is left of it points the same way.
        left = asked_about(mean, questions()[language][0], fingerprint)
        assert numpy.isclose(left @ mean / numpy.linalg.norm(mean), 1, atol=1e-3), name


@pytest.mark.parametrize("place", [0, 1])
async def test_questions_about_different_things_lie_further_apart_than_the_model_puts_them(place: int) -> None:
    embedder = embedding.local()[place]
    texts = ["When does the ferry to the island leave?", "Where is the key of the safe kept?"]
    one, other = await embedder.questions(texts)
    asked, again = [await embedder.query(text) for text in texts]
    assert asked @ again < one @ other
    assert numpy.isclose(numpy.linalg.norm(asked), 1, atol=1e-3)


def test_a_model_without_means_keeps_its_vectors() -> None:
    vector = numpy.array([0.6, 0.8], dtype=numpy.float32)
    assert asked_about(vector, "Where is it?", "000000000000") is vector


async def test_documents_stay_as_the_model_gives_them() -> None:
    embedder = embedding.load("e5")
    text = "Where is the key?"
    [document] = await embedder.documents([text])
    assert document @ (await embedder.documents([text]))[0] > 0.999
    assert document @ (await embedder.query(text)) < 0.9
