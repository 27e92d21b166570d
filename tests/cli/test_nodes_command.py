"""A run on several hosts, typed as a user types it; the hosts are stand-ins on this machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace

import pytest
from typist import READY, Shell

from firedup.testing.program import make_program
from firedup.testing.script import End, Script, line

pytestmark = pytest.mark.timeout(120)

# Runs a program as if in a container, which has its own folder for runs: podman exec … NAME WORDS
PODMAN = """\
#!/bin/sh
shift
while [ "$1" != "${1#-}" ]; do shift; done
name=$1
shift
export FIREDUP_ON="$name" XDG_STATE_HOME="$XDG_STATE_HOME/$name"
exec "$@"
"""
HEAD, OTHER = "podman:box1", "podman:box2"


@dataclass(frozen=True)
class Cluster:
    """Two hosts and a shell to reach them from."""

    shell: Shell

    def make_server(self, host: str, script: Script = READY) -> str:
        folder = self.shell.folder / host
        folder.mkdir()
        return str(make_program(folder, "llama-server", script))

    def write_nodes(self, first: Script = READY, second: Script = READY) -> str:
        programs = self.make_server("box1", first), self.make_server("box2", second)
        tables = "".join(
            f'[[node]]\nhost = "{host}"\naddress = "10.0.0.1"\n'
            f'command = ["{program}", "--port", "{free}", "--rpc", "{{head}}:{{rank}}"]\n'
            for host, program, free in zip((HEAD, OTHER), programs, self._ports(), strict=True)
        )
        (self.shell.folder / "nodes.toml").write_text(f'name = "pair"\n{tables}')
        return "nodes.toml"

    def _ports(self) -> tuple[str, str]:
        return self.shell.make_server()[-1], self.shell.make_server()[-1]


@pytest.fixture
def cluster(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    programs = shell.folder / "programs"
    programs.mkdir()
    podman = programs / "podman"
    podman.write_text(PODMAN)
    podman.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    return Cluster(shell)


def test_one_run_on_two_hosts_is_launched_listed_and_stopped(cluster: Cluster) -> None:
    shell = cluster.shell

    run = shell.run("run", "--nodes", cluster.write_nodes(), "--json")

    assert (run.status, run.err) == (0, "")
    result = json.loads(run.out.splitlines()[-1])
    assert [(n["host"], n["rank"]) for n in result["nodes"]] == [(HEAD, 0), (OTHER, 1)]
    assert all(node["uncertainty_s"] > 0 for node in result["nodes"])
    assert result["spec"]["argv"][-1] == "10.0.0.1:0"

    rows = json.loads(shell.run("ps", "--json", "--host", HEAD, "--host", OTHER).out)["runs"]
    assert sorted((row["host"], row["node"]) for row in rows) == [(HEAD, 0), (OTHER, 1)]
    assert rows[0]["nodes"] == [HEAD, OTHER]
    assert "1 of 2" in shell.run("ps", "--host", HEAD, "--host", OTHER).out
    path = shell.run("logs", "pair", "--host", HEAD, "--node", "1", "--path").out.strip()
    assert path.startswith(f"{OTHER}:")
    assert shell.run("logs", "pair", "--host", HEAD, "--node", "2").status == 2

    again = shell.run("attach", "pair", "--host", OTHER)
    assert again.status == 0
    assert f"{HEAD} ready" in again.out

    stopped = shell.run("stop", "pair", "--host", OTHER)
    assert stopped.status == 0
    assert f"pair on {HEAD} has ended with exit status 0" in stopped.out
    assert f"pair on {OTHER} has ended with exit status 0" in stopped.out


def test_a_run_on_two_hosts_is_restarted_with_other_flags_on_both(cluster: Cluster) -> None:
    shell = cluster.shell
    assert shell.run("run", "--nodes", cluster.write_nodes(), "--no-wait").status == 0

    again = shell.run("restart", "pair", "--host", HEAD, "--", "--parallel", "4")

    assert again.status == 0
    assert "--parallel" in again.err
    listed = shell.run("ps", "--json", "--host", HEAD, "--host", OTHER)
    assert len(json.loads(listed.out)["runs"]) == 2
    shell.run("stop", "pair", "--host", HEAD)


def test_a_crash_on_the_other_host_ends_the_run_with_its_cause(cluster: Cluster) -> None:
    died = Script((*READY.pieces[:1], line(0.5, "CUDA error: out of memory")), end=End(0.6, code=1))
    slow = replace(READY, pieces=READY.pieces[:2], http=Script().http)

    run = cluster.shell.run("run", "--nodes", cluster.write_nodes(slow, died), "--json")

    assert run.status == 1
    result = json.loads(run.out.splitlines()[-1])
    assert result["verdict"] == "crashed"
    assert result["cause"]["rank"] == OTHER
    assert result["nodes"][0]["verdict"] == "loading"


def test_nodes_that_others_started_are_watched_by_their_logs(cluster: Cluster) -> None:
    folder = cluster.shell.folder
    nodes = []
    for host in (HEAD, OTHER):
        log = folder / f"{host.partition(':')[2]}.log"
        launched = cluster.shell.run(
            *("run", "--no-wait", "--log", str(log), "--"), *cluster.shell.make_server()
        )
        assert launched.status == 0
        nodes += ["--node", f"{host}={log}"]

    watched = cluster.shell.run("watch", *nodes)

    assert watched.status == 0
    assert f"{HEAD} ready" in watched.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "--node", HEAD, "--", "x"), "needs two of them"),
        (("run", "--node", HEAD, "--node", OTHER, "--head", "box9", "--", "x"), "none of the"),
        (("run", "--host", HEAD, "--node", HEAD, "--node", OTHER, "--", "x"), "--host names one"),
        (("run", "--nodes", "missing.toml"), "cannot be read"),
        (("watch", "--node", HEAD, "--node", OTHER), "is no HOST=LOG"),
        (("watch", "--node", f"{HEAD}=a"), "one node is no more than a log"),
        (("watch", "x.log", "--node", f"{HEAD}=a", "--node", f"{OTHER}=b"), "its own log"),
    ],
)
def test_what_cannot_be_meant_is_wrong_use(
    cluster: Cluster, words: tuple[str, ...], message: str
) -> None:
    outcome = cluster.shell.run(*words)

    assert outcome.status == 2
    assert message in outcome.err
