"""Headers of safetensors and GGUF files, and indices, as the agent reads them."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import gguf
import pytest
from gguf.constants import GGML_QUANT_SIZES
from hypothesis import given
from hypothesis import strategies as st

from firedup.demo.model import MODELS, TARGET, Model, model_path
from firedup.host.agent.checkpoint import describe_checkpoint
from firedup.host.agent.document import FlawError
from firedup.host.agent.fold import MOST_TOLD, Folded
from firedup.host.agent.ggufhead import GGML_TYPES, read_gguf
from firedup.host.agent.shardindex import missing_of_series, read_index
from firedup.host.agent.tensorfile import read_tensors


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin: int, end: int, **other: Any) -> dict[str, Any]:
    return {"dtype": "U8", "shape": [end - begin], "data_offsets": [begin, end]} | other


def damages_of(folder: Path) -> dict[str, str]:
    return dict(describe_checkpoint(str(folder))["damages"])


@given(sizes=st.lists(st.integers(0, 1000), max_size=6))
def test_a_whole_file_has_nothing_against_it(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for number, size in enumerate(sizes):
        header[f"t{number}"] = entry(at, at + size)
        at += size
    path = tmp_path_factory.mktemp("whole") / "a.safetensors"
    path.write_bytes(safetensors(header, bytes(at)))

    tensors, metadata, flaws = read_tensors(str(path))

    assert [name for _, _, name, *_ in tensors] == [f"t{n}" for n in range(len(sizes))]
    assert (metadata, flaws) == ({"format": "pt"}, [])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "only 0 bytes"),
        (b"1234567", "only 7 bytes"),
        (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "promise a header of"),
        (bytes(8), "promise a header of 0 bytes"),
        (struct.pack("<Q", 1 << 40) + b"{}", "promise a header of 1,099,511,627,776 bytes"),
        (struct.pack("<Q", 99_000_000) + b"{}", "its header needs at least 99,000,008"),
        (safetensors(b"{}}"), "not JSON"),
        (safetensors(b"[]"), "not the JSON of a safetensors file"),
        (safetensors(b"\xff\xfe"), "not text in UTF-8"),
        (safetensors(b"[" * 200_000), "nested too deep"),
        (safetensors(b'{"w": ' + b"9" * 5000 + b"}"), "not JSON|thousands of digits"),
        (safetensors(b"[" + b"{}," * 2_000_000 + b"{}]"), "too many parts"),
    ],
)
def test_what_cannot_be_a_header_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(content)

    with pytest.raises(FlawError, match=why):
        read_tensors(str(path))


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ({"w": 1}, "the entry of 'w' contradicts itself"),
        ({"w": {"data_offsets": [1]}}, "'w' contradicts"),
        ({"w": entry(0, 4, shape=[3])}, "'w' contradicts"),
        ({"w": entry(0, 4, shape=[True, 4])}, "'w' contradicts"),
        ({"w": entry(0, 4, shape=[[4]])}, "'w' contradicts"),
        ({"w": entry(0, 4, shape=[-4])}, "'w' contradicts"),
        ({"w": entry(0, 4, dtype=["U8"])}, "'w' contradicts"),
        ({"w": entry(0, 4, shape=[1] * 100)}, "'w' contradicts"),
        ({"w": entry(-4, 0)}, "'w' contradicts"),
        ({"w": entry(0, 1 << 63)}, "'w' contradicts"),
        ({"w": entry(4, 0)}, "'w' contradicts"),
        ({"v": 1, "w": {}, "x": None}, "the entry of 'v' and 2 more contradicts"),
        ({"v": entry(0, 3), "w": entry(2, 4)}, "the bytes of 'w' overlap those of 'v'"),
        ({"v": entry(0, 1), "w": entry(3, 4)}, "2 bytes before 'w' belong to no tensor"),
        ({"w": entry(0, 9)}, "bytes, but its header needs at least"),
        ({"w": entry(0, 3)}, "1 more than its header tells of"),
    ],
)
def test_a_header_that_contradicts_itself_or_its_file_is_said(
    tmp_path: Path, header: object, why: str
) -> None:
    (tmp_path / "a.safetensors").write_bytes(safetensors(header, bytes(4)))

    assert why in damages_of(tmp_path)["a.safetensors"]


def test_an_unknown_dtype_is_told_as_it_is(tmp_path: Path) -> None:
    header = {"w": entry(0, 4, dtype="F3_NEW", shape=[10])}
    (tmp_path / "a.safetensors").write_bytes(safetensors(header, bytes(4)))

    told = describe_checkpoint(str(tmp_path))

    assert told["tensors"][0][:3] == ["w", "F3_NEW", [10]]
    assert told["damages"] == []


def test_an_index_gives_each_file_its_tensors(tmp_path: Path) -> None:
    weights = {"a": "2.safetensors", "b": "1.safetensors", "c": "2.safetensors"}
    path = tmp_path / "index.json"
    path.write_text(json.dumps({"weight_map": weights}))

    assert read_index(str(path)) == {"2.safetensors": {"a", "c"}, "1.safetensors": {"b"}}


@pytest.mark.parametrize(
    ("index", "why"),
    [
        (b"", "not JSON"),
        (b"[]", "no readable weight_map"),
        (b"{}", "no readable weight_map"),
        (b'{"weight_map": 3}', "no readable weight_map"),
        (b"\xff", "not text in UTF-8"),
        (b'{"weight_map": {"a": 3}}', "sends a tensor to '3'"),
        (b'{"weight_map": {"a": "../../etc/shadow"}}', "sends a tensor to '../../etc/shadow'"),
        (b'{"weight_map": {"a": "/etc/shadow"}}', "sends a tensor to '/etc/shadow'"),
    ],
)
def test_an_index_that_cannot_be_used_is_said(tmp_path: Path, index: bytes, why: str) -> None:
    (tmp_path / "model.safetensors.index.json").write_bytes(index)

    assert why in damages_of(tmp_path)["model.safetensors.index.json"]


def test_a_series_knows_its_missing_members() -> None:
    names = [
        "model-00001-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
        "x.safetensors",
    ]

    assert missing_of_series(names) == ["model-00002-of-00003.safetensors"]


def test_files_of_the_index_are_looked_for_and_others_are_told(tmp_path: Path) -> None:
    weights = {"a": "1.safetensors", "b": "2.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weights}))
    (tmp_path / "1.safetensors").write_bytes(safetensors({"z": entry(0, 4)}, bytes(4)))
    (tmp_path / "other.safetensors").write_bytes(safetensors({}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")

    told = describe_checkpoint(str(tmp_path))

    assert told["damages"] == [["2.safetensors", "the index names it and it is not there"]]
    assert told["doubts"] == [["1.safetensors", "1 tensors of the index are not in it: a"]]
    assert told["unread"] == [
        ["other.safetensors", "not in the index"],
        ["pytorch_model.bin", "a pickle; not read"],
    ]


def test_many_tensors_are_told_as_groups_with_the_first_and_the_last_of_each() -> None:
    folded = Folded()
    names = [f"m.layers.{a}.experts.{b}.w1.weight" for a in range(1, 61) for b in range(100)]
    random.Random(1).shuffle(names)
    folded.add(0, [(4 * n, 4 * n + 4, name, "U8", (4,)) for n, name in enumerate(names)])
    folded.add(1, [(0, 8, "m.norm.weight", "F32", (2,))])

    assert len(names) > MOST_TOLD
    assert folded.groups == [
        ["m.layers.*.experts.*.w1.weight", "U8", [4], 6000],
        ["m.norm.weight", "F32", [2], 1],
    ]
    assert sorted(told[0] for told in folded.tensors) == [
        "m.layers.1.experts.0.w1.weight",
        "m.layers.60.experts.99.w1.weight",
        "m.norm.weight",
    ]
    assert (folded.count, folded.bytes) == (6001, 24_008)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_a_real_gguf_header_says_what_the_reference_reads(model: Model) -> None:
    path = model_path(model)
    reference = gguf.GGUFReader(path)

    found = read_gguf(str(path))

    assert set(found.metadata) == {
        name for name in reference.fields if not name.startswith("GGUF.")
    }
    name = reference.fields["general.architecture"].contents()
    assert found.metadata["general.architecture"] == name
    assert found.tokens == reference.fields["tokenizer.ggml.tokens"].contents()
    assert {(n, t, s, b, e) for b, e, n, t, s in found.entries} == {
        (
            one.name,
            one.tensor_type.name,
            tuple(int(length) for length in reversed(one.shape)),
            one.data_offset,
            one.data_offset + one.n_bytes,
        )
        for one in reference.tensors
    }
    assert found.flaws == []


def test_the_sizes_of_blocks_are_the_reference_s() -> None:
    q8_1 = gguf.GGMLQuantizationType.Q8_1  # two halves and 32 bytes; the reference has it wrong
    reference = {kind: size for kind, size in GGML_QUANT_SIZES.items() if kind != q8_1}

    ours = {kind: GGML_TYPES[kind.value][1:] for kind in reference}

    assert ours == reference
    assert {kind.name: GGML_TYPES[kind.value][0] for kind in reference} == {
        kind.name: kind.name for kind in reference
    }


@given(data=st.data())
def test_any_cut_or_changed_gguf_header_is_a_flaw_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    whole = model_path(TARGET).read_bytes()[:40_000]
    cut = data.draw(st.integers(0, len(whole)))
    content = bytearray(whole[:cut])
    for at in data.draw(st.lists(st.integers(0, max(0, cut - 1)), max_size=4)):
        if content:
            content[at] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("cut") / "m.gguf"
    path.write_bytes(content)

    told = describe_checkpoint(str(path))

    assert told["damages"] or told["gguf"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x80\x02}q\x00" + bytes(40), "begins with"),
        (b"GGUF" + (77).to_bytes(4, "little") + bytes(64), "version 77"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1), "promises"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 1, 1, 1 << 60) + bytes(40), "its header needs at least"),
    ],
)
def test_what_is_no_gguf_file_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "m.gguf").write_bytes(content)

    assert why in damages_of(tmp_path / "m.gguf")["m.gguf"]
