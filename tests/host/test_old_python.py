"""The oldest Python that an agent and a keeper may meet, where the locale knows only ASCII."""

import asyncio
from pathlib import Path

import pytest
from ear import LIMIT_S, recipe

from firedup.host.base import Host
from firedup.host.launch import launch_server
from firedup.host.link import open_agent
from firedup.host.manifest import Hook, Manifest

OLDEST = Path.home() / ".pyenv/versions/3.6.15/bin/python"


@pytest.mark.skipif(not OLDEST.exists(), reason="no Python 3.6 here")
async def test_python_3_6_launches_judges_and_tells_in_any_script(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LANG"):
        monkeypatch.setenv(name, "C")
    cwd = tmp_path / "größe"
    cwd.mkdir()
    (cwd / "env").write_text("A=模型\n")
    manifest = Manifest(
        "old",
        "größe",
        ("sh", "-c", 'echo "$1 $A $B"; echo fired up; exit 3', "-", "ü"),
        setup="B='é'; export B",
        cwd=str(cwd),
        env_files=(str(cwd / "env"),),
        hooks=(Hook("exited", 'echo "$FIREDUP_NAME $FIREDUP_EXIT_CODE ü"'),),
        recipe=recipe(),
    )
    async with open_agent(Host(name="old", python=str(OLDEST))) as agent:
        launched = await launch_server(agent, manifest)
    log = Path(launched.folder, "hooks.log")
    async with asyncio.timeout(LIMIT_S):
        while not log.exists() or not log.read_text():
            await asyncio.sleep(0.02)

    assert log.read_text() == "größe 3 ü\n"
    assert Path(launched.log).read_text() == "ü 模型 é\nfired up\n"
    assert Path(launched.folder, "keeper.log").read_text() == ""
