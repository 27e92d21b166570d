"""A tunnel to a server, typed as a user types it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator

import pytest
from typist import Shell, finish, read_until

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def server(shell: Shell) -> str:
    """A ready server called small; its port."""
    words = shell.make_server()
    assert shell.run("run", "--name", "small", "--", *words).status == 0
    return words[-1]


@pytest.fixture
def opened(shell: Shell, server: str) -> Iterator[tuple[subprocess.Popen[str], dict[str, object]]]:
    """A tunnel to it, and what it said when it was opened."""
    process = shell.start("tunnel", "small", "--json")
    assert process.stdout is not None
    yield process, json.loads(process.stdout.readline())
    if process.poll() is None:
        process.kill()
        process.communicate()


def fetch(url: object) -> int:
    with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
        return int(answer.status)


def test_a_tunnel_leads_to_the_server_and_closes_with_it(
    shell: Shell, server: str, opened: tuple[subprocess.Popen[str], dict[str, object]]
) -> None:
    process, said = opened

    assert said["event"] == "open"
    assert said["server"] == {"address": "127.0.0.1", "port": int(server)}
    assert said["address"] == "127.0.0.1"
    assert said["port"] != int(server)  # that is the server's own, on this machine
    assert [fetch(said["url"]) for _ in range(3)] == [200, 200, 200]

    assert shell.run("stop", "small").status == 0
    closed = finish(process)

    assert closed.status == 0
    assert json.loads(closed.out) == {
        "schema": 1,
        "event": "closed",
        "exit": {"code": 0, "signal": None},
    }
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(str(said["port"]))))


def test_ctrl_c_closes_the_tunnel_alone(shell: Shell, server: str) -> None:
    process = shell.start("tunnel", "small")
    line = read_until(process, "leads to small")

    os.killpg(process.pid, signal.SIGINT)
    left = finish(process)

    assert left.status == 130
    assert "Traceback" not in left.err
    assert line.startswith("http://127.0.0.1:")
    assert json.loads(shell.run("ps", "--json").out)["runs"][0]["name"] == "small"


def test_others_are_let_in_with_a_warning_alone(shell: Shell, server: str) -> None:
    process = shell.start("tunnel", "small", "--bind", "0.0.0.0")
    read_until(process, "leads to small")
    process.terminate()

    left = finish(process)

    assert left.status == 143
    assert left.err.startswith("warning: whoever reaches this machine at 0.0.0.0")


def test_what_cannot_be_listened_at_is_said(shell: Shell, server: str) -> None:
    taken = shell.run("tunnel", "small", "--port", server)

    assert taken.status == 2
    assert f"port {server} of 127.0.0.1 cannot be listened at" in taken.err


def test_a_tunnel_leads_to_the_port_that_is_said(shell: Shell, server: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        said = other.getsockname()[1]
        process = shell.start("tunnel", "small", "--to", str(said), "--json")
        assert process.stdout is not None
        opened = json.loads(process.stdout.readline())
        assert opened["server"]["port"] == said
        with socket.create_connection((opened["address"], opened["port"])):
            other.settimeout(60)
            other.accept()[0].close()


def test_a_server_that_has_ended_has_no_tunnel(shell: Shell, server: str) -> None:
    shell.run("stop", "small")

    ended = shell.run("tunnel", "small")

    assert ended.status == 2
    assert "has ended" in ended.err
