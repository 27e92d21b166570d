"""The index of runs: kept, rebuilt, and given up without harm when it is damaged."""

from __future__ import annotations

import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from firedup.core.error import StoreError
from firedup.store import index as module
from firedup.store.index import IndexedRun, index_path, open_index

OLD = IndexedRun("local", "20261129-1-a", "kimi", "/runs/1", "sglang", "K2", started_ns=1)
NEW = IndexedRun("local", "20261129-2-b", "kimi", "/runs/2", verdict="ready", started_ns=2)
ELSEWHERE = IndexedRun("ssh:box", "20261129-1-a", "kimi", "/runs/1", started_ns=3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "firedup" / "index.sqlite3"


def test_the_index_lies_in_the_state_folder() -> None:
    assert index_path({"XDG_STATE_HOME": "/s"}) == Path("/s/firedup/index.sqlite3")
    assert index_path({"XDG_STATE_HOME": ""}).parts[-4:-2] == (".local", "state")


def test_runs_are_kept_and_come_newest_first(path: Path) -> None:
    with open_index(path) as index:
        index.put([OLD, NEW, ELSEWHERE])

    with open_index(path) as index:
        assert index.runs() == (ELSEWHERE, NEW, OLD)
        assert index.runs("local") == (NEW, OLD)


def test_only_the_user_may_read_it(path: Path) -> None:
    with open_index(path) as index:
        index.put([OLD])

        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
        assert set(modes.values()) == {0o600}
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_newer_knowledge_replaces_older(path: Path) -> None:
    with open_index(path) as index:
        index.put([OLD])
        index.put([replace(OLD, verdict="crashed")])

        assert index.runs() == (replace(OLD, verdict="crashed"),)


def test_rebuilding_follows_the_run_folders_of_one_host(path: Path) -> None:
    watched = replace(OLD, verdict="crashed", cause="port-in-use")
    with open_index(path) as index:
        index.put([watched, NEW, ELSEWHERE])

        index.rebuild("local", [replace(OLD, name="renamed")])

        assert index.runs() == (ELSEWHERE, replace(watched, name="renamed"))


def test_who_concluded_nothing_leaves_the_conclusion_as_it_was(path: Path) -> None:
    known = replace(OLD, verdict="crashed", cause="port-in-use", ended_ns=9, ready_after_s=4.5)
    with open_index(path) as index:
        index.put([known])
        index.put([OLD])
        assert index.runs() == (known,)

        index.put([replace(OLD, verdict="ready")])
        assert index.runs() == (replace(OLD, verdict="ready", ended_ns=9),)


def test_an_index_of_an_older_firedup_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = module._COLUMNS[:11]
    with monkeypatch.context() as older:
        older.setattr(module, "MIGRATIONS", module.MIGRATIONS[:1])
        open_index(path).__exit__()
    with sqlite3.connect(path) as database:
        order = f"INSERT INTO run ({', '.join(columns)}) VALUES (?,?,?,?,?,?,?,?,?,?,?)"
        database.execute(order, ["local", OLD.id, "kimi", "/runs/1", "sglang", "K2", *[None] * 5])
    database.close()

    with open_index(path, say=pytest.fail) as index:
        assert index.runs() == (replace(OLD, started_ns=None),)
        index.put([replace(OLD, verdict="ready", stages="[]")])


def test_a_run_that_was_pruned_is_forgotten_on_its_host_alone(path: Path) -> None:
    with open_index(path) as index:
        index.put([OLD, ELSEWHERE])
        index.forget("local", [OLD.id])

        assert index.runs() == (ELSEWHERE,)


@pytest.mark.parametrize("damage", [b"this is no database at all" * 100, b"SQLite format 3\0" * 99])
def test_a_damaged_file_is_set_aside_and_said(path: Path, damage: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    notices: list[str] = []

    with open_index(path, say=notices.append) as index:
        index.put([OLD])
        assert index.runs() == (OLD,)

    assert path.with_name("index.sqlite3.damaged-1").read_bytes() == damage
    assert len(notices) == 1
    assert "damaged-1" in notices[0]


def test_a_database_of_something_else_is_set_aside_as_well(path: Path) -> None:
    path.parent.mkdir(parents=True)
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE migration (number INTEGER, name TEXT, applied TEXT)")
        other.execute("INSERT INTO migration VALUES (1, 'photos', '')")
    other.close()
    notices: list[str] = []

    with open_index(path, say=notices.append) as index:
        assert index.runs() == ()
    assert "photos" in notices[0]


def test_migrations_are_applied_once_and_in_order(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_index(path) as index:
        index.put([OLD])
    later = ("speed", "ALTER TABLE run ADD COLUMN tokens_per_s REAL")
    monkeypatch.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, later))

    for _ in range(2):
        with open_index(path) as index:
            assert index.runs() == (OLD,)

    with sqlite3.connect(path) as database:
        names = database.execute("SELECT number, name FROM migration").fetchall()
    database.close()
    assert names == [(1, "runs"), (2, "times"), (3, "speed")]


def test_an_older_firedup_uses_what_a_newer_one_left(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = ("speed", "ALTER TABLE run ADD COLUMN tokens_per_s REAL")
    with monkeypatch.context() as newer:
        newer.setattr(module, "MIGRATIONS", (*module.MIGRATIONS, later))
        with open_index(path) as index:
            index.put([OLD])

    with open_index(path, say=pytest.fail) as index:
        index.put([NEW])
        assert index.runs() == (NEW, OLD)


def test_a_folder_that_cannot_be_used_is_an_error_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "firedup").write_text("a file where a folder should be")

    with pytest.raises(StoreError) as caught:
        open_index(tmp_path / "firedup" / "index.sqlite3")

    assert "index.sqlite3" in caught.value.what
    assert caught.value.why
