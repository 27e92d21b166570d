"""One run on two hosts behind SSH, and tunnels to it, typed as a user types them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from port import free_port
from typist import READY, Outcome, Shell, finish, read_until

from firedup.testing.program import make_program
from firedup.testing.script import End, Script, line
from tests.ssh_server import KINDS, Boxes, SshBox

pytestmark = pytest.mark.timeout(240)
WAIT_S = 100.0


@dataclass(frozen=True)
class Pair:
    """Two hosts called box1 and box2, and a shell to reach them from."""

    shell: Shell
    first: SshBox
    second: SshBox

    def program(self, name: str, script: Script = READY) -> str:
        folder = self.shell.folder / name
        folder.mkdir()
        return str(make_program(folder, "llama-server", script))

    def write_nodes(self, first: Script = READY, second: Script = READY) -> str:
        """A file of nodes, the hosts written in two ways."""
        tables = "".join(
            f'[[node]]\nhost = "{host}"\naddress = "10.0.0.1"\n'
            f'command = ["{self.program(name, script)}", "--port", "{free_port()}"]\n'
            for host, name, script in (("box1", "p1", first), ("ssh:box2", "p2", second))
        )
        (self.shell.folder / "nodes.toml").write_text(f'name = "pair"\n{tables}')
        return "nodes.toml"

    def rows(self, *words: str) -> list[dict[str, object]]:
        listed = self.shell.run("ps", "--json", "--host", "box1", "--host", "box2", *words)
        assert listed.status == 0, listed.err
        return sorted(json.loads(listed.out)["runs"], key=lambda row: row["node"])

    def stop(self) -> Outcome:
        return self.shell.run("stop", "pair", "--host", "ssh:box2", "--json")


@pytest.fixture(params=KINDS)
def pair(request: pytest.FixtureRequest, shell: Shell, ssh_boxes: Boxes) -> Pair:
    return Pair(shell, *(ssh_boxes(name, kind=request.param) for name in ("box1", "box2")))


def test_a_run_on_two_hosts_is_launched_found_attached_to_restarted_and_stopped(
    pair: Pair,
) -> None:
    shell = pair.shell

    run = shell.run("run", "--nodes", pair.write_nodes(), "--json")

    assert (run.status, run.err) == (0, "")
    result = json.loads(run.out.splitlines()[-1])
    assert [(n["host"], n["rank"]) for n in result["nodes"]] == [("box1", 0), ("box2", 1)]
    assert all(node["uncertainty_s"] > 0 for node in result["nodes"])
    assert all(Path(n["log"]).is_relative_to(b.state) for n, b in zip(  # each on its own host
        result["nodes"], (pair.first, pair.second), strict=True
    ))  # fmt: skip
    assert [(row["host"], row["node"]) for row in pair.rows()] == [("box1", 0), ("box2", 1)]
    # Only the head's host is known of a run, whichever node somebody asks for.
    attached = shell.run("attach", "pair")
    assert attached.status == 0
    assert attached.err == "pair is on box1\n"
    assert shell.run("logs", "pair", "--node", "1", "--path").out.startswith("box2:")

    again = shell.run("restart", "pair", "--host", "box2", "--json", "--", "--parallel", "4")
    begun, *_, ended = [json.loads(row) for row in again.out.splitlines()]
    assert again.status == 0
    assert begun["changes"] == [{"name": "--parallel", "old": None, "new": "4"}]
    assert ended["verdict"] == "ready"

    stopped = [json.loads(row) for row in pair.stop().out.splitlines()]
    assert [(one["run"]["host"], one["node"], one["stopped"]) for one in stopped] == [
        ("box1", 0, True),
        ("box2", 1, True),
    ]
    assert [row["state"] for row in pair.rows("--all")] == ["exited"] * 4


def test_a_host_that_is_cut_off_while_it_loads_does_not_end_the_run(pair: Pair) -> None:
    slow = replace(READY, pieces=READY.pieces[:2], http=Script().http)
    watch = pair.shell.start("run", "--nodes", pair.write_nodes(READY, slow), "--until", "exit")
    seen = read_until(watch, "node box2: load-weights")
    assert "on box1" in seen

    pair.second.kill_sessions()
    pair.first.kill_sessions()
    read_until(watch, "link is up again")
    os.killpg(watch.pid, signal.SIGINT)
    left = finish(watch)

    assert left.status == 130
    assert "The server goes on." in left.err
    assert [row["state"] for row in pair.rows()] != ["exited", "exited"]
    pair.stop()


def test_a_crash_on_the_other_host_is_the_cause_also_afterwards(pair: Pair) -> None:
    died = Script((*READY.pieces[:1], line(0.5, "CUDA error: out of memory")), end=End(0.6, code=1))
    slow = replace(READY, pieces=READY.pieces[:2], http=Script().http)

    run = pair.shell.run("run", "--nodes", pair.write_nodes(slow, died), "--json")

    assert run.status == 1
    first = json.loads(run.out.splitlines()[-1])
    assert first["cause"]["rank"] == "box2"
    later = pair.shell.run("attach", "pair", "--host", "box1", "--json", "--timeout", "60s")
    second = json.loads(later.out.splitlines()[-1])
    assert (later.status, second["cause"]["line"]) == (1, first["cause"]["line"])
    pair.stop()


def test_logs_on_two_hosts_are_watched_as_one(pair: Pair) -> None:
    nodes = []
    for name, box in (("box1", pair.first), ("ssh:box2", pair.second)):
        words = ("run", "--no-wait", "--host", name, "--log", "~/server.log", "--")
        program = pair.program(box.name)
        assert pair.shell.run(*words, program, "--port", str(free_port())).status == 0
        nodes += ["--node", f"{name}=~/server.log"]

    watched = pair.shell.run("watch", *nodes, "--head", "ssh:box1")

    assert watched.status == 0
    assert "box1 ready · box2 " in watched.out


def test_a_host_that_is_not_reached_keeps_all_from_being_launched(pair: Pair) -> None:
    pair.second.cut()

    failed = pair.shell.run("run", "--nodes", pair.write_nodes())

    assert failed.status == 3
    assert failed.err.startswith("firedup: box2: ")
    assert pair.shell.run("ps", "--host", "box1", "--all").out == "no runs\n"


# ---- tunnels


@pytest.fixture
def tunnel(pair: Pair) -> Iterator[subprocess.Popen[str]]:
    """A tunnel to a ready server on box1."""
    server = (pair.program("llama"), "--port", str(free_port()))
    run = pair.shell.run("run", "--host", "box1", "--name", "small", "--", *server)
    assert run.status == 0
    process = pair.shell.start("tunnel", "small", "--json")
    yield process
    pair.shell.run("stop", "small", "--host", "box1")


def fetch(url: str) -> int | None:
    """The status of the health route; None when the connection breaks."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:
            return int(answer.status)
    except OSError:
        return None


