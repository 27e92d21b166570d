import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.model import ServerSpec
from firedup.host.manifest import (
    Hook,
    Launched,
    Manifest,
    decode_manifest,
    encode_manifest,
    new_run_id,
)

WALL_NS = 1_795_976_579 * 10**9  # 2026-11-29 18:22:59 UTC


def test_an_id_begins_with_the_time_and_names_the_run() -> None:
    assert new_run_id(WALL_NS, "Kimi K2.5/INT4", "4f2a") == "20261129-182259-kimi-k2-5-int4-4f2a"


def test_a_run_without_a_usable_name_still_has_an_id() -> None:
    assert new_run_id(WALL_NS, "模型", "4f2a") == "20261129-182259-4f2a"


@given(st.text(max_size=100))
def test_an_id_is_always_a_plain_file_name(name: str) -> None:
    run_id = new_run_id(WALL_NS, name, "4f2a")

    assert set(run_id) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(run_id) <= 64


def test_ids_sort_by_time() -> None:
    early, late = new_run_id(WALL_NS, "z", "ffff"), new_run_id(WALL_NS + 10**9, "a", "0000")

    assert early < late


def test_a_manifest_comes_back_as_it_was() -> None:
    manifest = Manifest(
        id="20261129-182259-kimi-4f2a",
        name="kimi",
        argv=("python", "-m", "sglang.launch_server"),
        env={"NCCL_DEBUG": "WARN"},
        cwd="/srv",
        log="/var/log/kimi.log",
        setup="source activate",
        login=True,
        spec=ServerSpec(engine="sglang", port=30000, derived_ports=(30001,)),
        timeout_s=1800.0,
        firedup="0.1.0",
        restarted_from="20261129-180000-kimi-1111",
        hooks=(Hook("ready", "notify-send up"),),
        boot_id="b",
        launched=Launched(1, 2),
    )

    assert decode_manifest(encode_manifest(manifest)) == manifest


def test_fields_of_a_later_version_are_passed_over() -> None:
    value = encode_manifest(Manifest("a", "a", ("true",)))

    assert decode_manifest({**value, "new": 1}) == Manifest("a", "a", ("true",))


def test_a_damaged_manifest_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="argv"):
        decode_manifest({"id": "a", "name": "a", "argv": "true"})
