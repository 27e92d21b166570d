"""Whether a checkpoint on a host is whole: every file there, every file as long as it must be."""

from __future__ import annotations

import asyncio

from firedup.core.model import Evidence, Finding, Severity
from firedup.drafter.gguf import NeedMoreError, parse_gguf
from firedup.drafter.safetensors import LFS_POINTER, expected_size, header_size, shards_of
from firedup.host.base import OperationError
from firedup.host.file import FileFacts, read_file, stat_file
from firedup.host.link import Agent

FIRST_READ_BYTES = 1 << 20
LAST_READ_BYTES = 256 << 20
PARALLEL = 8
_INDEX = "model.safetensors.index.json"


async def check_whole(agent: Agent, path: str, role: str) -> tuple[Finding, ...]:
    """Problems of the checkpoint at `path` on the host; `role` is "model" or "drafter".

    A GGUF file or a folder of safetensors is read header by header (never the weights); other
    forms are passed over.
    """
    facts = await stat_file(agent, path)
    if facts is None:
        return (_missing(path, role),)
    if facts.kind == "folder":
        return await _check_folder(agent, path, role)
    if path.endswith(".safetensors"):
        return tuple(f for f in [await _check_shard(agent, facts, role)] if f)
    if path.endswith(".gguf"):
        return tuple(f for f in [await _check_gguf(agent, facts, role)] if f)
    return ()


async def _check_folder(agent: Agent, path: str, role: str) -> tuple[Finding, ...]:
    try:
        index = await read_file(agent, f"{path}/{_INDEX}")
    except OperationError:
        single = await stat_file(agent, f"{path}/model.safetensors")
        if single is None:
            return ()
        return tuple(f for f in [await _check_shard(agent, single, role)] if f)
    try:
        names = shards_of(index)
    except ValueError as error:
        return (_broken(f"{path}/{_INDEX}", role, str(error)),)
    gate = asyncio.Semaphore(PARALLEL)

    async def check(name: str) -> Finding | None:
        async with gate:
            facts = await stat_file(agent, f"{path}/{name}")
            if facts is None:
                return _broken(f"{path}/{name}", role, "the index names it and it is not there")
            return await _check_shard(agent, facts, role)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(check(name)) for name in names]
    return tuple(finding for task in tasks if (finding := task.result()) is not None)


async def _check_shard(agent: Agent, facts: FileFacts, role: str) -> Finding | None:
    head = await read_file(agent, facts.path, length=min(facts.size, FIRST_READ_BYTES))
    try:
        size = header_size(head)
        if len(head) < 8 + size <= facts.size:
            head += await read_file(
                agent, facts.path, offset=len(head), length=8 + size - len(head)
            )
        if facts.size < 8 + size:
            return _short(facts, 8 + size, role)
        wanted = expected_size(head[8 : 8 + size])
    except ValueError as error:
        return _broken(facts.path, role, str(error))
    if facts.size < wanted:
        return _short(facts, wanted, role)
    return None


async def _check_gguf(agent: Agent, facts: FileFacts, role: str) -> Finding | None:
    length = FIRST_READ_BYTES
    while True:
        head = await read_file(agent, facts.path, length=min(facts.size, length))
        if head.startswith(LFS_POINTER):
            return _broken(facts.path, role, "the file is a Git LFS pointer, not the weights")
        try:
            found = parse_gguf(head)
        except NeedMoreError as error:
            if len(head) >= facts.size:
                return _short(facts, error.size, role)
            length = max(2 * length, error.size)
            if length > LAST_READ_BYTES:
                return None
            continue
        except ValueError as error:
            return _broken(facts.path, role, str(error))
        if found.expected_bytes is not None and facts.size < found.expected_bytes:
            return _short(facts, found.expected_bytes, role)
        return None


def _missing(path: str, role: str) -> Finding:
    return Finding(
        f"{role}-missing",
        Severity.SEVERE,
        f"The {role} {path} does not exist on this host.",
        (Evidence("file", f"{path}: no such file or folder"),),
        "Correct the path, or download the checkpoint first.",
    )


def _broken(path: str, role: str, why: str) -> Finding:
    return Finding(
        f"{role}-damaged",
        Severity.SEVERE,
        f"A file of the {role} is damaged or incomplete.",
        (Evidence("file", f"{path}: {why}"),),
        "Download this file again and compare its size with the hub's.",
    )


def _short(facts: FileFacts, wanted: int, role: str) -> Finding:
    has, needs = f"{facts.size:,}", f"{wanted:,}"
    return _broken(facts.path, role, f"{has} bytes, but its header needs at least {needs}")
