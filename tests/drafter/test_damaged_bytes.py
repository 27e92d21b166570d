"""Whatever bytes a header or a config has, a check answers and never raises."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.checked import Checked, Harm
from firedup.drafter import check
from tests.drafter.zoo import write_pair
from tests.drafter.zoo_folder import good_folders, zoo_folder
from tests.drafter.zoo_pairs import good

LAYOUTS = st.sampled_from(["eagle-repository", "speculators", "torchspec", "plain", "eagle-1"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


def answer(target: Path, draft: Path) -> Checked:
    checked = check(target, draft)
    assert [why for _, why in checked.skipped if "failed" in why] == []
    return checked


@settings(max_examples=40)
@given(name=LAYOUTS, at=st.integers(0, 4000), byte=st.integers(0, 255), data=st.data())
def test_a_changed_byte_in_header_or_config_never_raises(
    name: str, at: int, byte: int, data: st.DataObject
) -> None:
    target, draft = good_folders(name)
    file = data.draw(st.sampled_from(["config.json", "model.safetensors"]))
    copy = zoo_folder() / "damaged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(draft, copy)
    content = bytearray((copy / file).read_bytes())
    limit = len(content)
    if file == "model.safetensors":
        limit = 8 + struct.unpack("<Q", content[:8])[0]
    content[at % limit] = byte
    (copy / file).write_bytes(content)

    answer(target, copy)


@settings(max_examples=30)
@given(name=LAYOUTS, value=JSON, data=st.data())
def test_any_value_of_any_key_never_raises(name: str, value: object, data: st.DataObject) -> None:
    target, draft = good_folders(name)
    config = json.loads((draft / "config.json").read_bytes())
    config[data.draw(st.sampled_from(sorted(config)))] = value
    copy = zoo_folder() / "odd"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(draft, copy)
    (copy / "config.json").write_text(json.dumps(config))

    answer(target, copy)
    answer(copy, draft)


def test_a_drafter_with_neither_config_nor_weights_is_answered_for(tmp_path: Path) -> None:
    pair = good("eagle-repository").copy()
    pair.draft.absent = ["config.json", "model.safetensors"]
    target, draft = write_pair(pair, tmp_path)

    checked = answer(target, draft)

    assert [finding.id for finding in checked.findings] == ["weights-not-found"]
    assert checked.worst is Harm.CRASH
