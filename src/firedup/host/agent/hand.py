"""Hands the loop to another thread while a call of it does not come back from a file system."""

import _thread
import os
import time

from firedup.host.agent.system import AgentError, boottime_ns, runs_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_CHECK_S = 2.0  # between two looks whether a call has come back
_HANGS_S = 1.0  # so long the loop waits for one; a wrong guess costs a thread and nothing else
TELL_S = 5.0  # from here on the client is told
ANSWER_S = 20.0  # and here a request gets its answer, before its client takes it for a dead link
MOST_HELD = 32  # calls that hang at a time: each has a thread


class Replaced(BaseException):
    """This thread's call took so long that another thread serves now."""


class Call:
    """One call that may hang: which request it belongs to, with what arguments, since when."""

    def __init__(self, number: int, args: "dict[str, Any]", silence: str) -> None:
        self.number = number
        self.args = args
        self.silence = silence  # what is done while it hangs: wait, tell or end
        self.since_s = time.monotonic()
        self.due_s = None  # type: float | None
        self.is_cancelled = False  # nobody waits for it any more
        self.has_told = False
        self.inputs = []  # type: list[bytes]  # what came for it meanwhile

    @property
    def seconds(self) -> int:
        """For how long it has not come back."""
        return int(time.monotonic() - self.since_s)

    def event(self, state: str) -> "dict[str, Any]":
        """What a stream that goes on tells of it."""
        facts = {"path": place_of(self.args), "seconds": self.seconds}
        return dict(facts, state=state, at_ns=boottime_ns())

    def fault(self) -> AgentError:
        """The answer to whoever has waited long enough."""
        place = place_of(self.args)
        what = "the file {} does not answer since {} s (network file system?)"
        return AgentError("unanswered", what.format(place, self.seconds), place)


class Hands:
    """Runs the loop's calls. While one hangs, `serve` goes on in a thread that watches for that.

    A system call that waits for a file server cannot be interrupted, only left: its thread stays
    with it, and brings the outcome to the loop when there is one. Only the thread that serves uses
    `held`, the calls that hang, by the number of their request. One that has come back is greeted,
    then its outcome is settled, then its request resumes.
    """

    def __init__(
        self,
        serve: "Callable[[], None]",
        post: "Callable[[Callable[[], None]], None]",
        suspend: "Callable[[int], None]",
        greet: "Callable[[Call], None]",
        resume: "Callable[[Call], None]",
    ) -> None:
        self._serve, self._post = serve, post
        self._suspend, self._greet, self._resume = suspend, greet, resume
        self._lock = _thread.allocate_lock()
        self._turn = 0  # counts the threads that have served
        self._call = None  # type: Call | None
        self.held = {}  # type: dict[int, Call]

    def begin(self) -> None:
        """Has a thread look after the one that serves."""
        try:
            _thread.start_new_thread(self._look_after, ())
        except RuntimeError:  # no more threads for this user: a file that hangs is waited for
            pass

    def run(
        self,
        call: Call,
        work: "Callable[[], Any]",
        settle: "Callable[[Call, Any, Exception | None], Any]",
    ) -> "Any":
        """What `settle` makes of the outcome of `work`: its value or its error.

        Raises Replaced in a thread whose `work` came back too late; `settle` is then called by the
        thread that serves by now.
        """
        turn = self._turn
        self._call = call
        value = error = None
        try:
            value = work()
        except Exception as fault:  # noqa: BLE001 - the loop tells the client of every failure
            error = fault
        with self._lock:
            is_late = self._turn != turn
            if not is_late:
                self._call = None
        if is_late:
            self._post(lambda: self._give_back(call, settle, value, error))
            raise Replaced
        return settle(call, value, error)

    def _give_back(
        self,
        call: Call,
        settle: "Callable[[Call, Any, Exception | None], Any]",
        value: "Any",
        error: "Exception | None",
    ) -> None:
        del self.held[call.number]
        self._greet(call)  # first of all: what it brings comes from a file that answers again
        settle(call, value, error)
        self._resume(call)

    def _look_after(self) -> None:
        while True:
            time.sleep(_CHECK_S)
            call = self._call
            if call is None or time.monotonic() - call.since_s < _HANGS_S:
                continue
            with self._lock:
                if self._call is not call:  # it came back in this moment
                    continue
                self._turn += 1
                self._call = None
                self.held[call.number] = call
            break
        # From here on this is the thread that serves. A machine that slept has waited for nothing:
        # what is told of it begins now.
        call.due_s = time.monotonic() + TELL_S - _HANGS_S
        self._suspend(call.number)
        self.begin()
        self._serve()


def place_of(args: "dict[str, Any]") -> str:
    """The file that a request asks about, as far as its arguments tell."""
    for name in ("path", "log"):
        if args.get(name):
            return str(args[name])
    paths = args.get("paths")
    if isinstance(paths, list) and paths:
        return str(paths[0])
    run = str(args.get("run") or "")
    return run if os.sep in run else os.path.join(runs_folder(), run).rstrip(os.sep)
