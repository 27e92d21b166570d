"""How a keeper tells: posts that fail, commands, and what must not be passed on."""

import json
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from ear import Ear, recipe
from kept import ended, nobody_tells, told_by

from firedup.core.model import ServerSpec
from firedup.host.link import Agent
from firedup.host.manifest import Hook
from firedup.host.process import find_members

if TYPE_CHECKING:
    from tests.host.conftest import Launcher


async def test_an_address_that_fails_is_tried_three_times_and_its_secret_is_not_noted(
    agent: Agent, launch: "Launcher", ear: Ear
) -> None:
    ear.answers = [500, 503, 502]
    launched = await launch("sh", "-c", "kill $$", notify=(ear.url,), recipe=recipe(1))
    log = Path(launched.folder, "hooks.log")

    await told_by(log, "(try 3 of 3)")

    assert ear.events == ["exited"] * 3
    assert [line.partition(" firedup: ")[2] for line in log.read_text().splitlines()] == [
        f"--notify http://127.0.0.1:{ear.port} of exited: answered {status} (try {number} of 3)"
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
