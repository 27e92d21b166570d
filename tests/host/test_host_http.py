import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from firedup.host.agent import web
from firedup.host.base import OperationError, local_host
from firedup.host.file import read_file
from firedup.host.http import KeySource, fetch_http
from firedup.host.launch import launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Manifest

LIMIT_S = 100.0

SERVER = """
import json, sys, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size).decode()
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "/health")
            self.end_headers()
            return
        if self.path == "/big":
            data = b"x" * 100000
        else:
            data = json.dumps({"method": self.command, "path": self.path, "body": body,
                               "key": self.headers.get("Authorization")}).encode()
        self.send_response(200 if self.path != "/busy" else 503)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    do_GET = do_POST = answer
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@asynccontextmanager
async def serving(*words: str, env: dict[str, str] | None = None) -> AsyncIterator[tuple[int, int]]:
    """(pid, port) of an HTTP server with `words` on its command line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, *words, stdout=asyncio.subprocess.PIPE, env=env
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(LIMIT_S):
            port = int(await process.stdout.readline())
        yield process.pid, port
    finally:
        process.kill()
        await process.wait()


async def test_an_answer_has_status_headers_and_body(agent: Agent) -> None:
    async with serving() as (_, port):
        answer = await fetch_http(
            agent,
            port,
            "/v1/completions",
            method="POST",
            body='{"prompt": "é"}',
            headers={"A": "b"},
        )

    assert (answer.status, answer.reason) == (200, "OK")
    said = json.loads(answer.body)
    assert (said["method"], said["path"], said["body"]) == (
        "POST",
        "/v1/completions",
        '{"prompt": "é"}',
    )
    assert answer.headers["Content-Length"] == str(len(answer.body))
    assert not answer.has_key
    assert 0 < answer.first_byte_s <= answer.seconds


async def test_a_status_of_failure_is_an_answer(agent: Agent) -> None:
    async with serving() as (_, port):
        assert (await fetch_http(agent, port, "/busy")).status == 503


async def test_a_redirect_is_not_followed(agent: Agent) -> None:
    async with serving() as (_, port):
        answer = await fetch_http(agent, port, "/away")

    assert (answer.status, answer.headers["Location"]) == (302, "/health")


