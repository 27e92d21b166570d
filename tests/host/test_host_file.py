import asyncio
import os
from pathlib import Path

import pytest

from firedup.host.base import OperationError
from firedup.host.file import (
    append_file,
    check_paths,
    find_program,
    make_folder,
    read_file,
    remove_path,
    stat_file,
)
from firedup.host.link import Agent


async def test_a_part_of_a_file_is_read(agent: Agent, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")

    assert await read_file(agent, str(path)) == b"0123456789"
    assert await read_file(agent, str(path), offset=3, length=4) == b"3456"
    assert await read_file(agent, str(path), offset=20) == b""


async def test_appends_of_several_clients_do_not_mix(agent: Agent, tmp_path: Path) -> None:
    path = str(tmp_path / "events.jsonl")
    lines = [b"%d" % number * 3000 + b"\n" for number in range(10)]
    sizes = await asyncio.gather(*(append_file(agent, path, line) for line in lines))

    assert max(sizes) == sum(map(len, lines))
    assert sorted(Path(path).read_bytes().splitlines(keepends=True)) == sorted(lines)
    assert Path(path).stat().st_mode & 0o777 == 0o600


async def test_a_new_folder_is_private_with_its_parents(agent: Agent, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"

    assert await make_folder(agent, str(path))
    assert not await make_folder(agent, str(path))
    assert path.stat().st_mode & 0o777 == 0o700
    assert path.parent.stat().st_mode & 0o777 == 0o700


async def test_only_what_lies_in_the_runs_folder_is_removed(agent: Agent, tmp_path: Path) -> None:
    runs = Path(agent.hello["runs_folder"])
    inside, outside = runs / "one", tmp_path / "precious"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (runs / "link").symlink_to(outside)
    for path in (outside, runs, runs / "one" / ".." / ".." / "precious", runs / "link" / "x"):
        with pytest.raises(OperationError) as caught:
            await remove_path(agent, str(path))
        assert caught.value.code == "refused"
    await remove_path(agent, str(inside))
    await remove_path(agent, str(runs / "link"))

    assert list(runs.iterdir()) == []
    assert outside.exists()


async def test_a_path_that_is_not_there_has_no_facts(agent: Agent, tmp_path: Path) -> None:
    assert await stat_file(agent, str(tmp_path / "none")) is None
    found = await stat_file(agent, str(tmp_path))

    assert found is not None
    assert (found.kind, found.uid) == ("folder", os.getuid())


async def test_names_that_are_no_utf_8_survive(agent: Agent, tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    await append_file(agent, path, b"x")

    names = [e["name"] for e in (await agent.call("list", path=str(tmp_path)))["entries"]]
    assert os.fsdecode(b"\xff\xfe") in names
    assert await read_file(agent, path) == b"x"


async def test_an_error_names_its_path_and_its_kind(agent: Agent, tmp_path: Path) -> None:
    with pytest.raises(OperationError) as caught:
        await read_file(agent, str(tmp_path / "none"))

    assert (caught.value.code, caught.value.evidence) == ("not-found", "ENOENT")
    assert caught.value.what == f"{tmp_path}/none: No such file or directory"


async def test_a_program_is_found_as_exec_would(agent: Agent, tmp_path: Path) -> None:
    tool, data = tmp_path / "tool", tmp_path / "data"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    data.write_text("")

    assert await find_program(agent, "tool", path=str(tmp_path)) == (str(tool), None)
    assert await find_program(agent, "./tool", cwd=str(tmp_path)) == (str(tool), None)
    assert await find_program(agent, "data", path=f"/bin:{tmp_path}") == (None, str(data))
    assert await find_program(agent, "no-such-tool") == (None, None)
    assert (await find_program(agent, "sh"))[0] is not None


async def test_a_path_tells_what_could_be_made_there(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    there, missing = await check_paths(
        agent, (str(tmp_path / "file"), str(tmp_path / "new" / "log"))
    )

    assert there.file is not None
    assert (there.exists, there.file.size, there.is_writable) == (True, 5, True)
    assert (missing.exists, missing.file) == (False, None)
    assert missing.nearest == str(tmp_path)
    assert missing.is_nearest_writable
    assert missing.free_bytes > 0
    assert missing.file_system != "unknown"


async def test_memory_names_the_host_and_its_limits(agent: Agent) -> None:
    facts = await agent.call("memory")

    assert 0 < facts["available_bytes"] <= facts["total_bytes"]
    assert facts["cgroup"]["version"] in (1, 2, None)
    assert facts["shm"]["total_bytes"] > 0
    assert facts["processors"] >= 1
