"""Encrypted connections with certificates of the test's own."""

from __future__ import annotations

import asyncio
import datetime as dt
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from speaker import DONE, STREAM, chunk, event, saying, speak

from firedup.core.error import UsageError
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.probe.call import Call
from firedup.probe.client import Client
from firedup.probe.farclient import FarClient
from firedup.probe.tls import Trust
from firedup.probe.url import parse_url

CALL = Call("/v1/completions", b"{}")
WHOLE = STREAM + chunk(event("a", "stop")) + chunk(DONE) + b"0\r\n\r\n"


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A file with a key and a certificate for 127.0.0.1 that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "own.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + made.public_bytes(serialization.Encoding.PEM)
    )
    return path


def serving(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_an_authority_of_ones_own_is_trusted_when_it_is_named(certificate: Path) -> None:
    async with (
        speak(saying(WHOLE), tls=serving(certificate)) as speaker,
        Client(
            parse_url(f"https://127.0.0.1:{speaker.port}"), trust=Trust(ca_file=certificate)
        ) as client,
    ):
        request = await client.complete(CALL)

    assert (request.text, request.error) == ("a", None)


async def test_through_a_tunnel_the_certificate_is_still_that_of_the_servers_own_name(
    certificate: Path,
) -> None:
    tls, trust = serving(certificate), Trust(ca_file=certificate)
    async with speak(saying(WHOLE), tls=tls) as speaker:
        via = ("localhost", speaker.port)
        async with Client(parse_url("https://127.0.0.1"), trust=trust, via=via) as client:
            its_own = await client.complete(CALL)
        async with Client(parse_url("https://elsewhere"), trust=trust, via=via) as client:
            another = await client.complete(CALL)

    assert (its_own.text, its_own.error) == ("a", None)
    assert "Host: 127.0.0.1\r\n" in speaker.heads[0]
    assert another.error is not None
    assert "the certificate of elsewhere is not trusted" in another.error


async def test_a_strange_certificate_is_refused_with_the_two_ways_out(certificate: Path) -> None:
    async with (
        speak(saying(WHOLE), tls=serving(certificate)) as speaker,
        Client(parse_url(f"https://127.0.0.1:{speaker.port}")) as client,
    ):
        request = await client.complete(CALL)

    assert f"the certificate of 127.0.0.1:{speaker.port} is not trusted" in (request.error or "")
    assert "--cacert" in (request.error or "")
    assert "--insecure" in (request.error or "")


async def test_anybody_is_trusted_when_that_is_wanted_and_it_is_said(certificate: Path) -> None:
    trust = Trust(is_blind=True)
    async with (
        speak(saying(WHOLE), tls=serving(certificate)) as speaker,
        Client(parse_url(f"https://127.0.0.1:{speaker.port}"), trust=trust) as client,
    ):
        request = await client.complete(CALL)

    assert request.error is None
    assert "not checked" in (trust.note or "")
    assert Trust().note is None


@asynccontextmanager
async def far(agent: Agent, url: str, trust: Trust | None) -> AsyncIterator[FarClient]:
    client = FarClient(parse_url(url), trust=trust)
    serving = asyncio.ensure_future(client.serve(agent, sys.executable))
    try:
        yield client
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


async def test_a_client_on_a_host_checks_certificates_as_the_one_here(certificate: Path) -> None:
    trusts = Trust(ca_file=certificate), Trust(is_blind=True), None
    found = []
    async with (
        speak(saying(WHOLE), tls=serving(certificate)) as speaker,
        open_agent(local_host()) as agent,
    ):
        for trust in trusts:
            async with far(agent, f"https://127.0.0.1:{speaker.port}", trust) as client:
                found.append(await client.complete(CALL))

    assert [one.text for one in found] == ["a", "a", ""]
    assert "is not trusted" in (found[2].error or "")


def test_only_certificates_are_carried_elsewhere(certificate: Path) -> None:
    carried = Trust(ca_file=certificate).carried()

    assert carried.ca_file is None
    assert carried.pem is not None
    assert carried.pem in certificate.read_text()
    assert "PRIVATE" in certificate.read_text()
    assert "PRIVATE" not in carried.pem


async def test_a_server_without_encryption_is_told_apart() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Client(parse_url(f"https://127.0.0.1:{port}")) as client:
        request = await client.complete(CALL)

    assert (
        request.error == f"127.0.0.1:{port} does not speak TLS; write http:// instead of https://"
    )


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.pem"
    path.write_text("nothing")

    for ca_file in (path, tmp_path / "missing.pem"):
        with pytest.raises(UsageError, match="cannot be used"):
            Client(parse_url("https://box"), trust=Trust(ca_file=ca_file))
