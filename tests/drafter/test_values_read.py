"""Which weights of a drafter are looked into for NaN, and what is said of all others."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from firedup.core.checked import Checked, Harm
from firedup.drafter import check
from tests.drafter.zoo import Pair, Raw, write_pair
from tests.drafter.zoo_folder import good_folders
from tests.drafter.zoo_pairs import good

NAN = struct.pack("<H", 0x7FC0)


def checked_with(pair: Pair, folder: Path) -> Checked:
    return check(*write_pair(pair, folder), engine="sglang")


def fill(pair: Pair, name: str, data: bytes) -> None:
    raw = pair.draft.tensors[name]
    pair.draft.tensors[name] = Raw(raw.dtype, raw.shape, data)


@pytest.mark.parametrize("part", ["self_attn.q_proj", "self_attn.o_proj", "mlp.down_proj"])
def test_a_matrix_that_is_nan_throughout_is_found(part: str, tmp_path: Path) -> None:
    pair = good("eagle-repository").copy()
    name = f"midlayer.{part}.weight"
    fill(pair, name, NAN * (len(pair.draft.tensors[name].data) // 2))

    (finding,) = (f for f in checked_with(pair, tmp_path).findings if f.id == "values-not-finite")

    assert part in finding.message
    assert name in finding.evidence[0].text


def test_where_a_nan_would_not_be_seen_is_said(tmp_path: Path) -> None:
    pair = good("eagle-repository").copy()
    data = bytearray(pair.draft.tensors["fc.weight"].data)
    data[:2] = NAN  # the first row, which is not among the four
    fill(pair, "fc.weight", bytes(data))

    checked = checked_with(pair, tmp_path)

    assert not [one for one in checked.findings if one.id == "values-not-finite"]
    said = dict(checked.skipped)["values"]
    assert "NaN was looked for in 4 of 32 rows of fc.weight" in said
    assert "2 of each matrix in its layers" in said


def test_what_cannot_be_read_as_numbers_is_named(tmp_path: Path) -> None:
    pair = good("eagle-repository").copy()
    raw = pair.draft.tensors["midlayer.mlp.up_proj.weight"]
    size = raw.shape[0] * raw.shape[1]
    pair.draft.tensors["midlayer.mlp.up_proj.weight"] = Raw("I8", raw.shape, bytes(size))

    checked = checked_with(pair, tmp_path)

    assert "not read: layers.0.mlp.up_proj.weight" in dict(checked.skipped)["values"]


def test_weights_in_a_pickle_are_said_to_be_unread(tmp_path: Path) -> None:
    pair = good("eagle-repository").copy()
    pair.draft.files["optimizer.pt"] = b"a pickle"
    target, draft = write_pair(pair, tmp_path)

    beside = check(target, draft).skipped
    (draft / "model.safetensors").rename(draft / "pytorch_model.bin")
    alone = check(target, draft)

    assert "files of the drafter" not in dict(beside)
    named = "optimizer.pt, pytorch_model.bin: a pickle; not read"
    assert ("files of the drafter", named) in alone.skipped
    found = {one.id: one.harm for one in alone.findings}
    assert found["weights-not-read"] is Harm.RISK


def test_a_shard_that_the_index_does_not_name_is_said_to_be_unread(tmp_path: Path) -> None:
    target, draft = write_pair(good("two-shards"), tmp_path)
    (draft / "more.safetensors").write_bytes(b"")

    skipped = check(target, draft).skipped

    assert ("files of the drafter", "more.safetensors: not in the index") in skipped


def test_tokenizers_that_cannot_be_compared_are_named(tmp_path: Path) -> None:
    target, draft = write_pair(good("plain"), tmp_path)
    for folder in (target, draft):
        (folder / "tokenizer.json").unlink()

    skipped = dict(check(target, draft).skipped)

    assert {"tokenizer of the target", "tokenizer of the drafter"} < set(skipped)
    assert not [name for name, _ in check(*good_folders("plain")).skipped if "tokenizer" in name]


def test_of_a_plain_model_nothing_is_read_and_that_is_said() -> None:
    checked = check(*good_folders("plain"))

    assert dict(checked.skipped)["values"] == "weights are looked into in EAGLE drafters alone"
    assert checked.read_bytes == 0
