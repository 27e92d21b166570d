"""The keeper concludes by itself and tells: no client is attached, or it was killed."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from ear import LIMITS, SERVER, Ear, recipe

from firedup.core.model import ServerSpec
from firedup.host.agent.hook import is_attended
from firedup.host.base import local_host
from firedup.host.launch import Launch, launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import Hook, KeyPlace, Manifest
from firedup.host.process import find_members, wait_gone

if TYPE_CHECKING:
    from tests.host.conftest import Launcher

LIMIT_S = 40.0


@pytest.fixture
async def ear() -> AsyncIterator[Ear]:
    listening = Ear()
    server = await asyncio.start_server(listening.serve, "127.0.0.1", 0)
    listening.port = server.sockets[0].getsockname()[1]
    yield listening
    server.close()


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@pytest.fixture
def mood(tmp_path: Path) -> Path:
    """The folder whose files say what the server answers."""
    folder = tmp_path / "mood"
    folder.mkdir()
    return folder


def serve(port: int, mood: Path, how: str = "fine") -> tuple[str, ...]:
    return (sys.executable, "-c", SERVER, str(port), str(mood), how)


async def ended(agent: Agent, launched: Launch) -> None:
    """Returns once the keeper has done all that it had to do."""
    await wait_gone(agent, launched.keeper.pid, launched.keeper.start_ticks, timeout_s=LIMIT_S)


async def told_by(path: Path, text: str) -> None:
    """Returns once a detached process has written `text`."""
    async with asyncio.timeout(LIMIT_S):
        while not path.exists() or text not in path.read_text():
            await asyncio.sleep(0.02)


async def nobody_tells(state: Path) -> None:
    """Returns once no helper of a keeper is left."""
    async with asyncio.timeout(LIMIT_S):
        while any(is_helper(process, state) for process in psutil.process_iter()):
            await asyncio.sleep(0.02)


def is_helper(process: psutil.Process, state: Path) -> bool:
    with contextlib.suppress(psutil.Error):
        is_ours = process.environ().get("XDG_STATE_HOME") == str(state)
        return is_ours and process.name() == "firedup-helper"
    return False


def end(launched: Launch, number: int = signal.SIGTERM) -> None:
    os.kill(launched.server.pid, number)


# ---- ready -----------------------------------------------------------------------------------


async def test_ready_is_told_while_no_client_is_there(
    state: Path, ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    (mood / "generous").touch()
    manifest = Manifest("alone", "kimi", serve(port, mood), notify=(ear.url,), recipe=recipe(port))
    async with open_agent(local_host()) as agent:
        await launch_server(agent, manifest)

    told = await ear.hear("ready")

    assert (told["verdict"], told["source"]) == ("ready", "keeper")
    assert told["run"] == {"id": "alone", "name": "kimi", "host": socket.gethostname()}
    assert ear.events == ["ready"]


async def test_a_server_that_refuses_a_token_is_not_ready_until_it_gives_one(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    launched = await launch(*serve(port, mood), notify=(ear.url,), recipe=recipe(port))
    await told_by(mood / "asked", "/v1/completions")
    assert ear.events == []
    (mood / "generous").touch()

    await ear.hear("ready")

    end(launched)
    await ear.hear("exited")
    assert ear.events == ["ready", "exited"]


async def test_a_server_whose_health_route_says_no_is_not_asked_for_a_token(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    launched = await launch(*serve(port, mood), notify=(ear.url,), recipe=recipe(port))
    await told_by(mood / "asked", "/health\n/health\n")
    end(launched)

    await ear.hear("exited")

    assert ear.events == ["exited"]
    assert set((mood / "asked").read_text().split()) == {"/health"}


async def test_a_server_that_says_nothing_is_ready_by_its_own_socket(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    (mood / "generous").touch()
    await launch(*serve(port, mood, "mute"), notify=(ear.url,), recipe=recipe(port))

    assert (await ear.hear("ready"))["verdict"] == "ready"


async def test_a_server_that_cannot_generate_is_ready_by_its_health_alone(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    embedding = recipe(port, generates=False)
    await launch(*serve(port, mood), notify=(ear.url,), recipe=embedding)

    await ear.hear("ready")

    assert "/v1/completions" not in (mood / "asked").read_text()


async def test_a_server_without_a_port_is_believed(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    script = "printf 'The server is \\033[1mfired\\033[0m up!\\r\\n'; sleep 60"
    await launch("sh", "-c", script, notify=(ear.url,), recipe=recipe())

    assert (await ear.hear("ready"))["verdict"] == "ready"


async def test_what_an_older_log_said_makes_nobody_ready(
    agent: Agent, launch: "Launcher", ear: Ear, tmp_path: Path
) -> None:
    log = tmp_path / "old.log"
    log.write_text("The server is fired up!\n")
    await launch("true", notify=(ear.url,), recipe=recipe(), log=str(log))

    await ear.hear_times(2)

    assert sorted(ear.events) == ["crashed", "exited"]


async def test_the_key_is_found_on_the_host(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    (mood / "generous").touch()
    keyed = recipe(port, key=KeyPlace(options=("--api-key",)))
    argv = (*serve(port, mood), "--api-key", "planted-key")
    await launch(*argv, notify=(ear.url,), recipe=keyed)

    told = await ear.hear("ready")

    assert "/v1/completions Bearer planted-key" in (mood / "asked").read_text()
    assert "planted-key" not in json.dumps(told)


# ---- stalled ---------------------------------------------------------------------------------


async def test_a_token_that_never_comes_is_a_stall(
    agent: Agent, launch: "Launcher", ear: Ear, port: int, mood: Path
) -> None:
    (mood / "healthy").touch()
    late = recipe(port, token_s=0.2)
    await launch(*serve(port, mood, "hangs"), notify=(ear.url,), recipe=late)

    assert (await ear.hear("stalled"))["verdict"] == "stalled"
    assert "ready" not in ear.events


async def test_a_server_that_does_nothing_for_too_long_is_stalled(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    impatient = recipe(1, limits=replace(LIMITS, patience_s=2.0))
    await launch("sleep", "600", notify=(ear.url,), recipe=impatient)

    assert (await ear.hear("stalled"))["verdict"] == "stalled"


async def test_a_server_that_was_stopped_by_a_signal_is_stalled(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    impatient = recipe(1, limits=replace(LIMITS, frozen_s=1.0))
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=impatient)
    end(launched, signal.SIGSTOP)

    assert (await ear.hear("stalled"))["verdict"] == "stalled"


# ---- crashed and exited ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "events", "verdict", "cause", "exit_"),
    [
        ("exit 3", ["crashed", "exited"], "crashed", None, (3, None)),
        ("exit 0", ["crashed", "exited"], "crashed", None, (0, None)),
        ("kill -SEGV $$", ["crashed", "exited"], "crashed", "segmentation-fault", (None, 11)),
        ("kill -TERM $$", ["exited"], "stopped", None, (None, 15)),
        ("echo fired up; echo SIGTERM received; exit 0", ["exited"], "stopped", None, (0, None)),
        ("echo SIGTERM received; exit 1", ["crashed", "exited"], "crashed", None, (1, None)),
    ],
)
async def test_an_end_is_judged_as_the_core_judges_it(
    agent: Agent,
    launch: "Launcher",
    ear: Ear,
    script: str,
    events: list[str],
    verdict: str,
    cause: str | None,
    exit_: tuple[int | None, int | None],
) -> None:
    launched = await launch("sh", "-c", script, notify=(ear.url,), recipe=recipe(1))

    await ear.hear_times(len(events))
    await ended(agent, launched)

    assert sorted(ear.events) == sorted(events)
    told = ear.told[ear.events.index("exited")]
    assert told["verdict"] == verdict
    assert (told["cause"] or {}).get("class") == cause
    assert told["exit"] == {"code": exit_[0], "signal": exit_[1]}


async def test_an_end_that_firedup_asked_for_is_no_crash(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    Path(launched.folder, "events.jsonl").write_text('{"event":"stop-asked","at_ns":1,"by":"x"}\n')
    end(launched, signal.SIGKILL)
    await ended(agent, launched)

    await ear.hear("exited")

    assert [(told["event"], told["verdict"]) for told in ear.told] == [("exited", "stopped")]


async def test_the_time_served_is_told(agent: Agent, launch: "Launcher", ear: Ear) -> None:
    launched = await launch(
        "sh", "-c", "echo fired up; sleep 600", notify=(ear.url,), recipe=recipe()
    )
    await ear.hear("ready")
    end(launched, signal.SIGKILL)

    told = await ear.hear("crashed")

    assert told["served_s"] >= 0
    assert ear.told[0]["served_s"] is None


async def test_a_port_in_foreign_hands_is_a_crash_once_the_server_says_that_it_is_up(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        script = "echo fired up; sleep 600"
        taken = recipe(stranger.getsockname()[1])
        await launch("sh", "-c", script, notify=(ear.url,), recipe=taken)

        told = await ear.hear("crashed")

    assert told["cause"] == {"class": "port-in-use", "line": None}
    assert "ready" not in ear.events


# ---- with a client ---------------------------------------------------------------------------


async def test_a_client_that_watches_tells_first_and_the_keeper_adds_nothing(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    watching = agent.open("attend", run=launched.folder)
    await told_by(Path(launched.folder, "keeper.json"), "pid")
    end(launched, signal.SIGSEGV)
    await told_by(Path(launched.folder, "exit.json"), "code")
    facts = {"verdict": "crashed", "cause": "cuda-out-of-memory", "cause_line": "OOM: sorry"}
    for event in ("crashed", "exited"):
        for _ in range(2):
            await agent.call("hook", run=launched.folder, on=event, facts=facts)
    await ended(agent, launched)
    watching.close()

    await ear.hear_times(2)

    assert sorted(ear.events) == ["crashed", "exited"]
    assert [told["source"] for told in ear.told] == ["client", "client"]
    assert ear.told[0]["cause"] == {"class": "cuda-out-of-memory", "line": "OOM: sorry"}


async def test_the_keeper_tells_at_once_when_the_client_that_watched_is_killed(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    async with open_agent(local_host()) as other:
        other.open("attend", run=launched.folder)
        async with asyncio.timeout(LIMIT_S):
            while not is_attended(launched.folder):
                await asyncio.sleep(0.02)
        end(launched, signal.SIGSEGV)
        await told_by(Path(launched.folder, "exit.json"), "code")
        os.kill(other.hello["pid"], signal.SIGKILL)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_a_client_that_watches_and_says_nothing_is_waited_for_no_longer_than_the_grace(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    short = recipe(1, grace_s=1.0)
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=short)
    agent.open("attend", run=launched.folder)
    end(launched, signal.SIGSEGV)

    assert (await ear.hear("crashed"))["source"] == "keeper"


async def test_without_a_keeper_the_agent_sees_to_what_a_client_concludes(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    os.kill(launched.keeper.pid, signal.SIGKILL)
    await ended(agent, launched)

    await agent.call("hook", run=launched.folder, on="stalled", facts={"verdict": "stalled"})

    assert (await ear.hear("stalled"))["source"] == "client"


# ---- how it is told --------------------------------------------------------------------------


async def test_an_address_that_fails_is_tried_three_times_and_its_secret_is_not_noted(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    ear.answers = [500, 503, 502]
    launched = await launch("sh", "-c", "kill $$", notify=(ear.url,), recipe=recipe(1))
    log = Path(launched.folder, "hooks.log")

    await told_by(log, "(try 3 of 3)")

    assert ear.events == ["exited"] * 3
    assert [line.partition(" firedup: ")[2] for line in log.read_text().splitlines()] == [
        f"--notify http://127.0.0.1:{ear.port}: answered {status} (try {number} of 3)"
        for number, status in enumerate((500, 503, 502), 1)
    ]


async def test_an_address_that_comes_back_is_told_and_not_told_again(
    agent: Agent, launch: "Launcher", ear: Ear, state: Path
) -> None:
    ear.answers = [503, 204]
    launched = await launch("sh", "-c", "kill $$", notify=(ear.url,), recipe=recipe(1))

    await ear.hear_times(2)
    await nobody_tells(state)

    assert ear.events == ["exited"] * 2
    assert Path(launched.folder, "hooks.log").read_text().count("(try ") == 1


async def test_an_address_that_refuses_is_left_alone(
    agent: Agent, launch: "Launcher", ear: Ear, state: Path
) -> None:
    ear.answers = [404]
    launched = await launch("sh", "-c", "kill $$", notify=(ear.url,), recipe=recipe(1))

    await told_by(Path(launched.folder, "hooks.log"), "answered 404 (try 1 of 3)")
    await nobody_tells(state)

    assert ear.events == ["exited"]


async def test_an_address_at_which_nobody_listens_is_noted_and_harms_nothing(
    agent: Agent, launch: "Launcher", port: int
) -> None:
    url = f"http://user:planted@127.0.0.1:{port}/"
    launched = await launch("sh", "-c", "kill $$", notify=(url,), recipe=recipe(1))
    log = Path(launched.folder, "hooks.log")

    await told_by(log, "(try 3 of 3)")

    assert "refused" in log.read_text()
    assert "planted" not in log.read_text()


async def test_a_name_and_a_password_in_an_address_are_sent_as_such(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    url = ear.url.replace("http://", "http://user:pa%24s@")
    await launch("sh", "-c", "kill $$", notify=(url,), recipe=recipe(1))

    await ear.hear("exited")

    assert "Authorization: Basic dXNlcjpwYSRz" in ear.heads[0]
    assert ear.heads[0].startswith("POST /hook?token=planted-secret HTTP/1.1")


async def test_a_command_that_fails_is_noted_with_its_status(
    agent: Agent, launch: "Launcher"
) -> None:
    hooks = (Hook("exited", "echo out; exit 3"), Hook("exited", "kill -9 $$"))
    launched = await launch("sh", "-c", "kill $$", hooks=hooks, recipe=recipe(1))
    log = Path(launched.folder, "hooks.log")

    await told_by(log, "command 1 of --on exited ended with status 3")
    await told_by(log, "command 2 of --on exited was ended by signal 9")
    assert "out\n" in log.read_text()


async def test_a_command_whose_folder_is_gone_is_noted(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    cwd = tmp_path / "gone"
    cwd.mkdir()
    hooks = (Hook("exited", "true"),)
    launched = await launch(
        "sh", "-c", 'rmdir "$PWD"; kill $$', hooks=hooks, recipe=recipe(1), cwd=str(cwd)
    )

    await told_by(Path(launched.folder, "hooks.log"), "a command could not be run: ")


async def test_what_a_command_starts_is_no_part_of_the_server(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    command = f"sleep 600 & echo $! > {pids}.new; mv {pids}.new {pids}; sleep 600"
    script = "echo fired up; sleep 600"
    launched = await launch("sh", "-c", script, hooks=(Hook("ready", command),), recipe=recipe())
    await told_by(pids, "\n")
    server = (launched.server.pid, launched.server.start_ticks)
    keeper = (launched.keeper.pid, launched.keeper.start_ticks)

    members = await find_members(agent, Path(launched.folder).name, server, keeper)
    os.kill(launched.server.pid, signal.SIGKILL)
    os.kill(next(m.pid for m in members if m.pid != launched.server.pid), signal.SIGKILL)
    await ended(agent, launched)

    assert int(pids.read_text()) not in {member.pid for member in members}
    assert {member.argv[0] for member in members} == {"sh", "sleep"}
    assert len(members) == 2
    assert Path(f"/proc/{pids.read_text().strip()}").exists()


async def test_what_is_told_is_safe_to_pass_on(agent: Agent, launch: "Launcher", ear: Ear) -> None:
    spec = ServerSpec(model="https://user:planted@hub.example/m?sig=planted#x", port=1)
    env = {"HF_TOKEN": "planted-token"}
    await launch("sh", "-c", "exit 1", notify=(ear.url,), recipe=recipe(1), spec=spec, env=env)

    told = await ear.hear("exited")

    assert told["model"] == "https://hub.example/m"
    assert "planted" not in json.dumps(told)
