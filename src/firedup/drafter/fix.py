"""Writes a corrected copy of a drafter beside it; what is right already is linked, not copied."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from firedup.core.checked import CheckFinding, Fixed, Harm
from firedup.core.error import UsageError
from firedup.drafter.canonical import canonical_name
from firedup.drafter.case import Case
from firedup.drafter.judge import judge
from firedup.drafter.pair import Question, open_case, split_place
from firedup.drafter.repair import REMOVED, Repair, plan_repair
from firedup.drafter.rewrite import NewTensor, mask_tensor, offsets_tensor, rewrite

_INDEX = "model.safetensors.index.json"


def fix(
    target: str | os.PathLike[str],
    draft: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    engine: str | None = None,
    version: str | None = None,
) -> Fixed:
    """Write a corrected copy of `draft` to the folder `out`. Not for use inside an event loop.

    Without `engine` the copy is to fit all that are known. Raises UsageError when `out` is there
    already, or the drafter is not a folder of this machine.
    """
    question = Question(engine, version)
    return asyncio.run(fix_paths(os.fspath(target), os.fspath(draft), Path(out), question))


async def fix_paths(
    target: str, draft: str, out: Path, question: Question, *, host: str | None = None
) -> Fixed:
    """The same inside an event loop. `host` is where a target without a host of its own lies."""
    source = _source(draft, host)
    copied = _place_of(out, source)
    async with open_case(target, draft, question, host=host) as (case, _):
        found, _ = judge(case)
        repair = plan_repair(case, found)
        if repair.is_empty:
            return Fixed(None, (), _left(found))
        try:
            linked = await asyncio.to_thread(_make, case, repair, source, copied)
        except OSError as error:
            raise _unwritten(out, error) from error
    async with open_case(target, f"local:{copied}", question, host=host) as (case, _):
        left, _ = judge(case)
    return Fixed(os.fspath(out), tuple(repair.done), _left(left), linked)


def _source(draft: str, host: str | None) -> Path:
    name, path = split_place(draft)
    if (name or host or "local") != "local":
        raise UsageError(
            "a drafter is corrected on the machine where it lies",
            where=draft,
            todo="Run firedup there, or copy the drafter here first.",
        )
    source = Path(path).expanduser()
    if not source.is_dir():
        raise UsageError(
            "only the folder of a drafter can be corrected",
            where=draft,
            todo="Give the folder with config.json and the safetensors files.",
        )
    return source


def _unwritten(out: Path, error: OSError) -> UsageError:
    why = error.strerror or str(error)
    return UsageError(
        f"the corrected copy cannot be written: {why}",
        where=os.fspath(error.filename2 or error.filename or out),
        todo=f"Name another folder than {out}, one that can be made and has room.",
    )


def _place_of(out: Path, source: Path) -> Path:
    """Where the copy goes, from the root. UsageError where it cannot go."""
    try:
        return _free_place(out, source)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, to older Pythons
        known = error if isinstance(error, OSError) else OSError(str(error))
        raise _unwritten(out, known) from error


def _free_place(out: Path, source: Path) -> Path:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UsageError("the copy's folder is something else already", where=str(out))
    if out.exists() and any(out.iterdir()):
        raise UsageError(
            "the copy's folder is not empty",
            where=str(out),
            todo="Name a folder that does not exist yet.",
        )
    place = out.resolve()
    if source.resolve() in {place, *place.parents}:
        raise UsageError("the copy cannot lie inside the drafter's own folder", where=str(out))
    return place


def _left(findings: Iterable[CheckFinding]) -> tuple[CheckFinding, ...]:
    return tuple(one for one in findings if one.harm is not Harm.NOTE)


def _make(case: Case, repair: Repair, source: Path, out: Path) -> int:
    """Write the copy under another name and give it its own at the end; the number of links."""
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.parent / f".{out.name}-{os.getpid()}"
    work.mkdir()
    try:
        linked = _write(case, repair, source, work)
        work.rename(out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return linked


def _write(case: Case, repair: Repair, source: Path, work: Path) -> int:
    """Write what is new into `work`, link the rest; the number of links."""
    new = _new_tensors(case, repair)
    homes = _homes(case, repair, new)
    for name, replaced in homes.items():
        rewrite(source / name, work / name, repair.renames, replaced, frozenset(repair.dropped))
    if repair.config:
        config = _changed(case.draft.config, repair)
        (work / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if homes and (source / _INDEX).exists():
        index = _changed_index(json.loads((source / _INDEX).read_bytes()), repair, homes)
        (work / _INDEX).write_text(json.dumps(index, indent=2) + "\n")
    linked = 0
    for entry in sorted(source.iterdir()):
        if not (work / entry.name).exists():
            _link(entry, work / entry.name)
            linked += 1
    return linked


def _new_tensors(case: Case, repair: Repair) -> dict[str, NewTensor]:
    """The maps to be written, by the names that they have or get."""
    names, new = case.draft_facts.names, {}
    vocab = case.target_facts.vocab or case.draft_facts.vocab or 0
    if repair.offsets is not None:
        new[_name_of("d2t", names.get("d2t"), repair)] = offsets_tensor(repair.offsets)
    if repair.marked is not None:
        new[_name_of("t2d", names.get("t2d"), repair)] = mask_tensor(repair.marked, vocab)
    return new


def _name_of(role: str, name: str | None, repair: Repair) -> str:
    return role if name is None else repair.renames.get(name, name)


def _homes(
    case: Case, repair: Repair, new: dict[str, NewTensor]
) -> dict[str, dict[str, NewTensor]]:
    """The files that must be written anew, and which new tensors go into each."""
    tensors = case.draft.tensors
    homes: dict[str, dict[str, NewTensor]] = {}
    for name in (*repair.renames, *repair.dropped):
        homes.setdefault(tensors[name].file, {})
    by_new_name = {repair.renames.get(name, name): name for name in tensors}
    fallback = next(
        (t.file for n, t in tensors.items() if canonical_name(n) == "lm_head.weight"),
        min(tensor.file for tensor in tensors.values()),
    )
    for name, tensor in new.items():
        file = tensors[by_new_name[name]].file if name in by_new_name else fallback
        homes.setdefault(file, {})[name] = tensor
    return homes


def _changed(config: Any, repair: Repair) -> Any:
    changed = copy.deepcopy(dict(config))
    for path, value in repair.config.items():
        place = changed
        for key in path[:-1]:
            if not isinstance(place.get(key), dict):
                place[key] = {}
            place = place[key]
        if value is REMOVED:
            place.pop(path[-1], None)
        else:
            place[path[-1]] = value
    return changed


def _changed_index(
    index: dict[str, Any], repair: Repair, homes: dict[str, dict[str, NewTensor]]
) -> dict[str, Any]:
    kept = {
        repair.renames.get(name, name): file
        for name, file in index["weight_map"].items()
        if name not in repair.dropped
    }
    added = {name: file for file, replaced in homes.items() for name in replaced}
    return {**index, "weight_map": kept | added}


def _link(entry: Path, link: Path) -> None:
    """A hard link to a file, a symbolic one to a folder or across file systems."""
    real = entry.resolve()
    if real.is_file():
        try:
            link.hardlink_to(real)
        except OSError:  # another file system, or one without hard links
            link.symlink_to(real)
    else:
        link.symlink_to(real)
