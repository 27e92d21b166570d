"""Measurements are kept for later ones to be compared with."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import StoreError, UsageError
from firedup.core.measure.acceptance import Counts
from firedup.core.measure.counter import Rise
from firedup.core.measure.measured import Arm, Cell, Conditions, Load, Request
from firedup.core.model import Acceptance
from firedup.store.probe import (
    StoredProbe,
    find_probe,
    list_probes,
    load_probe,
    new_id,
    probes_folder,
    save_probe,
)

NS = 1_000_000_000


def arm(wall_ns: int = NS, text: str = "an answer") -> Arm:
    request = Request(
        "chat-01", "chat", 5, 6, 9, 12, 32, 20, 1, counts=Counts(10, 30, 21), text=text
    )
    rise = Rise(Counts(10, 30, 21, (10, 7, 4)), 32)
    cell = Cell(Load(4), (request,), rise, Acceptance(3.1, 0.7, 21, 30, 10, "own"))
    conditions = Conditions("sglang", "0.5.9", flags=("a", "b"), environment={"NCCL_ALGO": "Tree"})
    return Arm("candidate", conditions, (cell, Cell(Load(rate=2.5), ())), wall_ns)


@given(st.text(max_size=50))
def test_what_was_kept_is_what_was_measured(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("probes")
    probe = StoredProbe("20261130-1", arm(text=text), "http://127.0.0.1:1", "box", "id", "kimi")

    path = save_probe(folder, probe)

    assert load_probe(path) == probe
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_name_means_the_newest_measurement_of_that_run(tmp_path: Path) -> None:
    for number, name in ((1, "plain"), (2, "plain"), (3, "other")):
        probe_id = f"2026113{number}-000000-aaaa"
        save_probe(tmp_path, StoredProbe(probe_id, arm(), "u", "local", f"run-{number}", name))

    assert [path.stem[7] for path in list_probes(tmp_path)] == ["3", "2", "1"]
    assert find_probe(tmp_path, "plain~2") is None
    (tmp_path / "20261139-other.json").write_text("{}")
    (tmp_path / "20261140-torn.json").write_text('{"run"')
    known = (("plain", 2), ("plain~1", 1), ("run-1", 1), ("20261133-000000-aaaa", 3))
    for text, number in known:
        found = find_probe(tmp_path, text)
        assert found is not None
        assert found.run == f"run-{number}"
    assert find_probe(tmp_path, "nobody") is None


def test_ids_sort_by_time() -> None:
    assert new_id(1_796_000_000 * NS) < new_id(1_796_000_001 * NS)


def test_a_file_that_is_no_measurement_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"schema": 1}')

    with pytest.raises(UsageError, match="holds no measurement"):
        find_probe(tmp_path, str(path))
    with pytest.raises(UsageError, match="cannot be read"):
        find_probe(tmp_path, str(tmp_path / "missing.json"))


def test_a_measurement_of_another_version_is_refused(tmp_path: Path) -> None:
    path = save_probe(tmp_path, StoredProbe("1", arm(), "u", schema=2))

    with pytest.raises(UsageError, match="another version of firedup"):
        load_probe(path)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreError, match="was not kept"):
        save_probe(tmp_path / "file", StoredProbe("1", arm(), "u"))


@pytest.mark.parametrize(
    ("state", "folder"),
    [("/srv/state", "/srv/state/firedup/probes"), ("relative", None), ("", None)],
)
def test_they_lie_in_the_state_folder(state: str, folder: str | None) -> None:
    found = probes_folder({"XDG_STATE_HOME": state})

    assert found == Path(folder or Path.home() / ".local/state/firedup/probes")
