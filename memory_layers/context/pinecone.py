"""Pinecone as the store of layer 2's vectors.

One index holds every tenant: a namespace a tenant, so that a question never meets another's vectors. The embedder's
fingerprint and the generation are part of the namespace's name, so that a change of model, or a rebuild, fills a second
set beside the first, and the old one can be cleared afterwards. A record holds its kind, its marks of circles and its
id; all three are filtered in Pinecone, before ranking.

**Freshness.** Pinecone acknowledges a write before a query finds it, and a fetch sees it at another time than a query
does. So `shown` asks a query: which of these ids does the filter find? A record that replaced another is found in its
old form meanwhile; against that, a write's place in the namespace's log is remembered, and `shown` waits until a query
says that its index has come so far. Only the process that wrote knows the place, and only for a minute, after which
Pinecone has caught up or forgotten: then being found is enough.

**Failure.** The client retries by itself, and obeys `Retry-After` for up to a minute and a half; a question cannot wait
that long, so every request has a time of its own here, after which the store counts as away. A namespace that did not
answer is not asked for a second, so that in an outage one question a second waits, and not each; by namespace, because
Pinecone throttles by namespace. A key that is refused, or a quota that is used up, counts as away too: it is not about
what was given, and the debts wait.

**Cancelling.** A request that is cancelled, or times out, while it waits for a connection costs the HTTP client
(httpcore 1.0) a place in its pool for good. So questions queue here, fewer at a time than the pool has places, and one
that is given up leaves its request running for a moment. A write is cancelled: none shall arrive after a later removal.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, quote, urlsplit
from uuid import UUID

from ...infra.errors import BadInput, ServerUnavailable, SettingsError, WrongTenant
from .pinecone_records import RECORDS, batches, forms, numbers
from .remote import Point, StoreCapabilities

if TYPE_CHECKING:
    from pinecone import AsyncIndex, AsyncPinecone, Vector

    from ..embedding import Embedder, Vectors

T = TypeVar("T")

READING, WRITING, STARTING = 2.0, 30.0, 10.0
"""Seconds that one request may take, with the client's own retries."""
LEFT_ALONE = 1.0
"""Seconds for which a namespace that did not answer is not asked."""
_LONG = 0.25
_LEFT_RUNNING = 4.0
_AT_ONCE, _CONNECTIONS = 50, 100

_MOST_FOUND = 10_000
_NAMESPACE = 512
_REMEMBERED, _CATCHING_UP = 20_000, 60.0
_AWAY = frozenset({401, 402, 403, 404, 408, 409, 412, 429})  # besides 5xx: about us or the moment, not about the input


class _Written(NamedTuple):
    """A write that may not show yet."""

    place: int
    at: float
    content: int


