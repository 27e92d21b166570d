"""Set-up text means the same whatever stands in it, in bash and where there is only a plain sh."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firedup.host.base import OperationError
from firedup.host.file import read_file
from firedup.host.link import Agent
from firedup.host.run import watch_run

if TYPE_CHECKING:
    from tests.host.conftest import Launcher

SHOW = (sys.executable, "-c", "import os, sys; print(ascii(os.environb[b'A']), sys.argv[1:])")
TEXTS = [
    ("A=plain; export A", "plain"),
    ("A='it'\"'\"'s'; export A", "it's"),
    ('A="say \\"hi\\" and \\$HOME"; export A', 'say "hi" and $HOME'),
    ("A=one\n# a comment\nexport A\n", "one"),
    ("A='two\nlines'; export A", "two\nlines"),
    ("A='wow!!'; A=\"$A!x\"; export A", "wow!!!x"),
    ("A=größe-模型; export A", "größe-模型"),
    ("A='a } b { c'; export A # } || exit", "a } b { c"),
    ("A=$(printf '%s' \"a  b\"); export A", "a  b"),
]


@pytest.fixture(params=["bash", "sh"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The PATH of a host with bash, and of one with nothing but dash under the name sh."""
    if request.param == "bash":
        return os.environ["PATH"]
    dash = shutil.which("dash")
    if dash is None:
        pytest.skip("there is no dash here")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "sh").symlink_to(dash)
    return str(folder)


async def log_of(agent: Agent, folder: str, log: str) -> str:
    async for _ in watch_run(agent, Path(folder).name):
        pass
    return (await read_file(agent, log)).decode()


@pytest.mark.parametrize(("setup", "value"), TEXTS)
async def test_a_set_up_means_what_it_says(
    agent: Agent, launch: "Launcher", path: str, setup: str, value: str
) -> None:
    launched = await launch(*SHOW, "$A '\"!", setup=setup, env={"PATH": path})

    said = await log_of(agent, launched.folder, launched.log)

    assert said == f"{value.encode()!a} {['$A ' + chr(39) + chr(34) + '!']}\n"


async def test_a_set_up_that_fails_is_told_in_a_plain_shell_too(
    agent: Agent, launch: "Launcher", path: str
) -> None:
    launched = await launch(*SHOW, setup="no-such-command", env={"PATH": path})

    said = await log_of(agent, launched.folder, launched.log)

    assert said.endswith("firedup: the set-up failed with status 127\n")


async def test_a_login_without_bash_is_refused_with_the_reason(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    with pytest.raises(OperationError, match="--login needs bash, which is not on this host"):
        await launch("true", login=True, env={"PATH": str(tmp_path)})


async def test_words_of_other_scripts_reach_the_server_as_they_are(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    cwd = tmp_path / "größe 模型"
    cwd.mkdir()
    code = "import os, sys; print(ascii(os.fsencode(sys.argv[1])), ascii(os.environb[b'A']))"
    launched = await launch(sys.executable, "-c", code, "模型", env={"A": "größe"}, cwd=str(cwd))

    said = await log_of(agent, launched.folder, launched.log)

    assert said == f"{'模型'.encode()!a} {'größe'.encode()!a}\n"
