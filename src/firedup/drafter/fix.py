"""Writes a corrected copy of a drafter beside it; weights that are right already are links."""

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
from firedup.drafter.bring import Link, bring_rest
from firedup.drafter.canonical import canonical_name
from firedup.drafter.case import Case
from firedup.drafter.free import find_free_place, unwritten
from firedup.drafter.judge import judge
from firedup.drafter.known import demand_known
from firedup.drafter.pair import Question, open_case, split_place
from firedup.drafter.repair import REMOVED, Repair, plan_repair
from firedup.drafter.rewrite import NewTensor, mask_tensor, offsets_tensor, rewrite
from firedup.host.agent.modelplace import find_checkpoint
from firedup.host.agent.system import AgentError

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
    already or within one of the two, the drafter is not a folder of this machine, or engine or
    version are none.
    """
    demand_known(engine, version)
    question = Question(engine, version)
    return asyncio.run(fix_paths(os.fspath(target), os.fspath(draft), os.fspath(out), question))


async def fix_paths(
    target: str, draft: str, out: str, question: Question, *, host: str | None = None
) -> Fixed:
    """The same inside an event loop. `host` is where a target without a host of its own lies."""
    source = _source(draft, host)
    kept = {"drafter": source, "target": _own_folder(target, host)}
    copied = find_free_place(out, kept)
    async with open_case(target, draft, question, host=host) as (case, _):
        if case.draft.gguf:
            raise _is_gguf(draft)
        found, _ = judge(case)
        repair = plan_repair(case, found)
        if repair.is_empty:
            return Fixed(None, (), _left(found))
        try:
            links = await asyncio.to_thread(_make, case, repair, source, copied)
        except OSError as error:
            raise unwritten(out, error) from error
    async with open_case(target, f"local:{copied}", question, host=host) as (case, _):
        left, _ = judge(case)
    return Fixed(out, tuple(repair.done), _left(left), links)


def _source(draft: str, host: str | None) -> Path:
    name, path = split_place(draft)
    if (name or host or "local") != "local":
        raise UsageError(
            "a drafter is corrected on the machine where it lies",
            where=draft,
            todo="Run firedup there, or copy the drafter here first.",
        )
    source = _own_folder(path, None)
    if source is not None:
        return source
    if not Path(path).expanduser().exists():
        raise UsageError(f"{draft}: no such file or folder", todo="Give the drafter's folder.")
    if path.endswith(".gguf"):
        raise _is_gguf(draft)
    raise UsageError(
        "only the folder of a drafter can be corrected",
        where=draft,
        todo="Give the folder with config.json and the safetensors files.",
    )


def _is_gguf(draft: str) -> UsageError:
    return UsageError(
        "a GGUF file is not corrected",
        where=draft,
        todo="Correct the folder that it was converted from, and convert it again.",
    )


def _own_folder(text: str, host: str | None) -> Path | None:
    """The folder of a checkpoint on this machine; None for all else."""
    name, path = split_place(text)
    if (name or host or "local") != "local":
        return None
    try:
        place = Path(find_checkpoint(path))
    except AgentError:
        return None
    return place if place.is_dir() else None


def _left(findings: Iterable[CheckFinding]) -> tuple[CheckFinding, ...]:
    return tuple(one for one in findings if one.harm is not Harm.NOTE)


def _make(case: Case, repair: Repair, source: Path, out: Path) -> tuple[Link, ...]:
    """Write the copy under another name and give it its own at the end; the links in it."""
    out.parent.mkdir(parents=True, exist_ok=True)
    work = out.parent / f".{out.name}-{os.getpid()}"
    work.mkdir()
    try:
        links = _write(case, repair, source, work)
        if out.exists():  # the user's own empty folder, perhaps the one they are in
            for entry in work.iterdir():
                entry.rename(out / entry.name)
            work.rmdir()
        else:
            work.rename(out)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return links


def _write(case: Case, repair: Repair, source: Path, work: Path) -> tuple[Link, ...]:
    """Write what is new into `work`, and bring the rest; the links in it."""
    new = _new_tensors(case, repair)
    homes = _homes(case, repair, new)
    for name, replaced in homes.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        rewrite(source / name, work / name, repair.renames, replaced, frozenset(repair.dropped))
    if repair.config:
        config = _changed(case.draft.config, repair)
        (work / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    if homes and (source / _INDEX).exists():
        index = _changed_index(json.loads((source / _INDEX).read_bytes()), repair, homes)
        (work / _INDEX).write_text(json.dumps(index, indent=2) + "\n")
    return bring_rest(source, work)


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