class PineconeStore:
    """Vectors of one embedder in an index of Pinecone. Satisfies `VectorStore`.

    The API key is read by the client, from PINECONE_API_KEY.
    """

    capabilities = StoreCapabilities(eventual=True, counts=True)

    def __init__(self, url: str, embedder: Embedder, *, generation: int = 0) -> None:
        self._name, self._host = _address(url)
        self._model = embedder.name
        self._dimensions = embedder.dimensions
        self._space = f"{embedder.fingerprint}.{generation}"
        self._opened: AsyncIndex | None = None
        self._written: OrderedDict[tuple[str, str], _Written] = OrderedDict()
        self._silent: dict[str, float] = {}
        """Until when a namespace that did not answer is left alone."""
        self._asking: set[asyncio.Task[Any]] = set()
        self._places = asyncio.Semaphore(_AT_ONCE)

    @property
    def name(self) -> str:
        """Index and host as the address has them, model and generation."""
        host = f"?host={_bare(self._host)}" if self._host else ""
        return f"pinecone://{self._name}{host}#{self._space}"

    async def start(self, stack: AsyncExitStack) -> None:
        _installed()
        from pinecone import AsyncPinecone
        from pinecone.errors.exceptions import ForbiddenError, NotFoundError, PineconeValueError, UnauthorizedError

        at = f" at {self._host!r}" if self._host else ""
        try:
            client = AsyncPinecone(timeout=STARTING, connection_pool_maxsize=_CONNECTIONS)
            stack.push_async_callback(client.close)
            opened = await self._open(client)
            stack.push_async_callback(opened.close)
            stack.push_async_callback(self._ask_no_more)
            self._opened = opened
            found = await _within(STARTING, f"describing index {self._name!r}{at}", opened.describe_index_stats())
        except ServerUnavailable as error:
            if isinstance(error.__cause__, (ForbiddenError, UnauthorizedError)):
                raise SettingsError(f"{self._name!r} of Pinecone refuses the key in PINECONE_API_KEY") from error
            if isinstance(error.__cause__, NotFoundError):
                raise SettingsError(f"Pinecone has no index {self._name!r}: {self._way_out()}") from error
            raise
        except (PineconeValueError, BadInput) as error:
            if str(error).startswith("No API key"):
                said = "LOUSA_VECTOR_URL names Pinecone, whose key is not set: put it into PINECONE_API_KEY"
                raise SettingsError(said) from error
            raise SettingsError(f"LOUSA_VECTOR_URL cannot be used: {error} (the key is PINECONE_API_KEY)") from error
        self._check(found.dimension, found.metric, found.vector_type)

    async def put(self, tenant: str, points: Sequence[Point]) -> None:
        namespace = self._namespace(tenant)
        for batch in batches(points):
            answer = await _within(WRITING, "storing vectors", self._index.upsert(vectors=batch, namespace=namespace))
            place = answer.response_info.lsn_committed if answer.response_info else None
            self._remember(namespace, batch, place)

    async def remove(self, tenant: str, ids: Collection[UUID]) -> None:
        namespace = self._namespace(tenant)
        for some in _chunks([str(identifier) for identifier in ids]):
            await self._delete(self._index.delete(ids=some, namespace=namespace))
            for identifier in some:
                self._written.pop((namespace, identifier), None)

    async def nearest(
        self, tenant: str, vector: Vectors, *, circles: Collection[str], kinds: Collection[str], k: int
    ) -> list[tuple[UUID, float]]:
        if not circles or k < 1:
            return []
        wanted: dict[str, object] = {"circles": {"$in": sorted({s for c in circles for s in forms(c)})}}
        if kinds:
            wanted["kind"] = {"$in": sorted(kinds)}
        found, _ = await self._find(self._namespace(tenant), numbers(vector), wanted, k)
        return [(UUID(identifier), min(1.0, max(-1.0, score))) for identifier, score in found]

    async def shown(self, tenant: str, ids: Collection[UUID]) -> set[UUID]:
        namespace = self._namespace(tenant)
        anywhere = [1.0] + [0.0] * (self._dimensions - 1)
        shown: set[UUID] = set()
        for some in _chunks([str(identifier) for identifier in ids]):
            found, reached = await self._find(namespace, anywhere, {"id": {"$in": some}}, len(some))
            since = time.monotonic() - _CATCHING_UP
            for identifier, _ in found:
                written = self._written.get((namespace, identifier))
                if written is None or reached is None or reached >= written.place or written.at < since:
                    self._written.pop((namespace, identifier), None)
                    shown.add(UUID(identifier))
        return shown

    async def count(self, tenant: str) -> int | None:
        found = await self._asked("counting its vectors", lambda: self._index.describe_index_stats(timeout=READING))
        held = found.namespaces.get(self._namespace(tenant))
        return held.vector_count if held is not None else 0

    async def clear(self, tenant: str) -> None:
        namespace = self._namespace(tenant)
        await self._delete(self._index.delete(delete_all=True, namespace=namespace))
        for key in [key for key in self._written if key[0] == namespace]:
            del self._written[key]

    @property
    def _index(self) -> AsyncIndex:
        assert self._opened is not None, "start() comes first"
        return self._opened

    async def _open(self, client: AsyncPinecone) -> AsyncIndex:
        if self._host:
            return await client.index(host=self._host)
        return await _within(STARTING, f"looking up index {self._name!r}", client.index(name=self._name))

    async def _find(
        self, namespace: str, vector: list[float], wanted: dict[str, object], k: int
    ) -> tuple[list[tuple[str, float]], int | None]:
        """Ids with scores, and how far the index had come that was asked."""
        if time.monotonic() < self._silent.get(namespace, 0.0):
            raise ServerUnavailable("Pinecone did not answer a moment ago")
        begun = time.monotonic()
        most = min(k, _MOST_FOUND)
        try:
            answer = await self._asked(
                "asking for vectors",
                lambda: self._index.query(
                    top_k=most, vector=vector, namespace=namespace, filter=wanted, timeout=READING
                ),
            )
        except (ServerUnavailable, asyncio.CancelledError) as error:
            if _no_namespace(error.__cause__):
                return [], None
            # Whoever asked may have given up first, at a deadline of its own.
            if isinstance(error, ServerUnavailable) or time.monotonic() - begun > _LONG:
                self._silent[namespace] = time.monotonic() + LEFT_ALONE
            raise
        self._silent.pop(namespace, None)
        place = answer.response_info.lsn_reconciled if answer.response_info else None
        return [(match.id, match.score) for match in answer.matches], place

    async def _asked(self, doing: str, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        return await _within(READING, doing, self._let_run(ask))

    async def _let_run(self, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer to a question, which runs on for a moment when nobody waits for it any more."""
        await self._places.acquire()
        asking = asyncio.create_task(ask())
        self._asking.add(asking)
        asking.add_done_callback(self._answered)
        try:
            return await asyncio.shield(asking)
        finally:
            if not asking.done():
                asyncio.get_running_loop().call_later(_LEFT_RUNNING, asking.cancel)

    def _answered(self, asking: asyncio.Task[Any]) -> None:
        self._asking.discard(asking)
        self._places.release()
        if not asking.cancelled():
            asking.exception()  # perhaps nobody is left to hear of it

    async def _ask_no_more(self) -> None:
        asking = [*self._asking]
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    async def _delete(self, deleting: Awaitable[None]) -> None:
        try:
            await _within(WRITING, "removing vectors", deleting)
        except ServerUnavailable as error:
            if not _no_namespace(error.__cause__):
                raise

    def _remember(self, namespace: str, batch: Sequence[Vector], place: int | None) -> None:
        """Where in the log these were written; what is only written again is shown as soon as it was the first time."""
        now = time.monotonic()
        for vector in batch:
            before = self._written.pop((namespace, vector.id), None)
            if place is None:
                continue
            content = hash((tuple(vector.values), str(vector.metadata)))
            if before is None or before.content != content:
                before = _Written(place, now, content)
            self._written[namespace, vector.id] = before
        while len(self._written) > _REMEMBERED:
            self._written.popitem(last=False)

    def _namespace(self, tenant: str) -> str:
        """Printable ASCII, and no two tenants in one: what would be too long is told apart by a digest."""
        if not tenant:
            raise WrongTenant("a tenant needs a name")
        plain = f"{self._space}:{quote(tenant, safe='')}"
        if len(plain) <= _NAMESPACE:
            return plain
        return f"{self._space}*{hashlib.sha256(tenant.encode()).hexdigest()}"

    def _check(self, dimensions: int | None, metric: str | None, kind: str | None) -> None:
        if kind == "sparse" or dimensions is None:
            raise SettingsError(f"Pinecone's index {self._name!r} holds no dense vectors: {self._way_out()}")
        if dimensions != self._dimensions:
            raise SettingsError(
                f"Pinecone's index {self._name!r} holds vectors of {dimensions} numbers, and {self._model} makes"
                f" {self._dimensions}: {self._way_out()}, or set LOUSA_EMBEDDER to the model it was made for"
            )
        # A vector has length 1, so the product is the cosine; distances are no cosines.
        if metric is not None and metric.lower() not in {"cosine", "dotproduct"}:
            raise SettingsError(
                f"Pinecone's index {self._name!r} measures by {metric!r}, expected 'cosine': {self._way_out()}"
            )

    def _way_out(self) -> str:
        return (
            f"make an index with dimension={self._dimensions} and metric='cosine' (docs/vector-stores.md shows how)"
            " and name it in LOUSA_VECTOR_URL"
        )


async def _within(seconds: float, doing: str, request: Awaitable[T]) -> T:
    """The answer, or an error of ours; the client's own is its cause."""
    from pinecone.errors.exceptions import (
        ApiError,
        PineconeConnectionError,
        PineconeError,
        PineconeTimeoutError,
        ResponseParsingError,
    )

    try:
        async with asyncio.timeout(seconds):
            return await request
    except (TimeoutError, PineconeTimeoutError) as error:
        raise ServerUnavailable(f"Pinecone did not answer in time: {doing}") from error
    except (PineconeConnectionError, ResponseParsingError) as error:
        raise ServerUnavailable(f"Pinecone is not to be reached: {doing}") from error
    except ApiError as error:
        if error.status_code in _AWAY or error.status_code >= 500:
            raise ServerUnavailable(f"Pinecone refuses for now ({error.status_code}): {doing}") from error
        raise BadInput(f"Pinecone refuses what it was given ({error.status_code}), {doing}: {error}") from error
    except PineconeError as error:
        raise BadInput(f"Pinecone's client refuses what it was given, {doing}: {error}") from error


def _no_namespace(cause: BaseException | None) -> bool:
    """Whether an answer 404 says that a namespace holds nothing yet, and not that the index is gone."""
    from pinecone.errors.exceptions import NotFoundError

    return isinstance(cause, NotFoundError) and "namespace" in str(cause).lower()


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    return (ids[start : start + RECORDS] for start in range(0, len(ids), RECORDS))


def _address(url: str) -> tuple[str, str]:
    """Index and host of an address; the address is not shown in errors where somebody put a key into it."""
    told = urlsplit(url)
    if told.username is not None or told.password is not None:
        raise SettingsError("LOUSA_VECTOR_URL holds a name or a key: a key belongs in PINECONE_API_KEY")
    options = dict(parse_qsl(told.query))
    host = options.get("host", "")
    if (
        told.scheme != "pinecone"
        or not told.netloc
        or told.path.strip("/")
        or told.fragment
        or options.keys() - {"host"}
        or ("://" in host and not host.startswith(("https://", "http://")))
    ):
        raise SettingsError("LOUSA_VECTOR_URL cannot be used: expected pinecone://INDEX or pinecone://INDEX?host=HOST")
    return told.netloc, host


def _bare(host: str) -> str:
    return host.removeprefix("https://").rstrip("/")


def _installed() -> None:
    if find_spec("pinecone") is None:
        raise SettingsError(
            "LOUSA_VECTOR_URL names Pinecone, whose client is not installed: pip install 'lousa[pinecone]'"
        )
