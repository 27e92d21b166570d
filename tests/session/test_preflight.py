"""A doomed launch is refused in a second, with what dooms it; --force launches all the same."""

import json
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from workbench import Site, recorded

from firedup.core.error import RefusedError
from firedup.core.model import Finding, Severity, Verdict
from firedup.session.launch import refuse_doomed
from firedup.session.order import Order
from firedup.session.registry import list_runs
from firedup.testing.script import End, Script, line


def safetensors(values: int = 64) -> bytes:
    """A whole file with one tensor of `values` float32."""
    header = json.dumps(
        {"w": {"dtype": "F32", "shape": [values], "data_offsets": [0, 4 * values]}}
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4 * values)


def gguf(values: int = 64) -> bytes:
    """A whole file with one tensor of `values` float32."""

    def text(word: bytes) -> bytes:
        return struct.pack("<Q", len(word)) + word

    pair = text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama")
    tensor = text(b"w") + struct.pack("<IQIQ", 1, values, 0, 0)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + pair + tensor
    return head + bytes(-len(head) % 32) + bytes(4 * values)


def make_model(folder: Path, shards: int = 3) -> Path:
    folder.mkdir()
    names = [f"model-{n}-of-{shards}.safetensors" for n in range(1, shards + 1)]
    for name in names:
        (folder / name).write_bytes(safetensors())
    index = {"weight_map": {f"w{n}": name for n, name in enumerate(names)}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    (folder / "config.json").write_text(json.dumps({"model_type": "llama"}))
    return folder


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


Refuse = Callable[..., Any]


@pytest.fixture
def refuse(site: Site) -> Refuse:
    async def ask(*argv: str, **order: Any) -> str:
        """What the refusal says."""
        with pytest.raises(RefusedError) as refusal:
            await site.launch(argv, **order)
        assert await list_runs(site.agent) == ()
        parts = (refusal.value.what, refusal.value.evidence, refusal.value.why, refusal.value.todo)
        return "\n".join(part for part in parts if part)

    return ask


def sglang(site: Site, model: Path | str, *flags: str) -> tuple[str, ...]:
    program = site.fake(Script((line(0, "up"),), end=End(0.01)))
    return (program, "serve", "--model-path", str(model), "--port", str(site.port), *flags)


async def test_a_program_that_is_not_there_or_not_executable(
    site: Site, refuse: Refuse, tmp_path: Path
) -> None:
    (tmp_path / "mute").write_text("")

    assert "no-such-program: not found" in await refuse("no-such-program")
    assert "mute: not executable" in await refuse(str(tmp_path / "mute"))
    assert "--force launches all the same" in await refuse("no-such-program")


async def test_a_program_that_a_setup_may_bring_is_not_asked_for(site: Site) -> None:
    run = await site.launch(("no-such-program",), setup="no-such-program() { :; }")

    assert run.manifest.setup is not None


async def test_a_port_that_is_taken_and_who_holds_it(
    site: Site, refuse: Refuse, model: Path
) -> None:
    with socket.create_server(("127.0.0.1", site.port)):
        said = await refuse(*sglang(site, model))

    assert f"port {site.port} belongs to pid {os.getpid()}" in said


async def test_a_port_that_a_run_of_ones_own_holds_is_freed_by_its_name(
    site: Site, model: Path
) -> None:
    program = site.fake(recorded("s01_success.log"))
    argv = (program, "serve", "--model-path", str(model), "--port", str(site.port))
    first = await site.launch(argv)
    await site.conclude(first)

    with pytest.raises(RefusedError) as refusal:
        await site.launch(argv)
    assert f"firedup stop {first.label.id}," in (refusal.value.todo or "")


async def test_a_port_on_another_address_is_not_in_the_way(site: Site, model: Path) -> None:
    with socket.create_server(("127.0.0.2", site.port)):
        run = await site.launch(sglang(site, model, "--host", "127.0.0.1"))

    assert run.spec.port == site.port


async def test_a_port_that_the_engine_derives_from_its_own(
    site: Site, refuse: Refuse, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    from firedup.profile.command import read_command

    def with_derived(*args: Any) -> Any:
        return replace(read_command(*args), derived_ports=(site.port + 1,))

    monkeypatch.setattr("firedup.session.launch.read_command", with_derived)
    with socket.create_server(("127.0.0.1", site.port + 1)):
        said = await refuse(*sglang(site, model))

    assert f"Port {site.port + 1} (derived from port {site.port}) is taken" in said


@pytest.mark.parametrize("path", ["/no/such/model", "./model", "a/b/c", "model.gguf"])
async def test_a_model_that_can_only_be_a_path_and_is_not_there(
    site: Site, refuse: Refuse, path: str
) -> None:
    assert f"The model {os.path.normpath(Path.cwd() / path)} does not exist" in await refuse(
        *sglang(site, path)
    )


async def test_a_name_that_may_be_a_hub_s_is_not_taken_for_a_path(site: Site) -> None:
    for name in ("org/model", "model"):
        run = await site.launch(sglang(site, name))

        assert run.spec.model == name


async def test_a_whole_model_has_nothing_against_it(site: Site, model: Path) -> None:
    run = await site.launch(sglang(site, model))

    assert run.spec.model == str(model)


async def test_a_truncated_shard(site: Site, refuse: Refuse, model: Path) -> None:
    shard = model / "model-2-of-3.safetensors"
    shard.write_bytes(shard.read_bytes()[:-1])

    said = await refuse(*sglang(site, model))

    size = len(safetensors())
    assert f"{shard}: {size - 1} bytes, but its header needs at least {size}" in said


async def test_a_shard_cut_within_its_header(site: Site, refuse: Refuse, model: Path) -> None:
    shard = model / "model-2-of-3.safetensors"
    shard.write_bytes(shard.read_bytes()[:20])

    assert f"{shard}: 20 bytes, but its header needs" in await refuse(*sglang(site, model))


async def test_a_shard_that_the_index_names_and_that_is_not_there(
    site: Site, refuse: Refuse, model: Path
) -> None:
    (model / "model-3-of-3.safetensors").unlink()

    said = await refuse(*sglang(site, model))

    assert "model-3-of-3.safetensors: the index names it and it is not there" in said


async def test_a_shard_that_is_only_a_pointer_to_large_file_storage(
    site: Site, refuse: Refuse, model: Path
) -> None:
    shard = model / "model-1-of-3.safetensors"
    shard.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 272\n")

    assert f"{shard}: the file is a Git LFS pointer" in await refuse(*sglang(site, model))


async def test_a_download_that_was_broken_off_is_one_reason_that_names_some_files(
    site: Site, refuse: Refuse, tmp_path: Path
) -> None:
    model = make_model(tmp_path / "big", shards=64)
    for number in range(2, 65):
        (model / f"model-{number}-of-64.safetensors").unlink()

    said = await refuse(*sglang(site, model))

    assert "63 files of the model are damaged, incomplete or not readable." in said
    assert len(said.splitlines()) == 7
    assert "and 59 more, which firedup preflight --json lists" in said


async def test_a_folder_that_does_not_say_what_it_holds_or_holds_nothing(
    site: Site, refuse: Refuse, model: Path, tmp_path: Path
) -> None:
    (model / "config.json").unlink()
    (tmp_path / "empty").mkdir()
    (tmp_path / "configured").mkdir()
    (tmp_path / "configured" / "config.json").write_text('{"model_type": "llama"}')

    assert f"{model}: no config.json in this folder" in await refuse(*sglang(site, model))
    assert "empty: no weights in this folder" in await refuse(*sglang(site, tmp_path / "empty"))
    configured = sglang(site, tmp_path / "configured")
    assert "configured: no weights in this folder" in await refuse(*configured)
    assert await site.launch((*configured, "--load-format", "dummy"))


async def test_an_index_that_promises_more_than_its_files_hold_is_a_warning(
    site: Site, model: Path
) -> None:
    heeded: list[Finding] = []
    await refuse_doomed(site.agent, site.catalogue, Order(sglang(site, model)), heed=heeded.append)

    assert [one.id for one in heeded] == ["model-index-differs"]
    assert [one.severity for one in heeded] == [Severity.WARNING]


async def test_all_that_is_wrong_is_said_at_once(
    site: Site, refuse: Refuse, model: Path, tmp_path: Path
) -> None:
    draft = make_model(tmp_path / "draft")
    (model / "model-1-of-3.safetensors").unlink()
    (draft / "model-2-of-3.safetensors").unlink()

    said = await refuse(*sglang(site, model, "--speculative-draft-model-path", str(draft)))

    assert str(model / "model-1-of-3.safetensors") in said
    assert str(draft / "model-2-of-3.safetensors") in said


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (gguf()[:-1], f"{len(gguf()) - 1} bytes, but its header needs at least {len(gguf())}"),
        (gguf()[:40], "40 bytes, but its header needs at least"),
        (b"", "0 bytes, but its header needs at least"),
        (b"PK\x03\x04" + bytes(100), "the file begins with"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer"),
    ],
)
async def test_a_gguf_file_that_is_not_whole(
    site: Site, refuse: Refuse, tmp_path: Path, data: bytes, why: str
) -> None:
    (tmp_path / "model.gguf").write_bytes(data)

    assert why in await refuse(*sglang(site, tmp_path / "model.gguf"))


async def test_a_whole_gguf_file_has_nothing_against_it(site: Site, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(gguf())

    assert (await site.launch(sglang(site, tmp_path / "model.gguf"))).spec.model


async def test_a_log_that_cannot_be_written(
    site: Site, refuse: Refuse, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")

    assert "is a folder" in await refuse(*sglang(site, model), log=str(tmp_path))
    for odd in (str(tmp_path / "pipe"), "/dev/zero"):
        assert "is a pipe or a device" in await refuse(*sglang(site, model), log=odd)
    assert "cannot be created" in await refuse(
        *sglang(site, model), log=str(tmp_path / "file" / "server.log")
    )


async def test_a_log_that_keeps_nothing_is_refused(
    site: Site, refuse: Refuse, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "nowhere").symlink_to("/dev/null")

    for path in ("/dev/null", str(tmp_path / "nowhere")):
        told = await refuse(*sglang(site, model), log=path)
        assert "kept nowhere, so the server could not be watched" in told
        assert "Leave out --log" in told


async def test_a_log_s_folder_is_made(site: Site, model: Path, tmp_path: Path) -> None:
    log = tmp_path / "new" / "folder" / "server.log"

    run = await site.launch(sglang(site, model), log=str(log))
    await site.conclude(run)

    assert log.read_text() == "up\n"


async def test_a_folder_to_run_in_that_is_none(
    site: Site, refuse: Refuse, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    argv = sglang(site, model)

    assert "none: no such folder" in await refuse(*argv, cwd=str(tmp_path / "none"))
    assert "file: not a folder" in await refuse(*argv, cwd=str(tmp_path / "file"))


async def test_force_launches_what_was_refused(site: Site, refuse: Refuse) -> None:
    program = site.fake(recorded("s01_success.log"))
    argv = (program, "serve", "--model-path", "/no/such/model", "--port", str(site.port))
    await refuse(*argv)

    run = await site.launch(argv, force=True)

    assert (await site.conclude(run)).explanation.verdict is Verdict.READY
