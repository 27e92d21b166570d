"""Folders that are made to stop, mislead or exhaust whoever reads them."""

from __future__ import annotations

import json
import os
import pickle
import resource
import struct
from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.drafter import check
from firedup.host.agent.checkpoint import describe_checkpoint
from firedup.host.agent.document import FlawError, Source
from firedup.host.agent.slices import read_slices
from firedup.host.agent.system import AgentError
from tests.drafter.zoo_folder import good_folders


def why_of(folder: Path, name: str) -> str:
    return str(dict(describe_checkpoint(str(folder))["damages"])[name])


def test_links_that_lead_to_themselves(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").symlink_to("model.safetensors")
    (tmp_path / "config.json").symlink_to("config.json")

    assert "lead back to themselves" in why_of(tmp_path, "model.safetensors")
    assert "lead back to themselves" in why_of(tmp_path, "config.json")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "a.safetensors", "a.gguf"])
def test_a_pipe_nobody_writes_to_holds_nobody_up(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)

    assert why_of(tmp_path, name) == "a pipe or a device, not a file"


def test_a_device_and_a_folder_in_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").symlink_to("/dev/zero")
    (tmp_path / "config.json").mkdir()

    assert why_of(tmp_path, "a.safetensors") == "a pipe or a device, not a file"
    assert why_of(tmp_path, "config.json") == "a folder, not a file"


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return Path.touch, (tmp_path / "sprung",)

    for name in ("pytorch_model.bin", "model.safetensors", "config.json", "tokenizer.model"):
        (tmp_path / name).write_bytes(pickle.dumps(Trap()))

    told = describe_checkpoint(str(tmp_path))

    assert ["pytorch_model.bin", "a pickle; not read"] in told["unread"]
    assert {"model.safetensors", "config.json"} <= set(dict(told["damages"]))
    assert not (tmp_path / "sprung").exists()


def test_long_files_are_left_alone(tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40)

    assert [file for file, _ in describe_checkpoint(str(tmp_path))["unread"]] == [
        "config.json",
        "tokenizer.json",
    ]


def test_a_header_of_a_terabyte_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 1 << 40))
        file.truncate(1 << 41)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    assert "promise a header of" in why_of(tmp_path, "model.safetensors")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 50_000


def test_names_without_number_are_cut_and_that_is_said(tmp_path: Path) -> None:
    header = {f"w{n}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(9000)}
    text = json.dumps(header).encode()
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)

    told = describe_checkpoint(str(tmp_path))

    assert told["tensor_count"] == 9000
    assert len(told["tensors"]) == len(told["groups"]) == 4000
    assert ["", "its tensors have thousands of different names; the rest is not told"] in told[
        "damages"
    ]


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"12345678")
    source = Source(str(path))
    os.truncate(path, 4)

    assert source.has_changed
    with pytest.raises(FlawError, match="it ends at byte 4, while 4 more are needed"):
        source.read(0, 8)
    source.close()


def test_slices_are_limited_and_what_is_missing_is_zeros(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abcd")

    with pytest.raises(AgentError, match="bytes are asked for"):
        read_slices(str(tmp_path), [["a", 0, 1 << 30, 1]])
    data, flaws = read_slices(
        str(tmp_path), [["a", 0, 4, 2], ["a", 2, 4, 1], ["b", 0, 1, 1], ["a", 1 << 70, 1, 1]]
    )

    assert data == b"acbd" + bytes(6)
    assert [number for number, _ in flaws] == [1, 2, 3]


@pytest.mark.parametrize("path", ["", "no/such/place", "nul\0byte", "/dev/null/x"])
def test_what_is_not_there_is_wrong_use(path: str) -> None:
    _, draft = good_folders("speculators")

    with pytest.raises(UsageError):
        check(path, draft)


@pytest.mark.parametrize(
    "path", ["/dev/null", "/dev/zero", "/etc", "/proc/self"], ids=lambda path: path.strip("/")
)
def test_a_place_that_is_no_checkpoint_is_answered_for(path: str) -> None:
    target, _ = good_folders("speculators")

    assert check(target, path).exit_status == 1
