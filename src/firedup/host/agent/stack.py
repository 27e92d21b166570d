"""The stacks of a server's processes, taken so that none of them is stopped or ended by it."""

import threading
import time

from firedup.host.agent.armed import ask_by_signal
from firedup.host.agent.look import read_title
from firedup.host.agent.ptrace import refuse_tracing
from firedup.host.agent.pyspy import Spies, find_pyspy, list_own_places, list_places
from firedup.host.agent.system import AgentError, boottime_ns
from firedup.host.agent.task import see_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_PIDS = 256
_MOST_S = 600.0
_AT_ONCE = 4  # py-spies
_SEEN_SHARE, _SPY_SHARE = 0.25, 0.6  # of the time that is left
_END_S = 0.2  # before the end, for what is on its way
_REMEDY = "; a launch with --arm-stacks lets its Python processes tell by themselves"


def op_stacks(args: "dict[str, Any]", work: "Any") -> "dict[str, Any]":
    """stacks {pids, limit_s, armed}: what each process does at this moment.

    Result: {taken: [{pid, starttime, title, state, wchan, by, text, kernel, why_not}], at_ns}, in
    the order of `pids`. `by` is py-spy, faulthandler, kernel or none; `why_not` says why it was not
    a better one. A process that answers nobody costs the others nothing.
    """
    pids = list(dict.fromkeys(int(pid) for pid in args["pids"]))[:_MOST_PIDS]
    limit_s = float(args["limit_s"])
    if not 0 <= limit_s <= _MOST_S:
        raise AgentError("bad-request", f"a limit of {limit_s} s is not between 0 and {_MOST_S:g}")
    at_ns = boottime_ns()
    taking = Taking(pids, limit_s, is_armed=bool(args.get("armed")))
    work.on_cancel = taking.spies.end
    return {"taken": taking.run(), "at_ns": at_ns}


class Taking:
    """One look at many processes at once: each has a thread, which may never come back."""

    def __init__(self, pids: "list[int]", limit_s: float, *, is_armed: bool) -> None:
        self.pids = pids
        self.limit_s = limit_s
        self.is_armed = is_armed
        self.until_s = time.monotonic() + limit_s
        self.spies = Spies()
        self.seen = {}  # type: dict[int, dict[str, Any]]  # what the kernel tells
        self.taken = {}  # type: dict[int, dict[str, Any]]
        self._places = []  # type: list[str]  # where others of the server would have their py-spy
        self._lock = threading.Lock()
        self._unseen = len(pids)
        self._all_seen = threading.Event()
        self._turns = threading.BoundedSemaphore(_AT_ONCE)

    def run(self) -> "list[dict[str, Any]]":
        """What was taken until the time was over."""
        threads = []
        for pid in self.pids:
            thread = threading.Thread(target=self._take, args=(pid,), daemon=True)
            try:
                thread.start()
            except RuntimeError:
                self.taken[pid] = _tell_nothing(pid, "the agent may have no more threads")
                self._note_seen()
            else:
                threads.append(thread)
        for thread in threads:
            thread.join(max(0.0, self.until_s - time.monotonic()))
        self.spies.end()
        return [self.taken.get(pid) or self._give_up(pid) for pid in self.pids]

    def _take(self, pid: int) -> None:
        try:
            self.taken[pid] = self._look(pid)
        except Exception as error:  # noqa: BLE001 - one that cannot be looked at costs no other
            why_not = f"the agent failed: {type(error).__name__}: {error}"
            facts = self.seen.get(pid)
            self.taken[pid] = _tell_kernel(facts, why_not) if facts else _tell_nothing(pid, why_not)

    def _look(self, pid: int) -> "dict[str, Any]":
        try:
            facts, places = see_process(pid), []  # type: dict[str, Any] | None, list[str]
            if facts is not None:
                self.seen[pid] = facts
                # From here on it may never come back: a process may wait with its memory locked.
                facts["title"] = read_title(pid, facts["title"]) or facts["title"]
                places = list_places(pid)
        finally:
            self._note_seen()
        if facts is None:
            return _tell_nothing(pid, f"there is no process {pid} any more")
        if facts["state"] in "ZX":
            return _tell_kernel(facts, "it has ended")
        with self._lock:
            self._places += places
        # The others are waited for, since a rank's title may lie where its PATH has been.
        self._all_seen.wait(self._share(_SEEN_SHARE))
        text, why_not = self._spy(pid, places)
        if text:
            return dict(facts, by="py-spy", text=text, why_not="")
        if not self.is_armed:
            return _tell_kernel(facts, why_not + _REMEDY)
        text, words = ask_by_signal(pid, facts["starttime"], self.until_s - _END_S)
        if text:
            return dict(facts, by="faulthandler", text=text, why_not=why_not)
        return _tell_kernel(facts, f"{why_not}; {words}")

    def _note_seen(self) -> None:
        with self._lock:
            self._unseen -= 1
            if not self._unseen:
                self._all_seen.set()

    def _share(self, share: float) -> float:
        return max(0.0, (self.until_s - time.monotonic()) * share)

    def _spy(self, pid: int, places: "list[str]") -> "tuple[str, str]":
        """What py-spy says, or why it may not be asked, or has nothing to say."""
        why_not = refuse_tracing(pid)
        if why_not:
            return "", why_not
        with self._lock:
            folders = [*places, *list_own_places(), *self._places]
        path, why_not = find_pyspy(folders)
        if path is None:
            return "", why_not
        # Time is left for the signal, and for those who wait for their turn.
        rounds = -(-len(self.pids) // _AT_ONCE)
        if not self._turns.acquire(timeout=self._share(_SPY_SHARE)):
            return "", "py-spy had other processes to read"
        try:
            return self.spies.ask(path, pid, time.monotonic() + self._share(_SPY_SHARE / rounds))
        finally:
            self._turns.release()

    def _give_up(self, pid: int) -> "dict[str, Any]":
        """Of a process whose thread has not come back."""
        why_not = f"nothing came within {self.limit_s:g} s"
        facts = self.seen.get(pid)
        return _tell_kernel(facts, why_not) if facts else _tell_nothing(pid, why_not)


def _tell_kernel(facts: "dict[str, Any]", why_not: str) -> "dict[str, Any]":
    by = "kernel" if facts["kernel"] else "none"
    return dict(facts, by=by, text=facts["kernel"], why_not=why_not)


def _tell_nothing(pid: int, why_not: str) -> "dict[str, Any]":
    empty = dict.fromkeys(("title", "state", "wchan", "text", "kernel"), "")
    return dict(empty, pid=pid, starttime=0, by="none", why_not=why_not)
