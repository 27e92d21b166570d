"""Whether a host has room for a launch: disk, shared memory, and memory for the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firedup.core.model import Evidence, Finding, ServerSpec, Severity
from firedup.host.file import PathFacts

_MIB, _GIB = 1 << 20, 1 << 30
_SHARED = "/dev/shm"  # noqa: S108 - asked about, not written


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too little, in bytes: `doomed` ends a start, below `risky` it may end later."""

    disk_doomed: int = 4 * _MIB
    disk_risky: int = 2 * _GIB
    shared_doomed_per_rank: int = 16 * _MIB  # what NCCL needs of /dev/shm at the very least
    shared_risky: int = 1 * _GIB
    left_behind: int = 64 * _MIB


LIMITS = Limits()


def check_disk(paths: Sequence[tuple[str, PathFacts]], limits: Limits = LIMITS) -> list[Finding]:
    """Space where log and caches go; `paths` are (what goes there, its file system)."""
    found = []
    seen: set[str] = set()
    for role, facts in paths:
        if facts.free_bytes >= limits.disk_risky or facts.mount in seen:
            continue
        seen.add(facts.mount)
        text = f"{facts.mount}: {_size(facts.free_bytes)} free of {_size(facts.total_bytes)}"
        is_doomed = facts.free_bytes < limits.disk_doomed and role != "caches"
        found.append(
            Finding(
                "disk-full" if is_doomed else "disk-low",
                Severity.SEVERE if is_doomed else Severity.WARNING,
                f"There is {'no' if is_doomed else 'little'} space where the {role} go.",
                (Evidence("file", text),),
                "Free space there, or choose another place (--log, HF_HOME, XDG_CACHE_HOME).",
            )
        )
    return found


def check_shared(
    memory: Mapping[str, Any], spec: ServerSpec, limits: Limits = LIMITS
) -> list[Finding]:
    """The size of /dev/shm against the ranks that talk through it."""
    ranks, shared = spec.tensor_parallel or 1, memory.get("shm")
    if ranks < 2 or spec.engine == "llama-cpp" or not shared:
        return []
    free, total = int(shared["free_bytes"]), int(shared["total_bytes"])
    is_doomed = free < ranks * limits.shared_doomed_per_rank
    if not is_doomed and free >= limits.shared_risky:
        return []
    return [
        Finding(
            "shared-memory-small",
            Severity.SEVERE if is_doomed else Severity.WARNING,
            f"{_SHARED} is small for {ranks} ranks, which exchange tensors through it.",
            (Evidence("file", f"{_SHARED}: {_size(free)} free of {_size(total)}"),),
            "In a container: --shm-size 16g or --ipc=host; else remount it larger.",
        )
    ]


def check_left_behind(
    segments: Sequence[Mapping[str, Any]], limits: Limits = LIMITS
) -> list[Finding]:
    """Shared memory of servers that are gone: no process has it, and it is never given back."""
    whole = sum(int(segment["bytes"]) for segment in segments)
    if whole < limits.left_behind:
        return []
    names = [str(segment["path"]) for segment in segments[:3]]
    more = f" and {len(segments) - 3} more" if len(segments) > 3 else ""
    return [
        Finding(
            "shared-memory-left-behind",
            Severity.WARNING,
            f"Servers that are gone left {_size(whole)} of shared memory behind.",
            (Evidence("file", f"no process has {', '.join(names)}{more}"),),
            f"Where no container shares it: rm {' '.join(names)}",
        )
    ]


def check_memory(
    memory: Mapping[str, Any], spec: ServerSpec, weights: int, *, has_gpus: bool
) -> list[Finding]:
    """The host's memory and its control group's limit against the weights.

    They stay in host memory where there is no GPU; a load onto GPUs passes through it in pieces.
    """
    free, source = int(memory.get("available_bytes") or 0), "host"
    total = int(memory.get("total_bytes") or 0)
    group = memory.get("cgroup") or {}
    if group.get("limit_bytes") is not None:
        used = int(group.get("usage_bytes") or 0) - int(group.get("inactive_file_bytes") or 0)
        rest = int(group["limit_bytes"]) - used
        total = min(total, int(group["limit_bytes"]))
        if rest < free:
            free, source = rest, "control group"
    if not weights or not free:
        return []
    is_mapped = spec.engine == "llama-cpp" and "--no-mmap" not in spec.argv
    stays = not is_mapped and (not has_gpus or "--no-mmap" in spec.argv)
    if stays and weights > total:
        severity, said = Severity.SEVERE, "do not fit into the memory of this host"
    elif stays and weights > free:
        severity, said = Severity.WARNING, "do not fit into what is free of this host's memory"
    elif not has_gpus and is_mapped and weights > free:
        severity, said = Severity.WARNING, "are larger than the memory that they are mapped into"
    else:
        return []
    text = f"{_size(weights)} of weights, {_size(free)} free of {_size(total)} ({source})"
    return [
        Finding(
            "host-memory-small",
            severity,
            f"The weights {said}.",
            (Evidence("sample", text),),
            "Use a smaller or quantised checkpoint, raise the limit, or end other processes.",
        )
    ]


def _size(size_bytes: int) -> str:
    return f"{size_bytes / _GIB:.1f} GiB" if size_bytes >= _GIB else f"{size_bytes / _MIB:.0f} MiB"
