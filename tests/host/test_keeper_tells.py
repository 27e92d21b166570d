"""The keeper concludes by itself and tells, while no client is attached."""

import asyncio
import json
import signal
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ear import LIMITS, SERVER, Ear, recipe
from kept import end, ended, told_by

from firedup.host.base import local_host
from firedup.host.launch import launch_server
from firedup.host.link import Agent, open_agent
from firedup.host.manifest import KeyPlace, Manifest, Sign

if TYPE_CHECKING:
    from tests.host.conftest import Launcher


def serve(port: int, mood: Path, how: str = "fine") -> tuple[str, ...]:
    return (sys.executable, "-c", SERVER, str(port), str(mood), how)


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


@pytest.mark.parametrize(
    ("stall", "verdict"), [("null", "stopped"), ('{"id":"no-progress"}', "stalled")]
)
async def test_an_end_that_firedup_asked_for_is_no_crash(
    agent: Agent, launch: "Launcher", ear: Ear, stall: str, verdict: str
) -> None:
    launched = await launch("sleep", "600", notify=(ear.url,), recipe=recipe(1))
    asked = f'{{"event":"stop-asked","at_ns":1,"by":"x","stall":{stall}}}\n'
    Path(launched.folder, "events.jsonl").write_text(asked)
    end(launched, signal.SIGKILL)
    await ended(agent, launched)

    await ear.hear("exited")

    assert [(told["event"], told["verdict"]) for told in ear.told] == [("exited", verdict)]


async def test_the_time_served_is_told(agent: Agent, launch: "Launcher", ear: Ear) -> None:
    launched = await launch(
        "sh", "-c", "echo fired up; sleep 600", notify=(ear.url,), recipe=recipe()
    )
    await ear.hear("ready")
    end(launched, signal.SIGKILL)

    told = await ear.hear("crashed")

    assert told["served_s"] >= 0
    assert ear.told[0]["served_s"] is None


async def test_a_ready_line_in_the_last_burst_of_a_log_counts(launch: "Launcher", ear: Ear) -> None:
    script = "yes 0123456789abcdef | head -c 5000000; echo fired up; echo SIGTERM received; exit 1"
    await launch("sh", "-c", script, notify=(ear.url,), recipe=recipe())

    told = await ear.hear("exited")

    assert (told["verdict"], told["served_s"] is None) == ("stopped", False)


async def test_a_pattern_that_the_host_cannot_read_is_noted_and_passed_over(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    odd = Sign(r"\p{L}+ up")
    rules = recipe(ready=(odd, Sign("fired up")), stop=(odd,))
    launched = await launch(
        "sh", "-c", "echo fired up; exec sleep 600", notify=(ear.url,), recipe=rules
    )
    await ear.hear("ready")
    end(launched, signal.SIGKILL)
    await ended(agent, launched)

    noted = Path(launched.folder, "hooks.log").read_text().splitlines()
    assert [line.partition("firedup: ")[2][:25] for line in noted] == [
        "a ready pattern is passed",
        "a stop pattern is passed ",
    ]
    assert "'\\\\p{L}+ up': bad escape" in noted[0]


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


async def test_a_stranger_on_the_port_is_not_given_the_key(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    heard = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    place = KeyPlace(options=("--api-key",))
    taken = recipe(server.sockets[0].getsockname()[1], key=place)
    argv = ("sh", "-c", "echo fired up; sleep 600", "sh", "--api-key", "planted-key")
    await launch(*argv, notify=(ear.url,), recipe=taken)

    await ear.hear("crashed")

    server.close()
    assert heard
    assert b"planted-key" not in b"".join(heard)
