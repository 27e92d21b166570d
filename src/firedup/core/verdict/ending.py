"""Causes that no log line tells: exit status, signals, the OOM killer, a foreign port owner."""

from __future__ import annotations

from firedup.core.event import Exited, PortOwner
from firedup.core.model import Cause, Evidence, Line, Process, Stage
from firedup.core.verdict.vital import Loss

SIGNAL_NAMES = {
    1: "SIGHUP",
    2: "SIGINT",
    3: "SIGQUIT",
    4: "SIGILL",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    13: "SIGPIPE",
    15: "SIGTERM",
}

_MEMORY_REMEDY = (
    "Give the cgroup more memory, or load with less host memory (fewer loader threads)."
)
_WORKER_REMEDY = (
    "Look into the log for its last lines, and into the kernel log for what ended it (dmesg -T)."
)
# How an end is called that came with the host's own.
RESTARTED = "the host was started again"

_MEANINGS = {
    4: (
        "illegal-instruction",
        "The program used an instruction that this CPU does not have.",
        "Install a build for this CPU, or one that chooses its code at run time.",
    ),
    6: ("native-abort", "Native code aborted the process.", "Read the last lines before the end."),
    7: (
        "bus-error",
        "A memory-mapped file or shared memory could not be read or enlarged.",
        "Check that /dev/shm is large enough and that no checkpoint file was cut short.",
    ),
    9: (
        "killed",
        "The process was killed from outside with SIGKILL; nothing shows by whom.",
        "Look into the kernel log for the OOM killer, and for another user's or job's kill.",
    ),
    11: (
        "segmentation-fault",
        "Native code touched memory that is not its own.",
        "Check that engine, torch, driver and kernel packages belong together.",
    ),
}


def describe_exit(exited: Exited) -> str:
    """How the process ended, in a few words."""
    if exited.signal is not None:
        name = SIGNAL_NAMES.get(exited.signal, f"signal {exited.signal}")
        return f"ended by {name} (signal {exited.signal})"
    if exited.code is not None:
        return f"exit status {exited.code}"
    if exited.error:
        return f"ended; exit status unknown: {exited.error}"
    return "ended; exit status unknown"


def cause_of_exit(
    exited: Exited, stage: Stage | None, *, was_ready: bool, last_line: Line | None = None
) -> Cause:
    """The cause that the way of ending alone supports. OOM is said only with evidence.

    `last_line` is what the log said last: often the only word about it.
    """
    text = f"the process (pid {exited.pid}) {describe_exit(exited)}"
    evidence: tuple[Evidence, ...] = (Evidence("exit", text),)
    if last_line is not None:
        evidence += (Evidence("line", last_line.text),)
    if exited.signal == 9 and exited.oom_killed:
        evidence += (Evidence("sample", "the cgroup's oom_kill counter went up"),)
        return _outside(
            "host-out-of-memory",
            text,
            stage,
            "The kernel's OOM killer ended the process: the host or its cgroup ran out of memory.",
            _MEMORY_REMEDY,
            evidence,
            exited.at_ns,
        )
    if exited.error == RESTARTED:
        return _outside(
            "host-restarted",
            text,
            stage,
            "The host was started again, and everything that ran on it ended with that.",
            "Look for the reason in the host's journal (journalctl -b -1 -e), then launch again.",
            evidence,
            exited.at_ns,
        )
    if exited.signal is not None and exited.signal in _MEANINGS:
        failure, meaning, remedy = _MEANINGS[exited.signal]
        role = "unclassified" if exited.signal == 9 else "cause"  # engines kill their own, too
        return _outside(failure, text, stage, meaning, remedy, evidence, exited.at_ns, role)
    if was_ready:
        meaning = "The server had been up and ended by itself without saying why."
    else:
        meaning = "The process ended before the server was up, without saying why."
    remedy = "Read the last lines of the log."
    return _outside(
        "silent-exit", text, stage, meaning, remedy, evidence, exited.at_ns, "unclassified"
    )


def cause_of_loss(loss: Loss, stage: Stage | None, root: Process | None) -> Cause:
    """A process without which nothing is served has ended; `root` is the main one if it lives."""
    process, number = loss.process, loss.signal
    how = "ended"
    if number is not None:
        how = f"was ended by {SIGNAL_NAMES.get(number, 'a signal')} (signal {number})"
    elif loss.status:
        how = f"ended with exit status {loss.status >> 8}"
    text = f"{process.title or process.name} (pid {process.pid}) {how}"
    evidence = [Evidence("sample", text + (", and nobody has taken note" * loss.is_zombie))]
    evidence += [Evidence("line", line) for line in loss.kernel]
    meaning = "A process without which the server serves nothing has ended"
    remedy = _WORKER_REMEDY
    if root is not None:
        alive = f"{root.title or root.name} (pid {root.pid})"
        evidence.append(Evidence("sample", f"{alive}, the server's main process, lives"))
        meaning += ", and its main process goes on as if nothing were"
        remedy = f"Stop what is left (firedup stop RUN). {remedy}"
    failure = _MEANINGS[number][0] if number in _MEANINGS else "worker-died"
    if loss.oom_killed:
        failure, meaning = "host-out-of-memory", f"{meaning}: the kernel's OOM killer ended it"
        evidence.append(Evidence("sample", "the kernel counted or named a kill for want of memory"))
        remedy = _MEMORY_REMEDY
    return _outside(failure, text, stage, f"{meaning}.", remedy, tuple(evidence), loss.gone_ns)


def cause_of_owner(owner: PortOwner, stage: Stage | None) -> Cause:
    """Another process listens on the port that this server was told to use."""
    who = f"pid {owner.pid}" if owner.pid else "another process"
    if owner.command:
        who += f" ({owner.command})"
    text = f"port {owner.port} belongs to {who}, not to this server"
    return _outside(
        "port-in-use",
        text,
        stage,
        "Another server answers on this port, so this one cannot be reached.",
        "Stop the owner of the port or choose another port.",
        (Evidence("port", text),),
        owner.at_ns,
    )


def _outside(
    failure: str,
    text: str,
    stage: Stage | None,
    meaning: str,
    remedy: str,
    evidence: tuple[Evidence, ...],
    at_ns: int,
    role: str = "cause",
) -> Cause:
    return Cause(
        failure, None, text, None, None, None, stage, meaning, remedy, evidence, at_ns, role
    )
