"""Stacks of processes → groups of equal ones, what each waits in, and who stands apart."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from firedup.core.stack import KERNEL, Frame, StackGroup, StackMember, Stacks, Wait
from firedup.core.verdict.apart import STOPPED, call_of, find_odd, part
from firedup.core.verdict.stacktext import main_thread, parse_stack

MOST_GROUPS = 12
MOST_FRAMES = 24
# So far outwards a frame says what the innermost call is for.
DEPTH = 14
_STOPPED = Wait(STOPPED, "is stopped by a signal or a debugger")
_STOPPED_STATES = ("T", "t")

Knows = Callable[[Frame], Wait | None]


@dataclass(frozen=True, slots=True)
class ProcessStack:
    """One process with the frames of its main thread, innermost first, and the kernel's."""

    member: StackMember
    is_rank: bool
    frames: tuple[Frame, ...] = ()
    kernel: tuple[Frame, ...] = ()
    is_active: bool = False
    why_not: str = ""

    @property
    def is_stopped(self) -> bool:
        """Whether a signal or a debugger keeps it from running."""
        return self.member.state in _STOPPED_STATES


def read_stack(
    member: StackMember,
    text: str,
    *,
    is_rank: bool,
    kernel: str = "",
    wait_channel: str = "",
    why_not: str = "",
) -> ProcessStack:
    """What the texts about one process say; where there is none, its wait channel stands alone."""
    threads = parse_stack(text)
    thread = main_thread(threads)
    below = main_thread(parse_stack(kernel))
    inner = below.frames if below is not None else ()
    if not inner and wait_channel not in ("", "0"):
        inner = (Frame(wait_channel, KERNEL),)
    frames = thread.frames if thread is not None else inner
    active = thread.is_active if thread is not None else None
    return ProcessStack(
        replace(member, threads=len(threads)),
        is_rank,
        frames,
        inner,
        is_active=member.state == "R" if active is None else active,
        why_not=why_not,
    )


def group_stacks(stacks: Sequence[ProcessStack], knows: Knows) -> tuple[StackGroup, ...]:
    """Equal stacks together, the ranks first, large groups first, with who stands apart.

    Equal are stacks of the same calls from the same lines. The line of the innermost call counts
    only where the thread waits: one that spins is at another line at each look, and may be in a
    call further in.
    """
    found = _merge_spinning(_gather(stacks))
    found.sort(key=lambda group: (not group[0].is_rank, -len(group), _natural(group[0])))
    groups = [_describe(group, knows) for group in found]
    odd = find_odd(groups)
    groups = [replace(group, is_odd=n in odd) for n, group in enumerate(groups)]
    return tuple(part(groups, [group[0].frames for group in found]))[:MOST_GROUPS]


def join_stacks(nodes: Sequence[tuple[str, Stacks | None]]) -> Stacks | None:
    """The stacks of several nodes as those of one run; each has its label.

    The moment and the file (which the label says where to look for) are those of the first node
    that has any.
    """
    known = [(label, stacks) for label, stacks in nodes if stacks is not None]
    if len(known) < 2:
        return next((_relabel(label, stacks) for label, stacks in known), None)
    alike: dict[object, StackGroup] = {}
    for label, stacks in known:
        for group in _relabel(label, stacks).groups:
            key = group.is_rank, group.wait == STOPPED, *map(call_of, group.frames)
            first = alike.get(key)
            both = (*(first.members if first else ()), *group.members)
            alike[key] = replace(first or group, members=both)
    groups = sorted(alike.values(), key=lambda group: (not group.is_rank, -len(group.members)))
    odd = find_odd(groups)
    groups = [replace(group, is_odd=n in odd) for n, group in enumerate(groups)]
    groups = part(groups, [group.frames for group in groups])
    return replace(_relabel(*known[0]), groups=tuple(groups[:MOST_GROUPS]))


def _relabel(label: str, stacks: Stacks) -> Stacks:
    def name(group: StackGroup) -> StackGroup:
        members = (replace(one, name=f"{label} {one.name}") for one in group.members)
        return replace(group, members=tuple(members))

    path = None if stacks.path is None else f"{label}:{stacks.path}"
    return replace(stacks, groups=tuple(name(group) for group in stacks.groups), path=path)


