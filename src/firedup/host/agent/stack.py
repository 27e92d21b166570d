"""The stacks of a server's processes, taken so that none of them is stopped or ended by it."""

import os
import threading
import time

from firedup.host.agent.system import boottime_ns
from firedup.host.agent.task import see_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_PIDS = 256
_MOST_S = 600.0


def op_stacks(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """stacks {pids, limit_s, armed}: what each process does at this moment.

    Result: {taken: [{pid, starttime, title, state, wchan, by, text, kernel, why_not}], at_ns}, in
    the order of `pids`. `by` is py-spy, faulthandler, kernel or none; `why_not` says why it was not
    a better one. A process that answers nobody costs the others nothing.
    """
    pids = list(dict.fromkeys(int(pid) for pid in args["pids"]))[:_MOST_PIDS]
    limit_s = min(float(args["limit_s"]), _MOST_S)
    at_ns = boottime_ns()
    return {"taken": Taking(pids, limit_s).run(), "at_ns": at_ns}


class Taking:
    """One look at many processes at once: each has a thread, which may never come back."""

    def __init__(self, pids: "list[int]", limit_s: float) -> None:
        self.pids = pids
        self.limit_s = limit_s
        self.until_s = time.monotonic() + limit_s
        self.seen = {}  # type: dict[int, dict[str, Any]]  # what the kernel tells
        self.taken = {}  # type: dict[int, dict[str, Any]]

    def run(self) -> "list[dict[str, Any]]":
        """What was taken until the time was over."""
        threads = [
            threading.Thread(target=self._take, args=(pid,), daemon=True) for pid in self.pids
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self.until_s - time.monotonic()))
        return [self.taken.get(pid) or self._give_up(pid) for pid in self.pids]

    def _take(self, pid: int) -> None:
        facts = see_process(pid)
        if facts is None or pid == os.getpid():
            self.taken[pid] = _tell_nothing(pid, f"there is no process {pid} any more")
            return
        self.seen[pid] = facts
        self.taken[pid] = _tell_kernel(facts, "")

    def _give_up(self, pid: int) -> "dict[str, Any]":
        """Of a process whose thread has not come back."""
        why = f"nothing came within {self.limit_s:g} s"
        facts = self.seen.get(pid)
        return _tell_kernel(facts, why) if facts else _tell_nothing(pid, why)


def _tell_kernel(facts: "dict[str, Any]", why_not: str) -> "dict[str, Any]":
    by = "kernel" if facts["kernel"] else "none"
    return dict(facts, by=by, text=facts["kernel"], why_not=why_not)


def _tell_nothing(pid: int, why_not: str) -> "dict[str, Any]":
    empty = dict.fromkeys(("title", "state", "wchan", "text", "kernel"), "")
    return dict(empty, pid=pid, starttime=0, by="none", why_not=why_not)
