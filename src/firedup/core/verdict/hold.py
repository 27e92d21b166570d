"""What holds a server up, as its samples show it: a stall with its evidence and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from firedup.core.model import Evidence, Stage
from firedup.core.verdict.crew import Member, find_members, find_odd, tell_member
from firedup.core.verdict.motion import Hold, Motions
from firedup.core.verdict.patience import RANK_READ_BYTES, Patience

_NS = 1_000_000_000
_MOST_TOLD = 4  # members whose doings are evidence
_STACKS = "Look at the stacks of the ranks (firedup stacks takes them) before stopping the server."


@dataclass(frozen=True, slots=True)
class Stall:
    """Why a server will not go on. `finding` is the symptom's id.

    `is_held`: something seen holds it up, which counts also when it had been ready.
    """

    finding: str
    message: str
    evidence: tuple[Evidence, ...]
    remedy: str = _STACKS
    is_held: bool = False

    @classmethod
    def of_all(cls, *evidence: Evidence, is_held: bool = False) -> Stall:
        """Nothing moves in the whole tree."""
        message = "Nothing moves: no log line, no CPU time, no reads, no memory growth."
        return cls("no-progress", message, evidence, is_held=is_held)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a tree at `now_ns`; `log_ns` is when its log grew last."""

    motions: Motions
    members: tuple[Member, ...]
    patience: Patience
    now_ns: int
    log_ns: int
    stage: Stage | None = None
    own_s: float | None = None

    def seconds(self, since_ns: int) -> float:
        """From `since_ns` until now."""
        return max(0.0, (self.now_ns - since_ns) / _NS)


def look_at(
    motions: Motions,
    root: int,
    names: Mapping[int, str],
    patience: Patience,
    now_ns: int,
    log_ns: int,
    stage: Stage | None,
    own_s: float | None,
) -> Look:
    """Gather what the tests below need; `root` is the pid of the server's main process."""
    members = find_members(motions, root, names)
    return Look(motions, members, patience, now_ns, log_ns, stage, own_s)


def find_hold(look: Look) -> Stall | None:
    """A process that matters and that a signal, a full pipe or the kernel keeps from going on."""
    patience = look.patience
    limits = {
        Hold.STOPPED: patience.stopped_s,
        Hold.PIPE: patience.pipe_s,
        Hold.KERNEL: patience.kernel_s,
    }
    for hold, limit_s in limits.items():
        held = [
            member
            for member in look.members
            if member.motion.hold is hold and look.seconds(member.motion.held_ns) >= limit_s
        ]
        if held:
            return _tell_held(look, hold, held)
    return None


def find_odd_rank(look: Look) -> Stall | None:
    """Ranks that do nothing while the others spin, for longer than the stage can explain."""
    odd = find_odd(look.members, look.motions)
    if odd is None:
        return None
    seconds = look.seconds(max(odd.since_ns, look.log_ns, look.motions.changed_ns))
    is_even = len(odd.idle) == len(odd.spinning)
    if seconds < look.patience.odd_s(look.stage, is_even=is_even):
        return None
    who = _name(odd.idle)
    has = "does" if len(odd.idle) == 1 else "do"
    message = (
        f"{who} {has} nothing, while {_count(len(odd.spinning), 'rank')} only burn"
        f"{'s' if len(odd.spinning) == 1 else ''} CPU time, as ranks do that wait for one another."
    )
    since = Evidence("sample", f"so it has been for {seconds:.0f} s, without a log line")
    return Stall("rank-idle", message, (*_doings(look, [*odd.idle, *odd.spinning]), since))


def find_stillness(look: Look) -> Stall | None:
    """Nothing moves in the whole tree, or CPU time alone does, for too long."""
    motions = look.motions
    others_ns = max(look.log_ns, motions.changed_ns)
    idle_s = look.seconds(max([others_ns, *(m.moved_ns for m in motions.known.values())]))
    used_s = look.seconds(motions.gpu_used_ns)
    quiet = Evidence("sample", f"the log has been silent for {look.seconds(look.log_ns):.0f} s")
    patience_s = look.patience.idle_s(look.stage, look.own_s)
    if idle_s >= patience_s and used_s >= patience_s:
        text = f"no CPU time, reads, page faults or memory growth for {idle_s:.0f} s"
        return Stall.of_all(Evidence("sample", text), quiet, *_doings(look, list(look.members)))
    spun_s = look.seconds(max([others_ns, *(m.worked_ns for m in motions.known.values())]))
    if spun_s >= max(look.patience.spin_s, look.own_s or 0.0):
        message = "CPU time or a GPU is used, and nothing comes of it."
        text = f"no reads, page faults or memory growth for {spun_s:.0f} s"
        evidence = (Evidence("sample", text), quiet, *_doings(look, list(look.members)))
        return Stall("spins", message, evidence)
    return None


def tell_work(motions: Motions) -> tuple[Evidence, ...]:
    """What silent processes do that can be seen: who reads how fast, and where in which file."""
    reading = [m for m in motions.known.values() if m.read_bytes_per_s >= RANK_READ_BYTES]
    found = []
    if reading:
        total = sum(motion.read_bytes_per_s for motion in reading) / 1e6
        found.append(f"{_count(len(reading), 'process', 'es')} read {total:,.0f} MB/s")
    living = {motion.process.pid for motion in motions.known.values()}
    for file in [file for file in motions.files if file.pid in living][:_MOST_TOLD]:
        name = file.path.rpartition("/")[2]
        found.append(f"pid {file.pid} has {name} open, read up to {file.offset / 1e6:,.0f} MB")
    return tuple(Evidence("sample", text) for text in found)


def _tell_held(look: Look, hold: Hold, held: list[Member]) -> Stall:
    who, first = _name(tuple(held)), held[0].motion
    seconds = look.seconds(min(member.motion.held_ns for member in held))
    verb = "has" if len(held) == 1 else "have"
    pid = first.process.pid
    match hold:
        case Hold.STOPPED:
            finding = "rank-stopped"
            message = f"{who} {verb} been stopped by a signal (or a debugger) for {seconds:.0f} s."
            remedy = f"Let it go on: kill -CONT {pid}. Look for who stopped it first."
        case Hold.PIPE:
            finding = "output-blocked"
            message = f"{who} {verb} waited for {seconds:.0f} s to print: the pipe is full."
            remedy = (
                "Look at what reads its output (tee, a logger, a pager): it stands or is stuck."
            )
        case _:
            finding = "waits-in-kernel"
            message = f"{who} {verb} waited in the kernel for {seconds:.0f} s and read nothing."
            remedy = (
                f"No signal ends that wait. cat /proc/{pid}/stack and dmesg tell whether a disk, a"
                " network file system or a GPU does not answer."
            )
    told = [*held, *(member for member in look.members if member not in held)]
    return Stall(finding, message, _doings(look, told), remedy, is_held=True)


def _doings(look: Look, members: list[Member]) -> tuple[Evidence, ...]:
    return tuple(Evidence("sample", tell_member(m, look.now_ns)) for m in members[:_MOST_TOLD])


def _name(members: tuple[Member, ...]) -> str:
    names = [str(member) for member in members]
    if len(names) > _MOST_TOLD:
        names = [*names[: _MOST_TOLD - 1], f"{len(names) - _MOST_TOLD + 1} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _count(number: int, word: str, plural: str = "s") -> str:
    return f"{number} {word}{'' if number == 1 else plural}"