def tell_wait(frames: Sequence[Frame], knows: Knows) -> tuple[Wait, Frame] | None:
    """The innermost frame that is known, and what it means; one that is telling comes first."""
    generic = None
    for frame in frames[:DEPTH]:
        wait = knows(frame)
        if wait is not None and not wait.is_generic:
            return wait, frame
        if wait is not None and generic is None:
            generic = wait, frame
    return generic


def _gather(stacks: Sequence[ProcessStack]) -> list[list[ProcessStack]]:
    """Processes of equal stacks, those of each group in the order of their names."""
    alike: dict[object, list[ProcessStack]] = defaultdict(list)
    for stack in sorted(stacks, key=_natural):
        calls = [call_of(frame) for frame in stack.frames]
        inner = calls[0][:2] if calls else ()
        alike[stack.is_rank, stack.is_stopped, inner, *calls[1:]].append(stack)
    groups: list[list[ProcessStack]] = []
    for bucket in alike.values():
        spinning = [stack for stack in bucket if stack.is_active]
        lines = {_inner_line(stack) for stack in spinning}
        by_line: dict[object, list[ProcessStack]] = defaultdict(list)
        for stack in bucket:
            line = _inner_line(stack)
            by_line["spins" if stack.is_active or line in lines else line].append(stack)
        groups += by_line.values()
    return groups


def _merge_spinning(groups: list[list[ProcessStack]]) -> list[list[ProcessStack]]:
    """Join groups that spin in one loop, of which one was met within a call that it makes."""
    merged: list[list[ProcessStack]] = []
    for group in sorted(groups, key=lambda group: len(group[0].frames)):
        host = next((other for other in merged if _is_within(group[0], other[0])), None)
        if host is None:
            merged.append(group)
        else:
            host.extend(group)
            host.sort(key=lambda stack: (len(stack.frames), _natural(stack)))
    return merged


def _is_within(inner: ProcessStack, outer: ProcessStack) -> bool:
    """Whether `inner` spins in a call that the loop of `outer` makes."""
    count = len(outer.frames)
    if not (inner.is_active and outer.is_active and count) or len(inner.frames) <= count:
        return False
    if (inner.is_rank, inner.is_stopped) != (outer.is_rank, outer.is_stopped):
        return False
    mine = [call_of(frame) for frame in inner.frames[-count:]]
    theirs = [call_of(frame) for frame in outer.frames]
    return mine[0][:2] == theirs[0][:2] and mine[1:] == theirs[1:]


def _describe(group: list[ProcessStack], knows: Knows) -> StackGroup:
    first = group[0]
    frames = first.frames
    # What the kernel does is telling where nothing can wake the process.
    inner = first.kernel if first.member.state == "D" and first.kernel != frames else ()
    found = tell_wait((*inner, *frames), knows)
    wait, at = found if found is not None else (None, None)
    if wait is None and (below := tell_wait(first.kernel, knows)) is not None:
        wait = below[0]  # of a call that the program makes in a language without frames
    if first.is_stopped:
        wait = _STOPPED
    return StackGroup(
        tuple(sorted((stack.member for stack in group), key=lambda one: _natural_name(one.name))),
        frames[:MOST_FRAMES],
        max(0, len(frames) - MOST_FRAMES),
        is_rank=first.is_rank,
        wait=wait.id if wait else None,
        meaning=wait.meaning if wait else "",
        waits_for_others=wait is not None and wait.for_others,
        is_generic=wait is None or wait.is_generic,
        at=at,
        why_not=next((stack.why_not for stack in group if stack.why_not), ""),
    )


def _inner_line(stack: ProcessStack) -> int | None:
    return stack.frames[0].line if stack.frames else None


def _natural(stack: ProcessStack) -> tuple[object, ...]:
    return _natural_name(stack.member.name)


def _natural_name(name: str) -> tuple[object, ...]:
    """TP10 comes after TP2."""
    parts = re.split(r"([0-9]+)", name)
    return tuple(int(part) if number % 2 else part for number, part in enumerate(parts))
