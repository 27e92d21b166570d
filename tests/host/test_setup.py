"""Shell text before a command runs in the command's own shell, and its failure is told."""

from typing import TYPE_CHECKING

import pytest

from firedup.host.file import read_file
from firedup.host.link import Agent
from firedup.host.run import ServerExit, watch_run

if TYPE_CHECKING:
    from tests.host.conftest import Launcher


@pytest.mark.parametrize(
    ("setup", "code", "said"),
    [
        ("A=1\nexport A", 4, "A is 1\n"),
        ("false", 1, "firedup: the set-up failed with status 1\n"),
        ("exit 3", 3, ""),
    ],
)
async def test_a_failed_set_up_does_not_start_the_server(
    agent: Agent, launch: "Launcher", setup: str, code: int, said: str
) -> None:
    started = await launch("sh", "-c", "echo A is $A; exit 4", setup=setup)

    async for end in watch_run(agent, started.folder.rsplit("/", 1)[1]):
        assert isinstance(end, ServerExit)
        assert end.event.code == code

    assert (await read_file(agent, started.log)).decode() == said
