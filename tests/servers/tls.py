"""TLS before a server that speaks none, as a load balancer would: with certificates made for the test.

A client without a certificate is refused; who does not begin with TLS passes plain, as Sentinels and replicas do.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HOST = "127.0.0.1"


@dataclass
class Tls:
    """What speaks TLS before a server, and the files that a client needs."""

    port: int
    authority: Path
    certificate: Path
    key: Path

    @property
    def options(self) -> str:
        return f"?ssl_ca_certs={self.authority}&ssl_certfile={self.certificate}&ssl_keyfile={self.key}"


@asynccontextmanager
async def speaking_tls(ports: Sequence[int], folder: Path) -> AsyncGenerator[list[Tls]]:
    """TLS before each of these ports, for clients that show a certificate; who does not begin with TLS passes plain."""
    authority, certificate, key = _certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.load_verify_locations(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    async with asyncio.TaskGroup() as tasks:
        found: list[Tls] = []
        listeners: list[asyncio.Task[None]] = []
        for port in ports:
            listener = socket.create_server((HOST, 0))
            listener.setblocking(False)
            listeners.append(tasks.create_task(_accept(listener, port, context)))
            found.append(Tls(listener.getsockname()[1], authority, certificate, key))
        try:
            yield found
        finally:
            for task in listeners:
                task.cancel()


async def _accept(listener: socket.socket, port: int, context: ssl.SSLContext) -> None:
    loop, serving = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    try:
        while True:
            client, _ = await loop.sock_accept(listener)
            serving.add(task := asyncio.create_task(_serve(client, port, context)))
            task.add_done_callback(serving.discard)
    finally:
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        listener.close()


async def _serve(client: socket.socket, port: int, context: ssl.SSLContext) -> None:
    loop, readable = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(client, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(client)
    with contextlib.suppress(OSError):
        tls = client.recv(1, socket.MSG_PEEK) == b"\x16"
        reader = asyncio.StreamReader()
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, client, ssl=context if tls else None)
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        to_reader, to_writer = await asyncio.open_connection(HOST, port)
        try:
            await asyncio.gather(_pass(reader, to_writer), _pass(to_reader, writer))
        finally:
            transport.abort()
            to_writer.transport.abort()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            writer.write(part)
            await writer.drain()
    writer.close()


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, and a certificate of it with its key, good for this machine and for a client."""
    now = datetime.now(UTC)
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    names = [x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("lousa tests", "localhost")]
    paths = tuple(folder / name for name in ("authority.pem", "certificate.pem", "key.pem"))
    for name, key, extension, path in zip(
        names,
        keys,
        (
            x509.BasicConstraints(ca=True, path_length=None),
            x509.SubjectAlternativeName([x509.DNSName("localhost"), x509.IPAddress(ip_address(HOST))]),
        ),
        paths,
        strict=False,
    ):
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(names[0])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(extension, critical=True)
            .sign(keys[0], hashes.SHA256())
        )
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    paths[2].write_bytes(
        keys[1].private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths[0], paths[1], paths[2]