def test_a_tunnel_over_ssh_outlives_its_link_and_ends_with_the_server(
    pair: Pair, tunnel: subprocess.Popen[str]
) -> None:
    assert tunnel.stdout is not None
    opened = json.loads(tunnel.stdout.readline())
    assert opened["run"]["host"] == "box1"
    assert [fetch(opened["url"]) for _ in range(3)] == [200, 200, 200]

    pair.first.cut()
    pair.first.kill_sessions()
    assert fetch(opened["url"]) is None
    pair.first.heal()
    until_s = time.monotonic() + WAIT_S
    while (answer := fetch(opened["url"])) is None and time.monotonic() < until_s:
        with contextlib.suppress(subprocess.TimeoutExpired):
            tunnel.wait(0.2)
    assert answer == 200

    assert pair.shell.run("stop", "small").status == 0
    closed = finish(tunnel)
    assert closed.status == 0
    assert json.loads(closed.out) == {
        "schema": 1,
        "event": "closed",
        "exit": {"code": 0, "signal": None},
    }
    assert "the link is up again" in closed.err


def test_a_tunnel_leads_to_the_head_of_a_run_on_several_hosts(pair: Pair) -> None:
    assert pair.shell.run("run", "--nodes", pair.write_nodes()).status == 0
    process = pair.shell.start("tunnel", "pair", "--host", "box2", "--json")
    assert process.stdout is not None
    opened = json.loads(process.stdout.readline())

    assert opened["run"]["host"] == "box1"
    assert fetch(opened["url"]) == 200

    process.terminate()
    assert finish(process).status == 143
    pair.stop()
