"""The measurements that were made, a JSON file each, in the user's state folder."""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from firedup.core.error import StoreError, UsageError
from firedup.core.measure.measured import Arm

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class StoredProbe:
    """One arm as it was measured. `run` and `name` are those of the run that was asked, if any."""

    id: str
    arm: Arm
    url: str
    host: str = "local"
    run: str | None = None
    name: str | None = None
    schema: int = SCHEMA


def probes_folder(environ: Mapping[str, str]) -> Path:
    """Where they lie: `$XDG_STATE_HOME/firedup/probes`, else below ~/.local/state."""
    state = environ.get("XDG_STATE_HOME")
    base = Path(state) if state and Path(state).is_absolute() else Path.home() / ".local/state"
    return base / "firedup" / "probes"


def new_id(wall_ns: int) -> str:
    """An id that sorts by time: 20261130-012345-3f9a."""
    moment = datetime.fromtimestamp(wall_ns / 1e9, UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


def save_probe(folder: Path, probe: StoredProbe) -> Path:
    """Write it whole or not at all, for its owner alone. StoreError when that cannot be done."""
    path = folder / f"{probe.id}.json"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch, name = tempfile.mkstemp(dir=folder)  # 0600
        with os.fdopen(scratch, "wb") as file:
            file.write(msgspec.json.encode(probe))
        Path(name).rename(path)
    except OSError as error:
        raise StoreError(
            f"the measurement was not kept in {folder}",
            why=error.strerror,
            todo="Make room or the folder writable, or use --json and keep that.",
        ) from error
    return path


def load_probe(path: Path) -> StoredProbe:
    """Read one. UsageError when `path` holds none."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=StoredProbe)
    except OSError as error:
        raise UsageError(f"{path} cannot be read", why=error.strerror) from None
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"{path} holds no measurement",
            why=str(error),
            todo="Name a file that firedup probe wrote.",
        ) from None
    if found.schema != SCHEMA:
        raise UsageError(
            f"{path} was written by another version of firedup (schema {found.schema})",
            todo="Measure again, or use that version.",
        )
    return found


def list_probes(folder: Path) -> tuple[Path, ...]:
    """The files, the newest first."""
    return tuple(sorted(folder.glob("*.json"), key=lambda path: path.stem, reverse=True))


def find_probe(folder: Path, text: str) -> StoredProbe | None:
    """The measurement with this id or file, or the newest of a run with this id or name.

    `name~1` is the one before. Files in `folder` that hold no measurement are passed over.
    """
    if text.endswith(".json") or os.sep in text:
        return load_probe(Path(text))
    name, _, back = text.partition("~")
    skipped = int(back) if back.isdigit() else 0
    for path in list_probes(folder):
        if path.stem == text:
            return load_probe(path)
    for path in list_probes(folder):
        if name not in _labels_of(path):
            continue
        if skipped == 0:
            return load_probe(path)
        skipped -= 1
    return None


class _Labels(msgspec.Struct):
    """Of a file only what it is called by: the answers in it may be long."""

    run: str | None = None
    name: str | None = None


def _labels_of(path: Path) -> tuple[str, ...]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Labels)
    except (OSError, msgspec.MsgspecError):
        return ()
    return tuple(label for label in (found.run, found.name) if label)
