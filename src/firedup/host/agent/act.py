"""What is done to processes and asked about them: signal, wait, sample."""

import os
import signal
import time

from firedup.host.agent.around import Around
from firedup.host.agent.logfile import LogMarks
from firedup.host.agent.look import Stat
from firedup.host.agent.memory import Group, memory_available
from firedup.host.agent.poller import Poller
from firedup.host.agent.port import Ports
from firedup.host.agent.proc import (
    Tree,
    describe_process,
    find_process,
    is_alive,
    list_pids,
    read_stat,
)
from firedup.host.agent.spawn import HELPER_NAME
from firedup.host.agent.stream import Stream
from firedup.host.agent.system import AgentError, boottime_ns, load_libc, read_whole, wall_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_PIDFD_OPEN = 434  # the same number on every architecture
_WAIT_POLL_S = 0.1  # where the kernel has no pidfd (before Linux 5.3)


def open_pidfd(pid: int) -> int:
    """A descriptor that becomes readable when the process is gone; -1 where there is no such."""
    try:
        if hasattr(os, "pidfd_open"):
            return os.pidfd_open(pid)
        return int(load_libc().syscall(_PIDFD_OPEN, pid, 0))
    except OSError:
        return -1


class Departure:
    """Watches one process in the loop and calls `handler` once when it is gone."""

    def __init__(self, loop: Poller, pid: int, start_ticks: int, handler: "Callable[[], None]"):
        self._loop, self._handler = loop, handler
        owner = getattr(handler, "__self__", None)
        self.number = getattr(owner, "number", None)  # of the request, for the loop
        self._pid, self._start_ticks = pid, start_ticks
        self._file = open_pidfd(pid)
        self.is_polled = self._file < 0
        if self._file >= 0:
            loop.watch(self._file, self.check)
        self.is_gone = False

    def check(self) -> None:
        """Looks now."""
        if not self.is_gone and not is_alive(self._pid, self._start_ticks):
            self.is_gone = True
            self.close()
            self._handler()

    def close(self) -> None:
        """Lets go of the descriptor."""
        if self._file >= 0:
            self._loop.unwatch(self._file)
            os.close(self._file)
            self._file = -1


