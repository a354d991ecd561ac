"""An emulator of Pinecone's data plane, for tests: no Pinecone server can be had offline.

It is not Pinecone, and a test that passes on it has not passed on Pinecone; `LOUSA_TEST_PINECONE_HOST` runs the suite
of stores on Pinecone Local instead. It speaks real HTTP on a loopback port and is built from the client's own types of
requests and answers, so that a field which changes there breaks it here. From Pinecone's documents it takes: the limits
of a request (2 MB, 1,000 records, 40 KB of metadata, 1,000 ids), filters, error bodies and codes, a log number for
every write and how far a query's index had come, acknowledged writes that show later (settable, for queries and for
fetches), and namespaces that do not exist before their first write. It knows one index, by name, for the look-up of its
host. Its own are the controls of `Emulator`: down and up, slow, refusing, cut connections.

By itself: `PYTHONPATH=tests python -m servers.pinecone --dimension 384 --delay 0.3` prints its address and serves until
it is stopped; `POST /_emulator {"delay": 1, "latency": 0.05, "down": 60}` then sets what the attributes set here.
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import sys
import threading
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec
from pinecone import (
    DenseVectorField,
    DescribeIndexStatsResponse,
    FetchResponse,
    IndexModel,
    IndexSchema,
    IndexStatus,
    ManagedDeployment,
    QueryResponse,
    UpsertResponse,
    Vector,
)
from pinecone.models.vectors.responses import NamespaceSummary

from .pinecone_records import Namespace, Refused, checked, predicate

REQUEST_BYTES, RECORDS, IDS, TOP_K = 2_000_000, 1_000, 1_000, 10_000


@dataclass
class _Fault:
    """What happens to the next requests: `after` of them pass, then `times` are refused, or cut when without status."""

    after: int
    times: int
    status: int | None
    retry_after: float | None


class Emulator:
    """One index; a context manager. Attributes may be changed while it serves."""

    def __init__(
        self,
        *,
        dimension: int = 384,
        metric: str = "cosine",
        index: str = "lousa",
        key: str = "a-key",
        delay: float = 0.0,
    ) -> None:
        self.dimension, self.metric, self.index, self.key = dimension, metric, index, key
        self.delay = delay
        """Seconds from an acknowledgement until queries see the write."""
        self.fetch_delay = delay
        """The same for fetches."""
        self.vector_type = "dense"
        self.latency = 0.0
        """Seconds that every answer takes."""
        self.requests: Counter[str] = Counter()
        """How often each path was asked for."""
        self.largest = 0
        """Bytes of the largest request."""
        self._faults: list[_Fault] = []
        self._spaces: defaultdict[str, Namespace] = defaultdict(Namespace)
        self._lock = threading.Lock()
        self._server: _Server | None = None
        self._port = 0

    def __enter__(self) -> Emulator:
        self.up()
        return self

    def __exit__(self, *_: object) -> None:
        self.down()

    @property
    def host(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """As LOUSA_VECTOR_URL takes it."""
        return f"pinecone://{self.index}?host={self.host}"

    def up(self) -> None:
        """Serve, on the port it had before."""
        if self._server is None:
            self._server = _Server(self, self._port)
            self._port = self._server.server_address[1]
            self._server.begin()

    def down(self) -> None:
        """Close the port and what is connected to it; what it holds stays."""
        server, self._server = self._server, None
        if server is not None:
            server.end()

    def refuse(self, status: int, *, times: int = 10**9, after: int = 0, retry_after: float | None = None) -> None:
        """Answer with an error, instead of doing anything."""
        with self._lock:
            self._faults.append(_Fault(after, times, status, retry_after))

    def cut(self, *, times: int = 1, after: int = 0) -> None:
        """Do what is asked and close the connection without an answer."""
        with self._lock:
            self._faults.append(_Fault(after, times, None, None))

    def mend(self) -> None:
        """No more refusals and cuts."""
        with self._lock:
            self._faults.clear()

    def show(self) -> None:
        """From now on every reader sees all that was written."""
        for space in list(self._spaces.values()):
            space.show()

    def holds(self) -> dict[str, set[str]]:
        """Ids by namespace, with what no query sees yet."""
        return {name: space.ids() for name, space in list(self._spaces.items())}

    def answer(
        self, method: str, target: str, headers: Any, body: bytes
    ) -> tuple[dict[str, Any], dict[str, str]] | None:
        """Body and headers of a success; None to cut the connection. Raises `Refused`."""
        address = urlsplit(target)
        if address.path == "/_emulator":
            return self._controlled(json.loads(body)), {}
        with self._lock:
            self.requests[address.path] += 1
            self.largest = max(self.largest, len(body))
            fault = self._fault()
        if self.latency:
            time.sleep(self.latency)
        if fault is not None and fault.status is not None:
            raise Refused(fault.status, "Request failed: the emulator was told to", 8, fault.retry_after)
        if headers.get("Api-Key") != self.key:
            raise Refused(401, "Invalid API Key", 16)
        if len(body) > REQUEST_BYTES:
            raise Refused(413, f"Request size {len(body)} bytes exceeds the maximum of {REQUEST_BYTES} bytes")
        found = self._route(method, address.path, parse_qs(address.query), json.loads(body) if body else {})
        return None if fault is not None else found

    def _fault(self) -> _Fault | None:
        """The fault that meets this request, if one does."""
        for fault in self._faults:
            if fault.after > 0:
                fault.after -= 1
            elif fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def _route(
        self, method: str, path: str, query: dict[str, list[str]], body: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        match method, path:
            case "POST", "/vectors/upsert":
                return self._upsert(**body)
            case "POST", "/vectors/delete":
                return self._delete(**body)
            case "POST", "/query":
                return self._query(**body)
            case "GET", "/vectors/fetch":
                return self._fetch(query.get("ids", []), *query.get("namespace", []))
            case "POST", "/describe_index_stats":
                return self._stats()
            case "GET", _ if path.startswith("/indexes/"):
                return self._described(unquote(path.removeprefix("/indexes/")))
            case _:
                raise Refused(404, f"{method} {path} is not emulated", 5)

    def _upsert(self, vectors: list[Any], namespace: str = "") -> tuple[dict[str, Any], dict[str, str]]:
        if not 1 <= len(vectors) <= RECORDS:
            raise Refused(400, f"Number of vectors {len(vectors)} must be 1 to {RECORDS}")
        try:
            taken = [checked(vector, self.dimension) for vector in msgspec.convert(vectors, list[Vector])]
        except msgspec.ValidationError as error:
            raise Refused(400, str(error)) from error
        number = self._space(namespace, make=True).write(**self._delays, records=taken)
        return _told(UpsertResponse(upserted_count=len(taken))), {"x-pinecone-request-lsn": str(number)}

    def _delete(
        self, namespace: str = "", ids: list[str] | None = None, deleteAll: bool = False
    ) -> tuple[dict[str, Any], dict[str, str]]:
        if (ids is None) is not deleteAll:
            raise Refused(400, "Exactly one of ids and deleteAll is expected")
        if ids is not None and not 1 <= len(ids) <= IDS:
            raise Refused(400, f"Number of ids {len(ids)} must be 1 to {IDS}")
        number = self._space(namespace).write(**self._delays, ids=ids or (), everything=deleteAll)
        return {}, {"x-pinecone-request-lsn": str(number)}

    def _query(
        self,
        topK: int,
        vector: list[float],
        namespace: str = "",
        filter: Any = None,
        includeValues: bool = False,
        includeMetadata: bool = False,
    ) -> tuple[dict[str, Any], dict[str, str]]:
        if not 1 <= topK <= TOP_K:
            raise Refused(400, f"top_k {topK} must be 1 to {TOP_K}")
        if len(vector) != self.dimension:
            raise Refused(
                400, f"Vector dimension {len(vector)} does not match the dimension of the index {self.dimension}"
            )
        if includeValues:
            raise Refused(400, "includeValues is not emulated")
        wanted = predicate(filter) if filter is not None else None
        if namespace not in self._spaces:
            return _told(QueryResponse(namespace=namespace)), {}
        matches, reached = self._spaces[namespace].query(vector, wanted, topK, self.metric)
        for match in matches:
            match.metadata = match.metadata if includeMetadata else None
        return _told(QueryResponse(matches=matches, namespace=namespace)), {"x-pinecone-max-indexed-lsn": str(reached)}

    def _fetch(self, ids: list[str], namespace: str = "") -> tuple[dict[str, Any], dict[str, str]]:
        if not 1 <= len(ids) <= IDS:
            raise Refused(400, f"Number of ids {len(ids)} must be 1 to {IDS}")
        found = self._spaces[namespace].fetch(ids) if namespace in self._spaces else {}
        return _told(FetchResponse(vectors=found, namespace=namespace)), {}

    def _stats(self) -> tuple[dict[str, Any], dict[str, str]]:
        counts = {name: space.count() for name, space in list(self._spaces.items())}
        return _told(
            DescribeIndexStatsResponse(
                namespaces={name: NamespaceSummary(vector_count=count) for name, count in counts.items()},
                dimension=self.dimension,
                total_vector_count=sum(counts.values()),
                metric=self.metric,
                vector_type=self.vector_type,
            )
        ), {}

    def _described(self, name: str) -> tuple[dict[str, Any], dict[str, str]]:
        if name != self.index:
            raise Refused(404, f"Resource {name} not found", 5)
        values = DenseVectorField(dimension=self.dimension, metric=self.metric)
        model = IndexModel(
            name=name,
            status=IndexStatus(ready=True, state="Ready"),
            schema=IndexSchema(fields={"_values": values}),
            deployment=ManagedDeployment(cloud="aws", region="us-east-1"),
            deletion_protection="disabled",
            host=self.host,
        )
        return _told(model), {}

    def _controlled(self, told: dict[str, float]) -> dict[str, Any]:
        for name in told.keys() & {"delay", "fetch_delay", "latency"}:
            setattr(self, name, told[name])
        if "down" in told:
            threading.Thread(target=self._away, args=(told["down"],), daemon=True).start()
        return {}

    def _away(self, seconds: float) -> None:
        self.down()
        time.sleep(seconds)
        self.up()

    @property
    def _delays(self) -> dict[str, float]:
        return {"query_delay": self.delay, "fetch_delay": self.fetch_delay}

    def _space(self, name: str, *, make: bool = False) -> Namespace:
        with self._lock:  # two first writes of a namespace make one
            if not make and name not in self._spaces:
                raise Refused(404, "Namespace not found", 5)
            return self._spaces[name]


def _told(answer: msgspec.Struct) -> dict[str, Any]:
    """An answer as it travels: what is not set is not sent."""
    sent: dict[str, Any] = msgspec.to_builtins(answer)
    return {name: value for name, value in sent.items() if value is not None and name != "responseInfo"}


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message, "details": []}


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that the end waits for them
    request_queue_size = 128

    def __init__(self, emulator: Emulator, port: int) -> None:
        self.emulator = emulator
        self._connected: set[socket.socket] = set()
        super().__init__(("127.0.0.1", port), _Handler)
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), name="pinecone-emulator")

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self.shutdown()
        self._thread.join()
        for connection in list(self._connected):
            with suppress(OSError):  # the other side was quicker
                connection.shutdown(socket.SHUT_RDWR)
        self.server_close()

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        self._connected.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        self._connected.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that went away is no error of ours
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride] - always ours

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told: dict[str, Any]
        headers: dict[str, str] = {}
        try:
            answered = self.server.emulator.answer(self.command, self.path, self.headers, body)
            if answered is None:
                self.close_connection = True
                return
            status, (told, headers) = 200, answered
        except Refused as refused:
            status = refused.status
            told = _error(refused.code, refused.message)
            if refused.retry_after is not None:
                headers = {"Retry-After": str(math.ceil(refused.retry_after))}
        except (TypeError, ValueError, KeyError) as error:
            status, told = 400, _error(3, f"malformed request: {error}")
        sent = json.dumps(told).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(sent))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)
        self.wfile.flush()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def log_message(self, format: str, *args: Any) -> None:
        return  # a test's output is its own


def main() -> None:
    options = argparse.ArgumentParser(description="an emulator of Pinecone's data plane, for tests")
    options.add_argument("--dimension", type=int, default=384)
    options.add_argument("--metric", default="cosine")
    options.add_argument("--index", default="lousa")
    options.add_argument("--key", default="a-key")
    options.add_argument("--delay", type=float, default=0.0)
    with Emulator(**vars(options.parse_args())) as emulator, suppress(KeyboardInterrupt):
        print(emulator.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
