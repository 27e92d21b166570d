"""Files of variables are read on the host; their values reach the server and nobody else."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from firedup.host.base import OperationError
from firedup.host.file import read_file
from firedup.host.link import Agent
from firedup.host.run import watch_run

if TYPE_CHECKING:
    from tests.host.conftest import Launcher

SHOW = (sys.executable, "-c", "import os; print([os.environ.get(n) for n in 'ABCDEF'])")


async def look(agent: Agent, *paths: Path | str) -> list[dict[str, Any]]:
    result = await agent.call("variables", paths=[str(path) for path in paths])
    return list(result["files"])


async def log_of(agent: Agent, launched: Any) -> str:
    async for _ in watch_run(agent, Path(launched.folder).name):
        pass
    return (await read_file(agent, launched.log)).decode()


async def test_a_file_may_have_quotes_comments_and_exports(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    file = tmp_path / "env"
    file.write_text("\ufeff# c\r\n\nA=1\r\nexport B='two words'\nC=\"x\"\nD=a'b\n  E=ü=$A\nF=")

    launched = await launch(*SHOW, env_files=(str(file),))

    assert await log_of(agent, launched) == "['1', 'two words', 'x', \"a'b\", 'ü=$A', '']\n"
    (found,) = await look(agent, file)
    assert found == {"path": str(file), "names": list("ABCDEF"), "error": None}


async def test_later_files_win_over_earlier_ones_and_options_over_all(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    for name, text in (("one", "A=1\nB=1\nC=1\n"), ("two", "B=2\nC=2\n")):
        (tmp_path / name).write_text(text)
    files = (str(tmp_path / "one"), str(tmp_path / "two"))

    launched = await launch(*SHOW, env_files=files, env={"C": "3"})

    assert await log_of(agent, launched) == "['1', '2', '3', None, None, None]\n"


async def test_a_value_is_neither_answered_nor_kept(
    agent: Agent, launch: "Launcher", tmp_path: Path
) -> None:
    file = tmp_path / "env"
    file.write_text("HF_TOKEN=planted-secret\n")

    launched = await launch("true", env_files=(str(file),))
    await log_of(agent, launched)

    assert "planted-secret" not in json.dumps(await look(agent, file))
    texts = [path.read_text() for path in Path(launched.folder).iterdir()]
    assert not any("planted-secret" in text for text in texts)
    assert json.loads(Path(launched.folder, "manifest.json").read_text())["env_files"] == [
        str(file)
    ]


@pytest.mark.parametrize(
    ("line", "what", "evidence"),
    [
        (b'A="planted', "has a quote without its other half", "line     A=…"),
        (b"A='", "has a quote without its other half", "line     A=…"),
        (b"planted secret", "is no K=V pair", None),
        (b"1A=planted", "is no K=V pair", None),
        (b"A=plan\0ted", "holds a zero byte", "line     A=…"),
    ],
)
async def test_a_line_that_is_no_pair_is_named_by_its_number_and_not_shown(
    agent: Agent,
    launch: "Launcher",
    tmp_path: Path,
    line: bytes,
    what: str,
    evidence: str | None,
) -> None:
    file = tmp_path / "env"
    file.write_bytes(b"OK=1\n" + line + b"\n")

    (found,) = await look(agent, file)
    with pytest.raises(OperationError, match="line 2 of") as caught:
        await launch("true", env_files=(str(file),))

    assert found["error"]["what"] == f"line 2 of {file} {what}"
    assert found["error"]["evidence"] == evidence
    assert found["names"] == []
    assert caught.value.code == "exec-failed"
    assert "planted" not in json.dumps(found) + str(caught.value)


@pytest.mark.parametrize("content", [None, b"A=\xff\xfe planted"])
async def test_a_file_that_cannot_be_read_is_named(
    agent: Agent, tmp_path: Path, content: bytes | None
) -> None:
    file = tmp_path / "env"
    if content is not None:
        file.write_bytes(content)

    (found,) = await look(agent, file)

    assert found["error"]["what"] == f"the environment file {file} cannot be read"
    why = "No such file or directory" if content is None else "byte 2 is no UTF-8"
    assert found["error"]["why"] == why


async def test_a_relative_path_begins_at_the_home_on_the_host(agent: Agent) -> None:
    home = Path(agent.hello["home"])

    files = await look(agent, "missing.env", "~/missing.env", "/missing.env")

    paths = [str(home / "missing.env")] * 2 + ["/missing.env"]
    assert [file["path"] for file in files] == paths
