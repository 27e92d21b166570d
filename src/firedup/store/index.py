"""The client's index of the runs it has seen: SQLite, never the truth, rebuilt at any time."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Self

from firedup.core.error import StoreError

# Append only: a migration that was released never changes. Tables are STRICT where SQLite can.
MIGRATIONS: tuple[tuple[str, str], ...] = (
    (
        "runs",
        """
        CREATE TABLE run (
            host TEXT NOT NULL,
            id TEXT NOT NULL,
            name TEXT NOT NULL,
            folder TEXT NOT NULL,
            engine TEXT,
            model TEXT,
            verdict TEXT,
            cause TEXT,
            stage TEXT,
            started_ns INTEGER,
            ended_ns INTEGER,
            PRIMARY KEY (host, id)
        ) {strict};
        CREATE INDEX run_by_start ON run (started_ns DESC);
        """,
    ),
    (
        "times",
        """
        ALTER TABLE run ADD COLUMN version TEXT;
        ALTER TABLE run ADD COLUMN ready_after_s REAL;
        ALTER TABLE run ADD COLUMN served_s REAL;
        ALTER TABLE run ADD COLUMN stages TEXT;
        """,
    ),
)
_STRICT = "STRICT" if sqlite3.sqlite_version_info >= (3, 37) else ""
_BUSY_S = 2.0


@dataclass(frozen=True, slots=True)
class IndexedRun:
    """What the index knows of one run; times are host wall time, `cause` is the failure class.

    `version` is the engine's. `ready_after_s` is how long the start took and `served_s` how long it
    served then; `stages` is a JSON array of `[stage, began_s, seconds]`.
    """

    host: str
    id: str
    name: str
    folder: str
    engine: str | None = None
    model: str | None = None
    verdict: str | None = None
    cause: str | None = None
    stage: str | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    version: str | None = None
    ready_after_s: float | None = None
    served_s: float | None = None
    stages: str | None = None


_COLUMNS = tuple(field.name for field in fields(IndexedRun))
# What was concluded together; whoever concluded nothing leaves it as it was.
_CONCLUDED = ("verdict", "cause", "stage", "version", "ready_after_s", "served_s", "stages")
_MERGE = "ON CONFLICT (host, id) DO UPDATE SET " + ", ".join(
    f"{name} = CASE WHEN excluded.verdict IS NULL THEN run.{name} ELSE excluded.{name} END"
    if name in _CONCLUDED
    else f"{name} = COALESCE(excluded.{name}, run.{name})"
    for name in _COLUMNS
    if name not in ("host", "id")
)


def index_path(environ: Mapping[str, str]) -> Path:
    """`$XDG_STATE_HOME/firedup/index.sqlite3`, else below `~/.local/state`."""
    home = environ.get("XDG_STATE_HOME") or Path("~/.local/state").expanduser()
    return Path(home) / "firedup" / "index.sqlite3"


class Index:
    """Open it with `open_index`; use it as a context manager."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def put(self, runs: Iterable[IndexedRun]) -> None:
        """Adds runs, or replaces what was known of them.

        A run without a verdict keeps the conclusion that was known, one without an end its end.
        """
        places = ", ".join("?" * len(_COLUMNS))
        order = f"INSERT INTO run ({', '.join(_COLUMNS)}) VALUES ({places}) {_MERGE}"  # noqa: S608 - no word of a user's
        with self._writing():
            self._database.executemany(order, [astuple(run) for run in runs])

    def rebuild(self, host: str, runs: Iterable[IndexedRun]) -> None:
        """Makes the index say of `host` what its run folders say, and nothing else.

        What only a watching session knew (verdict, cause, stage, end) is kept where the folders
        say nothing of it.
        """
        found = list(runs)
        gone = {run.id for run in self.runs(host)} - {run.id for run in found}
        self.forget(host, gone)
        self.put(found)

    def forget(self, host: str, ids: Iterable[str]) -> None:
        """Takes runs out."""
        with self._writing():
            self._database.executemany(
                "DELETE FROM run WHERE host = ? AND id = ?", [(host, found) for found in ids]
            )

    def runs(self, host: str | None = None) -> tuple[IndexedRun, ...]:
        """The runs of `host` (None: of all hosts), newest first."""
        order = f"SELECT {', '.join(_COLUMNS)} FROM run"  # noqa: S608 - no word of a user's - our own column names
        values: tuple[str, ...] = ()
        if host is not None:
            order, values = f"{order} WHERE host = ?", (host,)
        rows = self._database.execute(f"{order} ORDER BY started_ns DESC, id DESC", values)
        return tuple(IndexedRun(*row) for row in rows)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._database:
                yield
        except sqlite3.Error as error:
            raise StoreError("the index of runs cannot be written", why=str(error)) from error


def open_index(path: Path, *, say: Callable[[str], None] = lambda _: None) -> Index:
    """The index at `path`, made when there is none; a corrupt file is set aside, said and replaced.

    Raises StoreError when the folder cannot be used.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        return Index(_connect(path))
    except sqlite3.OperationalError as error:  # locked, read-only, disk full: nothing is corrupt
        raise StoreError(f"the index {path} cannot be opened", why=str(error)) from error
    except sqlite3.DatabaseError as error:
        aside = _set_aside(path)
        say(f"the index of runs was damaged ({error}); it is rebuilt, the old file is {aside}")
        return Index(_connect(path))
    except OSError as error:
        raise StoreError(f"the index {path} cannot be opened", why=error.strerror) from error


def read_index(path: Path) -> tuple[IndexedRun, ...]:
    """All runs that the index at `path` knows; none where there is no index or it is of no use."""
    if not path.exists():
        return ()
    try:
        with open_index(path) as index:
            return index.runs()
    except (StoreError, sqlite3.Error):
        return ()


def _connect(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_S)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        (health,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if health != "ok":
            raise sqlite3.DatabaseError(health)
        _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _migrate(database: sqlite3.Connection) -> None:
    """Brings the tables up to date; another process may do the same at the same time."""
    with database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(
            "CREATE TABLE IF NOT EXISTS migration"
            f" (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied TEXT NOT NULL) {_STRICT}"
        )
        done = [name for (name,) in database.execute("SELECT name FROM migration ORDER BY number")]
        known = [name for name, _ in MIGRATIONS]
        if done[: len(known)] != known[: len(done)]:
            raise sqlite3.DatabaseError(f"it has other tables: {', '.join(done)}")
        for number, (name, text) in enumerate(MIGRATIONS, start=1):
            if number > len(done):
                for order in text.format(strict=_STRICT).split(";"):
                    database.execute(order)
                at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
                database.execute("INSERT INTO migration VALUES (?, ?, ?)", (number, name, at))


def _set_aside(path: Path) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return aside
