"""A keeper goes on where its host gives no more files or processes for a while."""

import errno
import json
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kept import end, ended, told_by

from firedup.host.agent.bell import Bell
from firedup.host.agent.spawn import Helpers
from firedup.host.link import Agent

if TYPE_CHECKING:
    from tests.host.conftest import Launcher

MANIFEST = {
    "id": "r",
    "name": "r",
    "log": "/nowhere/server.log",
    "hooks": [{"on": "exited", "command": "true"}],
}


class Poor(Helpers):
    """The first start fails, as it does where the server has all processes of its user."""

    def __init__(self) -> None:
        super().__init__()
        self.tries = 0

    def start(
        self,
        work: Callable[[], Any],
        handler: Callable[[Any], None] | None = None,
        *,
        limit_s: int = 0,
    ) -> None:
        self.tries += 1
        if self.tries == 1:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")


def test_what_cannot_be_told_for_want_of_a_process_is_told_later_and_once(tmp_path: Path) -> None:
    helpers = Poor()
    bell = Bell(str(tmp_path), MANIFEST, helpers)
    bell.ring("exited", {"verdict": "stopped"})

    bell.heed()
    was_waiting = bell.is_waiting
    bell.heed()
    bell.heed()

    assert was_waiting
    assert not bell.is_waiting
    assert helpers.tries == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "hook-exited.json",
        "hook-exited.started",
    ]


def test_a_claim_that_fails_where_there_are_no_links_is_taken_back_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    helpers = Poor()
    helpers.tries = 1
    bell = Bell(str(tmp_path), MANIFEST, helpers)
    bell.ring("exited", {"verdict": "stopped"})
    monkeypatch.setattr("os.link", refuse)
    with monkeypatch.context() as full:
        full.setattr("os.rename", refuse)
        bell.heed()
    left = list(tmp_path.iterdir())
    bell.heed()

    assert left == []
    assert not bell.is_waiting
    assert json.loads((tmp_path / "hook-exited.json").read_text())["event"] == "exited"


async def test_a_keeper_that_can_open_nothing_samples_again_later(
    agent: Agent, launch: "Launcher"
) -> None:
    launched = await launch("sleep", "600")
    folder, keeper = Path(launched.folder), launched.keeper.pid
    most = resource.prlimit(keeper, resource.RLIMIT_NOFILE)
    resource.prlimit(keeper, resource.RLIMIT_NOFILE, (3, most[1]))
    await told_by(folder / "keeper.log", "sample not taken")
    resource.prlimit(keeper, resource.RLIMIT_NOFILE, most)
    samples = folder / "samples.jsonl"
    before = samples.read_text() if samples.exists() else ""

    await told_by(samples, f'{before}{{"at_ns"')

    end(launched, signal.SIGKILL)
    await ended(agent, launched)
    assert '"signal": 9' in (folder / "exit.json").read_text()
