"""Launch, look, attach, stop, restart and prune, typed as a user types them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path

from typist import READY, Shell, finish, read_until

from firedup.store.index import index_path, open_index
from firedup.testing.script import End, Script, line

DIED = Script(
    (
        line(0.0, "Traceback (most recent call last):"),
        line(0.0, '  File "server.py", line 7, in load'),
        line(0.0, "RuntimeError: the weights do not fit"),
    ),
    end=End(0.1, code=1),
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "json.md"


def documented(name: str) -> set[str]:
    """The keys in the first column of the table behind a `keys:` mark."""
    table = DOCUMENT.read_text().split(f"<!-- keys: {name} -->\n", 1)[1].split("\n\n", 1)[0]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    return {key for cell in cells for key in re.findall(r"`([a-z_0-9]+)`", cell)}


def test_a_server_is_launched_listed_stopped_and_pruned(shell: Shell) -> None:
    server = shell.make_server()

    run = shell.run("run", "--name", "small", "--timeout", "60s", "--", *server)
    assert (run.status, run.err) == (0, "")
    assert "ready after" in run.out
    assert "firedup stop small" in run.out

    with open_index(index_path(os.environ)) as index:
        assert [(found.name, found.verdict) for found in index.runs()] == [("small", "ready")]
    listed = json.loads(shell.run("ps", "--json").out)["runs"]
    assert [(row["name"], row["verdict"], row["engine"]) for row in listed] == [
        ("small", "ready", "llama-cpp")
    ]
    assert listed[0]["port"] == int(server[-1])
    assert "small" in shell.run("ps").out

    logs = shell.run("logs", "small")
    log = Path(shell.run("logs", "--path", "small").out.strip())
    assert logs.out == log.read_text()
    assert shell.run("logs", "-n", "1", "small").out == log.read_text().splitlines(True)[-1]

    assert shell.run("prune", "--keep", "0").out == "nothing to delete\n"
    stopped = shell.run("stop", "small")
    assert stopped.status == 0
    assert "small has ended with exit status 0" in stopped.out
    assert shell.run("stop", "small").status == 0

    assert shell.run("ps").out == "none lives; --all shows 1 ended\n"
    (ended,) = json.loads(shell.run("ps", "--all", "--json").out)["runs"]
    assert (ended["state"], ended["verdict"]) == ("exited", "stopped")
    with open_index(index_path(os.environ)) as index:
        assert [(found.name, found.verdict) for found in index.runs()] == [("small", "stopped")]

    assert "would delete" in shell.run("prune", "--keep", "0", "--dry-run").out
    assert log.exists()
    assert "deleted" in shell.run("prune", "--keep", "0").out
    assert not log.parent.exists()
    with open_index(index_path(os.environ)) as index:
        assert index.runs() == ()


def test_ctrl_c_leaves_the_server_running_and_says_how_to_go_on(shell: Shell) -> None:
    watching = shell.start("run", "--name", "small", "--until", "exit", "--", *shell.make_server())
    read_until(watching, "ready")

    os.killpg(watching.pid, signal.SIGINT)
    left = finish(watching)

    assert left.status == 130
    assert "Traceback" not in left.err
    assert "firedup attach small" in left.err
    assert "firedup stop small" in left.err
    attached = shell.run("attach", "small")
    assert attached.status == 0
    assert "ready" in attached.out


def test_sigterm_ends_the_watching_alone(shell: Shell) -> None:
    watching = shell.start("run", "--name", "small", "--until", "exit", "--", *shell.make_server())
    read_until(watching, "ready")

    watching.terminate()
    left = finish(watching)

    assert left.status == 143
    assert "Traceback" not in left.err
    assert json.loads(shell.run("ps", "--json").out)["runs"][0]["name"] == "small"


def test_a_server_that_dies_is_a_crash_with_its_cause(shell: Shell) -> None:
    run = shell.run("run", "--json", "--", *shell.make_server(DIED))

    assert run.status == 1
    lines = [json.loads(row) for row in run.out.splitlines()]
    assert lines[-1]["event"] == "result"
    assert lines[-1]["verdict"] == "crashed"
    assert lines[-1]["cause"]["line"] == "RuntimeError: the weights do not fit"
    assert lines[-1]["exit"] == {"code": 1, "signal": None}


def test_a_death_that_nobody_watched_is_judged_when_it_is_asked_for(shell: Shell) -> None:
    launched = shell.run("run", "--name", "small", "--no-wait", "--", *shell.make_server(DIED))
    assert launched.status == 0
    assert "firedup attach small" in launched.out

    assert shell.run("attach", "--timeout", "30s", "--until", "exit", "small").status == 1
    (row,) = json.loads(shell.run("ps", "--all", "--json").out)["runs"]

    assert (row["verdict"], row["cause"]) == ("crashed", "checkpoint-mismatch")


def test_the_time_limit_ends_the_watching_with_its_status(shell: Shell) -> None:
    silent = Script((line(0.0, "0.00.010.000 I main: loading model"),), work=((0.0, 3600.0),))

    run = shell.run("run", "--timeout", "1s", "--", *shell.make_server(silent))

    assert run.status == 5
    assert "timed out" in run.out
    (row,) = json.loads(shell.run("ps", "--json").out)["runs"]
    assert row["verdict"] == "loading"  # the limit was that of the watch


def test_an_end_that_nobody_saw_replaces_what_a_watch_said_last(shell: Shell) -> None:
    silent = Script((line(0.0, "0.00.010.000 I main: loading model"),), work=((0.0, 3600.0),))
    assert shell.run("run", "--timeout", "1s", "--", *shell.make_server(silent)).status == 5
    (kept,) = Path(os.environ["XDG_STATE_HOME"], "firedup", "runs").glob("*/keeper.json")
    keeper = json.loads(kept.read_text())

    os.kill(keeper["pid"], signal.SIGKILL)
    os.killpg(keeper["server"]["pgid"], signal.SIGKILL)
    for pid in (keeper["pid"], keeper["server"]["pid"]):
        wait_until_dead(pid)
    (row,) = json.loads(shell.run("ps", "--all", "--json").out)["runs"]

    assert (row["state"], row["verdict"]) == ("exited", "crashed")


def test_a_setup_that_no_shell_can_read_is_named_as_the_cause(shell: Shell) -> None:
    run = shell.run("run", "--json", "--setup", "if then", "--", *shell.make_server(READY))

    assert run.status == 1
    assert json.loads(run.out.splitlines()[-1])["cause"]["class"] == "setup-failed"


def test_a_doomed_launch_is_refused_before_it_begins(shell: Shell) -> None:
    refused = shell.run("run", "--", "no-such-server", "--port", "8000")

    assert refused.status == 1
    assert "no-such-server" in refused.err
    assert "Traceback" not in refused.err
    assert shell.run("ps", "--all").out == "no runs\n"


def test_a_restart_shows_the_difference_and_keeps_the_name(shell: Shell) -> None:
    assert shell.run("run", "--name", "small", "--", *shell.make_server()).status == 0

    again = shell.run("restart", "small", "--timeout", "60s", "--", "A=b", "--ctx-size", "4096")

    assert again.status == 0
    assert "--ctx-size not given → 4096\nA unset → b\n" in again.err
    runs = json.loads(shell.run("ps", "--all", "--json").out)["runs"]
    assert [(row["name"], row["verdict"]) for row in runs] == [
        ("small", "ready"),
        ("small", "stopped"),
    ]


def test_what_scripts_read_of_a_restart_a_stop_and_a_prune(shell: Shell) -> None:
    shell.run("run", "--no-wait", "--name", "small", "--", *shell.make_server())
    (first,) = json.loads(shell.run("ps", "--json").out)["runs"]

    again = shell.run("restart", "small", "--json", "--", "MY_TOKEN=rosebud", "--ctx-size", "9")
    begun, *_, result = [json.loads(row) for row in again.out.splitlines()]
    assert set(begun) == documented("restart")
    assert set(begun["changes"][0]) == documented("change")
    assert (begun["event"], begun["restarted_from"]) == ("restart", first["id"])
    assert [(c["name"], c["old"], c["new"]) for c in begun["changes"]] == [
        ("--ctx-size", None, "9"),
        ("MY_TOKEN", None, "[redacted]"),
    ]
    assert (result["event"], result["verdict"]) == ("result", "ready")

    third = shell.run("restart", "small", "--no-wait", "--json", "--", "--no=--ctx-size")
    launched = json.loads(third.out)
    assert (launched["restarted_from"], launched["name"]) == (result["run"]["id"], "small")
    assert launched["changes"] == [{"name": "--ctx-size", "old": "9", "new": None}]
    assert "not given" not in third.err

    stopped = shell.run("stop", "small", "small~1", "--json")
    both = [json.loads(row) for row in stopped.out.splitlines()]
    assert set(both[0]) == documented("stop") - {"node"}
    assert [(one["run"]["id"], one["was_alive"], one["stopped"]) for one in both] == [
        (launched["id"], True, True),
        (result["run"]["id"], False, True),
    ]
    assert "has ended already" in stopped.err

    pruned = json.loads(shell.run("prune", "--keep", "2", "--json").out)
    assert set(pruned) == documented("prune")
    assert [run["id"] for run in pruned["runs"]] == [first["id"]]
    assert pruned["dry_run"] is False


def test_a_name_that_no_run_has_gets_the_nearest(shell: Shell) -> None:
    launch = ("run", "--name", "small", "--no-wait", "--", *shell.make_server())
    assert json.loads(shell.run(*launch[:4], "--json", *launch[4:]).out)["name"] == "small"

    for words in (("logs",), ("attach",), ("stop",), ("restart",)):
        unknown = shell.run(*words, "smal")

        assert unknown.status == 2
        assert "Did you mean small?" in unknown.err


def wait_for(path: Path) -> None:
    """Returns once a process that nobody waits for has made the file."""
    until_s = time.monotonic() + 40
    while not path.exists() and time.monotonic() < until_s:
        time.sleep(0.05)


def wait_until_dead(pid: int, limit_s: float = 60.0) -> None:
    until_s = time.monotonic() + limit_s
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        while time.monotonic() < until_s:
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
            time.sleep(0.05)


def test_hooks_of_a_launch_that_nobody_watches_are_run_all_the_same(shell: Shell) -> None:
    hook = ("--on", "ready", "echo $FIREDUP_NAME is $FIREDUP_EVENT > told.new; mv told.new told")
    server = shell.make_server(READY)

    alone = shell.run("run", "--name", "small", *hook, "--no-wait", "--", *server)
    wait_for(shell.folder / "told")

    assert (alone.status, alone.err) == (0, "")
    assert (shell.folder / "told").read_text() == "small is ready\n"


def test_a_hook_that_failed_is_told_of_afterwards(shell: Shell) -> None:
    server = shell.make_server()
    noisy = ("--on", "ready", "echo it is up; exit 3", "--on", "exited", "true")
    assert shell.run("run", "--name", "small", *noisy, "--", *server).status == 0
    notes = next((Path(os.environ["XDG_STATE_HOME"]) / "firedup" / "runs").glob("*/hooks.log"))
    until_s = time.monotonic() + 40
    while "ended with" not in notes.read_text() and time.monotonic() < until_s:
        time.sleep(0.02)

    (row,) = json.loads(shell.run("ps", "--json").out)["runs"]
    assert [text.split(" (")[0] for text in row["hook_failures"]] == [
        "command 1 of --on ready ended with status 3"
    ]
    assert "1 failed" in shell.run("ps").out
    attached = shell.run("attach", "small")
    assert "a hook failed: command 1 of --on ready ended with status 3" in flat(attached.out)
    assert str(notes) in attached.out.replace("\n", "").replace(" ", "")


def flat(text: str) -> str:
    """Text without what folds its lines."""
    return " ".join(text.split())


def test_a_launch_whose_client_is_killed_still_runs_its_hooks(shell: Shell) -> None:
    hook = ("--on", "exited", "echo $FIREDUP_EXIT_CODE > told.new; mv told.new told")
    server = ("sh", "-c", "while ! test -e go; do sleep 0.1; done; exit 5")
    client = shell.start("run", "--name", "small", *hook, "--", *server)
    keepers = Path(os.environ["XDG_STATE_HOME"], "firedup", "runs")
    while client.poll() is None and not list(keepers.glob("*/keeper.json")):
        os.sched_yield()

    os.killpg(client.pid, signal.SIGKILL)
    finish(client)
    (shell.folder / "go").touch()
    wait_for(shell.folder / "told")

    assert (shell.folder / "told").read_text() == "5\n"


def test_an_address_that_is_none_is_refused_and_not_shown(shell: Shell) -> None:
    ended = shell.run("run", "--notify", "ftp://planted@example.org", "--", "true")

    assert ended.status == 2
    assert "https://example.org/hook" in ended.err
    assert "planted" not in ended.err


def test_the_log_is_followed_until_the_user_has_enough(shell: Shell) -> None:
    shell.run("run", "--name", "small", "--", *shell.make_server(READY))
    following = shell.start("logs", "--follow", "small")
    read_until(following, "server is listening")

    os.killpg(following.pid, signal.SIGINT)

    assert finish(following).status == 130


def test_words_before_the_command_are_environment_and_a_log_may_be_named(shell: Shell) -> None:
    show = ("sh", "-c", 'echo "$A-$B-$C" && pwd')
    (shell.folder / "more.env").write_text("B=two\n")

    run = shell.run(
        *("run", "--env", "A=one", "--env-file", "more.env", "--log", "logs/x.log"),
        *("--until", "exit", "--timeout", "20s", "--", "C=three", *show),
    )

    assert run.status in (1, 6)
    text = (shell.folder / "logs" / "x.log").read_text()
    assert text == f"one-two-three\n{shell.folder}\n"


def test_a_launch_that_is_broken_off_leaves_no_unknown_server(shell: Shell) -> None:
    launching = shell.start("run", "--name", "small", "--", *shell.make_server())
    state = Path(os.environ["XDG_STATE_HOME"], "firedup", "runs")
    while launching.poll() is None and not list(state.glob("*/manifest.json")):
        os.sched_yield()

    os.killpg(launching.pid, signal.SIGINT)
    left = finish(launching)

    assert left.status == 130
    assert "firedup stop small" in left.err
    assert shell.run("stop", "small").status == 0
