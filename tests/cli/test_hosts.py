"""Every command over SSH, typed as a user types it; the host is another home on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typist import Shell, finish

from firedup.cli import main
from firedup.store.index import IndexedRun, index_path, open_index
from tests.lease import leased
from tests.ssh_server import Boxes, SshBox

pytestmark = pytest.mark.timeout(180)
CRASH = "Traceback (most recent call last):\n  File 'x'\nRuntimeError: no weights at all\n"


@pytest.fixture
def box(ssh_boxes: Boxes) -> SshBox:
    return ssh_boxes("box")


def test_a_server_is_launched_listed_read_stopped_and_pruned_on_a_host(
    shell: Shell, box: SshBox
) -> None:
    server = shell.make_server()
    on = ("--host", "box")

    run = shell.run("run", *on, "--name", "small", "--timeout", "60s", "--", *server)

    assert (run.status, run.err) == (0, "")
    assert "on box" in run.out
    assert "firedup stop small --host box" in run.out
    assert shell.run("ps").out == "no runs\n"
    listed = shell.run("ps", *on)
    assert listed.out.split()[:2] == ["name", "host"]
    (row,) = json.loads(shell.run("ps", *on, "--json").out)["runs"]
    assert (row["name"], row["host"], row["verdict"]) == ("small", "box", "ready")
    path = shell.run("logs", *on, "--path", "small").out.strip()
    host, _, log = path.partition(":")
    assert host == "box"
    assert Path(log).is_relative_to(box.state)
    assert shell.run("logs", *on, "small").out == Path(log).read_text()
    attached = shell.run("attach", *on, "small")
    assert attached.status == 0

    again = shell.run("restart", *on, "small", "--timeout", "60s", "--", "A=b")
    assert again.status == 0
    assert "A unset → b\n" in again.err
    assert "has ended" in shell.run("stop", *on, "small").out
    assert shell.run("prune", *on, "--keep", "0").out.count("deleted") == 2
    assert shell.run("ps", *on, "--all").out == "no runs\n"


def test_where_none_is_here_the_hosts_that_have_some_are_named(shell: Shell) -> None:
    def put(*runs: tuple[str, int | None]) -> None:
        with open_index(index_path(os.environ)) as index:
            index.put(IndexedRun(host, f"r-{host}", "x", "/f", ended_ns=end) for host, end in runs)

    assert shell.run("ps").err == ""
    put(("lab", None), ("box", None), ("old", 1))

    seen = shell.run("ps")
    assert (seen.status, seen.out) == (0, "no runs\n")
    assert seen.err == "others are on box, lab: firedup ps --all-hosts\n"
    assert "box, lab, old:" in shell.run("ps", "--all").err
    assert [shell.run("ps", *words).err for words in (("--json",), ("--host", "local"))] == ["", ""]


def test_a_run_that_only_another_host_has_is_found_there(shell: Shell, box: SshBox) -> None:
    shell.run("run", "--host", "box", "--name", "small", "--no-wait", "--", *shell.make_server())

    found = shell.run("logs", "--path", "small")
    assert found.out.startswith("box:/")
    assert found.err == "small is on box\n"

    stopped = shell.run("stop", "small")
    assert (stopped.status, stopped.err) == (0, "small is on box\n")
    unknown = shell.run("logs", "smal", "--host", "box")
    assert unknown.status == 2
    assert unknown.err == "firedup: there is no run smal on box\nDid you mean small?\n"


def test_a_host_counts_once_however_it_was_written(shell: Shell, box: SshBox) -> None:
    shell.run("run", "--host", "ssh:box", "--name", "a", "--no-wait", "--", *shell.make_server())
    shell.run("host", "box", "--cwd", "~")
    with open_index(index_path(os.environ)) as index:  # as an earlier release called it
        index.put([IndexedRun("ssh:box", "old", "old", "/f")])

    known = json.loads(shell.run("host", "--json").out)["hosts"]
    assert [(one["host"], one["runs"]) for one in known] == [("local", 0), ("box", 2)]
    listed = shell.run("ps", "--json", "--all-hosts")
    assert [row["host"] for row in json.loads(listed.out)["runs"]] == ["box"]
    twice = shell.run("ps", "--json", "--host", "box", "--host", "ssh:box")
    assert len(json.loads(twice.out)["runs"]) == 1
    known = json.loads(shell.run("host", "--json").out)["hosts"]
    assert [(one["host"], one["runs"]) for one in known] == [("local", 0), ("box", 1)]
    assert shell.run("stop", "a", "--host", "local,box").status == 0


def test_the_variable_names_the_host_and_an_option_goes_before_it(
    shell: Shell, box: SshBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIREDUP_HOST", "box")
    shell.run("run", "--name", "small", "--no-wait", "--", *shell.make_server())

    assert json.loads(shell.run("ps", "--json").out)["runs"][0]["host"] == "box"
    assert shell.run("ps", "--host", "local").out == "no runs\n"
    monkeypatch.setenv("FIREDUP_HOST", "docker:")
    wrong = shell.run("logs", "small")
    assert wrong.status == 2
    assert "FIREDUP_HOST=docker:" in wrong.err
    monkeypatch.setenv("FIREDUP_HOST", "box")
    box.cut()
    assert "(FIREDUP_HOST=box names the host where" in shell.run("logs", "small").err


def test_a_log_on_a_host_is_explained_without_a_copy(shell: Shell, box: SshBox) -> None:
    (box.home / "dead.log").write_text(CRASH)

    for path in ("dead.log", "~/dead.log", str(box.home / "dead.log")):
        told = shell.run("explain", "--host", "box", "--exit-status", "--json", path)
        assert told.status == 1
        cause = json.loads(told.out)["cause"]
        assert (cause["line"], cause["line_number"]) == ("RuntimeError: no weights at all", 3)

    replaced = shell.run("explain", "--host", "box", f"{Path.home()}/dead.log")
    assert replaced.err.endswith("Quote it: '~/dead.log'\n")
    both = shell.run("explain", "--host", "box", "dead.log", "none.log")
    assert both.status == 2
    assert "box:dead.log" in both.out
    assert "there is no log at box:none.log, and no run is called none.log" in both.err


def test_a_log_that_is_larger_than_the_window_is_explained_as_here(
    shell: Shell, box: SshBox
) -> None:
    log = box.home / "long.log"
    log.write_text("I did something of no interest at all\n" * 200_000 + CRASH)

    there = json.loads(shell.run("explain", "--host", "box", "--json", "long.log").out)
    here = json.loads(shell.run("explain", "--json", str(log)).out)

    assert there == here
    assert there["cause"]["line_number"] == 200_003


def test_a_log_on_a_host_is_watched(shell: Shell, box: SshBox) -> None:
    (box.home / "server.log").write_text(CRASH)

    seen = shell.run("watch", "--host", "box", "--timeout", "20s", "~/server.log")

    assert seen.status == 1
    assert "no weights at all" in seen.out
    assert "on box" in seen.out
    told = shell.run("watch", "--host", "box", "--json", "server.log").out.splitlines()[-1]
    assert json.loads(told)["run"] is None


def test_several_hosts_are_asked_and_one_that_is_down_hides_none(
    shell: Shell, ssh_boxes: Boxes
) -> None:
    box, lab = ssh_boxes("box"), ssh_boxes("lab")
    for host in ("box", "lab"):
        server = shell.make_server()
        shell.run("run", "--host", host, "--name", "small", "--no-wait", "--", *server)
    assert shell.run("logs", "small").err.startswith("firedup: small may be on ")

    both = json.loads(shell.run("ps", "--all-hosts", "--json").out)
    assert {row["host"] for row in both["runs"]} == {"box", "lab"}
    assert both["unreached"] == []
    assert set(both) == {"schema", "runs", "unreached"}

    lab.cut()
    one = shell.run("ps", "--all", "--host", "box", "--host", "lab")
    assert one.status == 0
    assert [row.split()[:2] for row in one.out.splitlines()] == [["name", "host"], ["small", "box"]]
    assert one.err.startswith("firedup: lab: ")
    assert one.err.count("\n") == 1
    box.cut()
    none = shell.run("ps", "--host", "box", "--host", "lab")
    assert none.status == 3
    assert none.err.count("\n") == 2
    assert shell.run("logs", "--host", "lab", "small").status == 3
    alone = shell.run("ps", "--host", "lab", "--json")
    assert alone.status == 3
    assert alone.err.startswith("firedup: lab: ")
    told = json.loads(alone.out)
    assert (told["runs"], [entry["host"] for entry in told["unreached"]]) == ([], ["lab"])


def test_a_host_that_is_not_reached_is_one_message(shell: Shell, box: SshBox) -> None:
    box.cut()

    for words in (("ps",), ("attach", "x"), ("explain", "x.log"), ("watch", "x.log")):
        failed = shell.run(words[0], "--host", "box", *words[1:])
        assert failed.status == 3
        assert failed.err.startswith("firedup: box: ")
        assert "Connection refused" in failed.err
        assert "Traceback" not in failed.err


def test_after_a_break_in_a_launch_it_is_said_where_the_answer_lies(
    shell: Shell, box: SshBox
) -> None:
    program = box.home / "server"
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o700)
    with leased(program) as is_wanted:  # it cannot begin, so that the launch has no answer yet
        launching = shell.start("run", "--host", "box", "--", str(program))
        while launching.poll() is None and not is_wanted():
            os.sched_yield()

        box.kill_sessions()

        left = finish(launching)
    assert left.status == 3
    assert "is not known here: firedup ps --all --host box\n" in left.err


@pytest.mark.parametrize("word", ["docker:", "-oProxyCommand=x", "a b", "slurm:x", "k8s:/"])
def test_words_that_name_no_host_are_wrong_use(
    word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ps", f"--host={word}"]) == 2
    assert "names no host" in capsys.readouterr().err