async def test_a_proxy_is_not_used(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with serving() as (_, port), open_agent(local_host()) as other:
        assert (await fetch_http(other, port, "/health")).status == 200


async def test_a_long_body_is_cut(agent: Agent) -> None:
    async with serving() as (_, port):
        cut = await fetch_http(agent, port, "/big", max_bytes=1000)
        whole = await fetch_http(agent, port, "/big", max_bytes=100000)

    assert (len(cut.body), cut.is_cut) == (1000, True)
    assert (len(whole.body), whole.is_cut) == (100000, False)


@pytest.mark.parametrize(
    "words",
    [
        ("--api-key", "s3cret"),
        ("--api-key=s3cret",),
        ("--api_key", "s3cret"),
        ("--api_key=s3cret",),
        ("--api-k", "s3cret"),
        ("--api-key", "old", "--api-key", "s3cret"),
        ("--api-key", "s3cret", "second", "--port", "1"),
        ("--api-key", "s3cret,second"),
    ],
)
async def test_the_key_is_taken_from_the_servers_command(
    agent: Agent, words: tuple[str, ...]
) -> None:
    async with serving(*words) as (pid, port):
        source = KeySource(pid=pid, separator=",", abbreviates=True)
        answer = await fetch_http(agent, port, "/", key_from=source)

    assert json.loads(answer.body)["key"] == "Bearer s3cret"
    assert answer.has_key


async def test_the_key_is_taken_from_the_servers_environment(agent: Agent) -> None:
    source = KeySource(env=("NONE", "SERVER_KEY"), separator=",")
    async with serving(env={"SERVER_KEY": "one,two"}) as (pid, port):
        answer = await fetch_http(
            agent, port, "/", key_from=KeySource(pid=pid, env=source.env, separator=",")
        )

    assert json.loads(answer.body)["key"] == "Bearer one"


async def test_the_key_is_taken_from_a_runs_manifest(agent: Agent, tmp_path: Path) -> None:
    manifest = {"argv": ["server"], "env": {"VLLM_API_KEY": "k"}}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    async with serving() as (_, port):
        source = KeySource(run=str(tmp_path), env=("VLLM_API_KEY",))
        answer = await fetch_http(agent, port, "/", key_from=source)

    assert json.loads(answer.body)["key"] == "Bearer k"


@pytest.mark.parametrize("setup", [None, "export SERVER_KEY=inherited"])
async def test_the_key_is_taken_from_what_a_runs_server_found_in_its_environment(
    state: Path, monkeypatch: pytest.MonkeyPatch, setup: str | None
) -> None:
    if setup is None:
        monkeypatch.setenv("SERVER_KEY", "inherited")
    async with open_agent(local_host()) as agent:
        manifest = Manifest("one", "a", (sys.executable, "-c", SERVER), setup=setup)
        launched = await launch_server(agent, manifest)
        async with asyncio.timeout(LIMIT_S):
            while not (text := await read_file(agent, launched.log)).endswith(b"\n"):
                await agent.call("clock")
        source = KeySource(run=launched.folder, env=("SERVER_KEY",))
        answer = await fetch_http(agent, int(text), "/", key_from=source)

    assert json.loads(answer.body)["key"] == "Bearer inherited"


async def test_a_file_that_the_command_names_holds_the_key(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("first\nsecond\n")
    manifest = {"argv": ["server", "--api-key-file", "keys"], "cwd": str(tmp_path)}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    async with serving() as (_, port):
        source = KeySource(run=str(tmp_path), file_options=("--api-key-file",))
        answer = await fetch_http(agent, port, "/", key_from=source)

    assert json.loads(answer.body)["key"] == "Bearer first"


async def test_the_key_is_taken_from_a_file(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "keys").write_text("first\nsecond\n")
    async with serving() as (_, port):
        source = KeySource(file=str(tmp_path / "keys"))
        answer = await fetch_http(agent, port, "/", key_from=source)

    assert json.loads(answer.body)["key"] == "Bearer first"


async def test_a_server_without_a_key_is_asked_without_one(agent: Agent) -> None:
    async with serving() as (pid, port):
        answer = await fetch_http(agent, port, "/", key_from=KeySource(pid=pid))

    assert json.loads(answer.body)["key"] is None
    assert not answer.has_key


async def test_a_port_where_nobody_listens_is_refused(agent: Agent) -> None:
    async with serving() as (_, port):
        pass
    with pytest.raises(OperationError, match=r"nothing listens at 127\.0\.0\.1") as caught:
        await fetch_http(agent, port, "/")

    assert caught.value.code == "refused"


@contextmanager
def answering(data: bytes) -> Iterator[int]:
    """The port of a server that sends `data` and then keeps the connection open."""
    with ExitStack() as connections, socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            with suppress(OSError):  # the listener is shut down, or a client has gone
                while True:
                    connection, _ = listener.accept()
                    connections.enter_context(connection).sendall(data)

        thread = Thread(target=answer)
        thread.start()
        try:
            yield int(listener.getsockname()[1])
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"])
async def test_a_server_that_does_not_finish_is_left_in_time(agent: Agent, data: bytes) -> None:
    late = pytest.raises(OperationError, match=r"did not answer within 0\.2 s")
    with answering(data) as port, late as caught:
        await fetch_http(agent, port, "/", timeout_s=0.2)

    assert caught.value.code == "timeout"


async def test_what_is_no_http_is_said(agent: Agent) -> None:
    stranger = answering(b"SSH-2.0-OpenSSH_9\r\n")
    with stranger as port, pytest.raises(OperationError, match="no HTTP") as caught:
        await fetch_http(agent, port, "/")

    assert caught.value.code == "http"


async def test_a_request_can_be_given_up(agent: Agent) -> None:
    threads = Path(f"/proc/{agent.hello['pid']}/task")
    before = len(list(threads.iterdir()))
    with answering(b"") as port:
        stream = agent.open("http", host="127.0.0.1", port=port, path="/", limit_s=60)
        await agent.call("clock")
        during = len(list(threads.iterdir()))
        stream.close()
        async with asyncio.timeout(LIMIT_S):
            while len(list(threads.iterdir())) > before:
                await agent.call("clock")

    assert during == before + 1


class Vanishing:
    """A connection whose thread closes it between two looks."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.looks = 0

    @property
    def sock(self) -> socket.socket | None:
        self.looks += 1
        return self._sock if self.looks == 1 else None


def test_a_request_that_closes_while_it_is_given_up_does_no_harm() -> None:
    with socket.socket() as sock:
        link = Vanishing(sock)
        web._cut(link)

    assert link.looks == 1
