"""The zoo on disk: every pair and every mutation written once, and checked once, for all tests."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from firedup.core.checked import Checked, CheckFinding, Harm
from firedup.drafter import check
from tests.drafter.faults import Engine, Mutation
from tests.drafter.mutations import MUTATIONS
from tests.drafter.zoo import write_pair
from tests.drafter.zoo_pairs import good

BY_NAME = {mutation.name: mutation for mutation in MUTATIONS}


@cache
def zoo_folder() -> Path:
    """A folder of this process, removed at its end."""
    folder = Path(tempfile.mkdtemp(prefix="firedup-zoo-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def good_folders(name: str) -> tuple[Path, Path]:
    """Target and drafter of the good pair `name`; read them only."""
    return write_pair(good(name), zoo_folder() / "good" / name)


@cache
def broken_folders(name: str) -> tuple[Path, Path]:
    """Target and drafter of the mutation `name`; read them only."""
    return write_pair(BY_NAME[name].apply(), zoo_folder() / "broken" / name)


@cache
def checked_good(name: str, engine: Engine | None) -> Checked:
    """What a check of the good pair says."""
    target, draft = good_folders(name)
    return ask(target, draft, engine)


@cache
def checked_broken(name: str) -> Checked:
    """What a check of the mutation says, for the engine that it is about."""
    target, draft = broken_folders(name)
    mutation = BY_NAME[name]
    command = mutation.command.replace("{target}", str(target)).replace("{draft}", str(draft))
    return ask(target, draft, mutation.engine, command)


def ask(target: Path, draft: Path, engine: Engine | None, command: str = "") -> Checked:
    """Check two folders for an engine at a version, None = for all."""
    if engine is None:
        return check(target, draft)
    name, version = engine
    return check(target, draft, engine=name, version=version, command=command or None)


def above_note(checked: Checked) -> list[CheckFinding]:
    """The findings that matter."""
    return [finding for finding in checked.findings if finding.harm is not Harm.NOTE]


def expected_ids(mutation: Mutation) -> set[str]:
    """The ids that may be found in it."""
    return {mutation.finding, *mutation.also}
