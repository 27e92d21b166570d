"""The processes that matter of a server's tree: which rank each is, and what those below it do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from firedup.core.process import Process
from firedup.core.verdict.motion import Hold, Key, Motion, Motions
from firedup.core.verdict.patience import GPU_USE_PERCENT, IDLE_SHARE, MIN_CPU_SHARE

# What holds so much memory is no helper.
MATTERS_BYTES = 64 << 20
_RANK = re.compile(r"(?:^|[_: ])((?:DP|PP|TP|EP)\d+(?:[_ ](?:DP|PP|TP|EP)\d+)*)$")


@dataclass(frozen=True, slots=True)
class Member:
    """One rank with the processes below it; `worked_ns` and `moved_ns` as of a `Motion`."""

    name: str
    motion: Motion
    worked_ns: int
    moved_ns: int
    cpu_share: float
    is_rank: bool

    @property
    def pid(self) -> int:
        """Of the rank's own process."""
        return self.motion.process.pid

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


def rank_of(process: Process, names: Mapping[int, str]) -> str | None:
    """The rank of a process by its title, else by what the log says of its pid."""
    found = _RANK.search(process.title or process.name)
    return found[1].replace("_", " ") if found else names.get(process.pid)


def find_members(motions: Motions, root: int, names: Mapping[int, str]) -> tuple[Member, ...]:
    """The ranks, else workers that are alike, and besides whatever matters in the tree.

    `names` are ranks by pid, as the log tells them. The ranks come first.
    """
    ranks = {
        key: name
        for key, motion in motions.known.items()
        if (name := rank_of(motion.process, names)) is not None
    }
    if not ranks:
        ranks = _find_alike(motions)
    below = _share_out(motions, ranks)
    found = [_make(name, motions.known[key], below[key]) for key, name in ranks.items()]
    for key, motion in motions.known.items():
        process = motion.process
        if key not in ranks and (process.pid == root or process.rss_bytes >= MATTERS_BYTES):
            found.append(_make(process.title or process.name, motion, [motion], is_rank=False))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Odd:
    """The `idle` ranks, while the `spinning` ones only burn CPU time, since `since_ns`."""

    idle: tuple[Member, ...]
    spinning: tuple[Member, ...]
    since_ns: int


def find_odd(members: tuple[Member, ...], motions: Motions) -> Odd | None:
    """The ranks that do nothing while as many or more others spin; None when that is not so."""
    ranks = [member for member in members if member.is_rank]
    idle = tuple(member for member in ranks if _is_idle(member, motions))
    spinning = tuple(member for member in ranks if member.motion.is_spinning)
    if not idle or len(idle) + len(spinning) < len(ranks) or len(idle) > len(spinning):
        return None
    since_ns = max(
        *(member.worked_ns for member in ranks),
        *(member.motion.active_ns for member in idle),
        *(member.motion.slack_ns for member in spinning),
    )
    return Odd(idle, spinning, since_ns)


def _is_idle(member: Member, motions: Motions) -> bool:
    use = motions.use_of(member.pid)
    return member.cpu_share < IDLE_SHARE and (use is None or use < GPU_USE_PERCENT)


def _find_alike(motions: Motions) -> dict[Key, str]:
    """Processes of one name below one parent that hold most memory: workers without a rank."""
    groups: dict[tuple[int, str], list[Key]] = defaultdict(list)
    for key, motion in motions.known.items():
        groups[motion.process.parent, motion.process.name].append(key)
    alike = [keys for keys in groups.values() if len(keys) > 1]
    if not alike:
        return {}
    largest = max(alike, key=lambda keys: sum(motions.known[k].process.rss_bytes for k in keys))
    return {key: motions.known[key].process.name for key in largest}


def _share_out(motions: Motions, ranks: Mapping[Key, str]) -> dict[Key, list[Motion]]:
    """Each rank's processes: itself and those below it that are no ranks themselves."""
    of_pid = {motion.process.pid: key for key, motion in motions.known.items()}
    shares: dict[Key, list[Motion]] = {key: [] for key in ranks}
    for key, motion in motions.known.items():
        at: Key | None = key
        for _ in range(len(of_pid)):
            if at is None or at in ranks:
                break
            at = of_pid.get(motions.known[at].process.parent)
        if at in shares:
            shares[at].append(motion)
    return shares


def _make(name: str, motion: Motion, below: list[Motion], *, is_rank: bool = True) -> Member:
    return Member(
        name=name,
        motion=motion,
        worked_ns=max(one.worked_ns for one in below),
        moved_ns=max(one.moved_ns for one in below),
        cpu_share=sum(one.cpu_share for one in below),
        is_rank=is_rank,
    )


def tell_member(member: Member, now_ns: int) -> str:
    """What one member does, in a few words."""
    process = member.motion.process
    match member.motion.hold:
        case Hold.STOPPED:
            doing = "stopped by a signal"
        case Hold.PIPE:
            doing = "waits for somebody to read what it prints"
        case Hold.KERNEL:
            doing = "waits in the kernel"
        case _ if member.cpu_share >= MIN_CPU_SHARE:
            doing = f"takes {member.cpu_share:.0%} of a core"
        case _:
            doing = f"has done nothing for {(now_ns - member.moved_ns) / 1e9:.0f} s"
    channel = f" in {process.wait_channel}" if process.wait_channel else ""
    return f"{member}: {doing} (state {process.state}{channel})"