class Wait(Stream):
    """wait {pid, start_ticks}: ends when the process is gone, at once when it is already.

    A zombie counts as gone. Result: {at_ns, was_gone}.
    """

    touches_files = False

    def open(self) -> None:
        """Begins to watch."""
        pid, ticks = int(self.args["pid"]), int(self.args["start_ticks"])
        self.departure = Departure(self.loop, pid, ticks, self._ready)
        self.at_ns = 0
        self.departure.check()
        self.was_gone = self.departure.is_gone
        self._plan()

    def _ready(self) -> None:
        self.at_ns = boottime_ns()
        self.is_ready = True

    def _plan(self) -> None:
        if self.departure.is_polled and not self.departure.is_gone:
            self.due = time.monotonic() + _WAIT_POLL_S

    def on_due(self) -> None:
        """A look where the kernel tells nothing."""
        self.departure.check()
        self._plan()

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The end, once it has come."""
        if not self.departure.is_gone:
            return None
        return self.end({"at_ns": self.at_ns, "was_gone": self.was_gone})

    def close(self) -> None:
        """Stops watching."""
        self.departure.close()


def op_signal(args: "dict[str, Any]") -> "dict[str, Any]":
    """signal {pid, start_ticks, signal, to}: `to` is main, group or session.

    `signal` is a name such as SIGTERM. Refuses when the process is another one by now, and never
    signals the group or session of the agent itself. Result: {signalled: [pid]}.
    """
    number = getattr(signal, args["signal"], None) if args["signal"].startswith("SIG") else None
    if not isinstance(number, signal.Signals):
        raise AgentError("bad-request", f"there is no signal {args['signal']!r}")
    stat = find_process(int(args["pid"]), int(args["start_ticks"]))
    to = args.get("to", "main")
    if stat.pid in (1, os.getpid()):
        raise AgentError("refused", f"process {stat.pid} is not signalled")
    if to == "main":
        targets = [stat.pid]
    elif to in ("group", "session"):
        targets = _companions(stat.group if to == "group" else stat.session, to)
    else:
        raise AgentError("bad-request", f"no such addressee: {to!r}")
    signalled = []
    for pid in targets:
        try:
            os.kill(pid, number)
            signalled.append(pid)
        except ProcessLookupError:
            continue
    return {"signalled": signalled}


def _companions(number: int, to: str) -> "list[int]":
    own = read_stat(os.getpid())
    if own is not None and number in (0, 1, own.group if to == "group" else own.session):
        raise AgentError("refused", f"the {to} {number} holds more than the server")
    found = []
    for pid in list_pids():
        stat = read_stat(pid)
        if stat is not None and number == (stat.group if to == "group" else stat.session):
            found.append(pid)
    return found


def op_members(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """members {run_id, server?: {pid, start_ticks}, keeper?}: the living processes of a run.

    The keeper's descendants (orphans are given to it), and after its death those that are known
    by the environment that they inherited or by the server's session, since a process that sets
    its title overwrites its environment.
    """
    mark = b"FIREDUP_RUN=" + os.fsencode(args["run_id"])
    session, keeper = _own_session(args.get("server")), args.get("keeper")
    stats = {pid: stat for pid in list_pids() for stat in [read_stat(pid)] if stat is not None}
    family = {keeper["pid"]} if keeper and is_alive(keeper["pid"], keeper["start_ticks"]) else set()
    while True:  # children of children …
        more = {
            p
            for p, stat in stats.items()
            if stat.parent in family and p not in family and not _is_helper(stat, keeper)
        }
        if not more:
            break
        family |= more
    found = []
    for pid, stat in sorted(stats.items()):
        if stat.state == "Z" or (keeper and pid == keeper["pid"]):
            continue
        is_member = pid in family or (session > 0 and stat.session == session)
        if is_member or mark in (read_whole(f"/proc/{pid}/environ") or b"").split(b"\0"):
            process = describe_process(pid)
            if process is not None:
                found.append(process)
    return {"processes": found}


def _is_helper(stat: Stat, keeper: "dict[str, int] | None") -> bool:
    """Whether it works for the keeper, such as for a hook, and not for the server."""
    return keeper is not None and stat.parent == keeper["pid"] and stat.name == HELPER_NAME


def _own_session(server: "dict[str, int] | None") -> int:
    """The session that the server leads or led; 0 when its number belongs to somebody else now.

    The kernel gives no new process the number of a session that still has members.
    """
    if server is None:
        return 0
    leader = read_stat(server["pid"])
    is_other = leader is not None and leader.ticks != server["start_ticks"]
    return 0 if is_other else server["pid"]


def take_sample(
    tree: Tree,
    ports: Ports,
    group: Group,
    log: "LogMarks | None",
    around: "Around | None" = None,
) -> "dict[str, Any]":
    """One `Sample` of a process tree; `log_size` is -1 without a log."""
    processes = tree.sample()
    sample = {"at_ns": boottime_ns(), "wall_ns": wall_ns(), "log_size": -1}  # type: dict[str, Any]
    if log is not None:
        sample.update(log.look(tree.root))
    sample["processes"] = processes
    sample["ports"] = ports.sample([p["pid"] for p in processes])
    sample["memory_available_bytes"] = memory_available()
    sample["oom_kills"] = group.oom_kills()
    if around is not None:
        around.add_to(sample, group)
    return sample


def op_process(args: "dict[str, Any]") -> "dict[str, Any]":
    """process {pid}: who it is."""
    found = describe_process(int(args["pid"]))
    if found is None:
        raise AgentError("gone", f"there is no process {args['pid']}")
    return found


def op_tree(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """tree {pid, start_ticks?, log?}: one sample of the process and its descendants."""
    stat = find_process(int(args["pid"]), args.get("start_ticks"))
    tree = Tree(stat.pid, stat.ticks)
    try:
        return take_sample(tree, Ports(stat.pid), Group(stat.pid), _marks_of(args))
    finally:
        tree.close()


def _marks_of(args: "dict[str, Any]") -> "LogMarks | None":
    return LogMarks(args["log"]) if args.get("log") else None


class WatchTree(Stream):
    """watch_tree {pid, start_ticks, every_s?, log?}: a sample as EVENT again and again.

    Ends when the process and all its descendants are gone. A client that is slow gets fewer.
    """

    def open(self) -> None:
        """Finds the process."""
        stat = find_process(int(self.args["pid"]), self.args.get("start_ticks"))
        self.every_s = max(0.05, float(self.args.get("every_s", 1.0)))
        self.tree = Tree(stat.pid, stat.ticks)
        self.ports = Ports(stat.pid)
        self.group = Group(stat.pid)
        self.marks = _marks_of(self.args)
        log = self.args.get("log")
        self.around = Around([os.path.dirname(os.path.abspath(log))] if log else [])

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The sample that is due."""
        if self.due is not None:
            return None
        sample = take_sample(self.tree, self.ports, self.group, self.marks, self.around)
        if not sample["processes"]:
            return self.end({"at_ns": sample["at_ns"]})
        self.due = time.monotonic() + self.every_s
        return self.event(sample)

    def close(self) -> None:
        """Closes the files of the processes."""
        self.tree.close()
        self.around.close()
