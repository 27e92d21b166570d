"""Requests that go on for a while: each gives its frames out one at a time, when asked."""

import json
import time

from firedup.host.agent.hand import ANSWER_S, Call
from firedup.host.agent.poller import Poller
from firedup.host.agent.system import AgentError, describe_error
from firedup.host.agent.wire import DATA, DATA_HEADER, DATA_LIMIT, END, EVENT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - named in a type comment

_WINDOW = 262144  # bytes of credit a stream begins with when its request names none
# What these ask of the host is answered soon, or the file system is at fault.
ABOUT_FILES = (
    "stat",
    "append",
    "mkdir",
    "list",
    "which",
    "paths",
    "log_files",
    "holders",
    "variables",
    "tree",
)


class Stream:
    """One running request. Sub-classes give their frames out one at a time, when asked.

    `silence` says what becomes of it while a file does not answer: it waits, tells, or ends.
    """

    touches_files = True
    silence = "wait"

    def __init__(self, loop: Poller, number: int, args: "dict[str, Any]") -> None:
        self.loop = loop
        self.number = number
        self.args = args
        self.credit = int(args.get("window", _WINDOW))
        self.is_ready = True  # may have something to say
        self.due = None  # type: float | None
        self.open()

    def open(self) -> None:
        """Begins the work; errors raised here end the stream."""

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The next (type, payload), DATA with at most `room` bytes of content, or None."""
        raise NotImplementedError

    def take(self, data: bytes) -> None:
        """Bytes from the client for what the request talks to; none mean their end."""
        raise AgentError("bad-request", "this operation takes no input")

    def on_due(self) -> None:
        """The moment asked for by `due` has come."""
        self.is_ready = True

    def close(self) -> None:
        """Lets go of everything; called exactly once."""

    def end(self, result: "dict[str, Any]") -> "tuple[int, bytes]":
        """An END frame's content."""
        return END, json.dumps({"result": result}).encode("ascii")

    def event(self, value: "dict[str, Any]") -> "tuple[int, bytes]":
        """An EVENT frame's content."""
        return EVENT, json.dumps(value, separators=(",", ":")).encode("ascii")


class Body(Stream):
    """Sends bytes that lie in memory, then the result."""

    def __init__(self, loop: Poller, number: int, args: "dict[str, Any]") -> None:
        self.result = None  # type: dict[str, Any] | None
        self.body = b""
        self.sent = 0
        super().__init__(loop, number, args)

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """A piece of the body, or the end."""
        if self.result is None:
            self.is_ready = False
            return None
        if self.sent == len(self.body):
            return END, json.dumps(self.result).encode("ascii")
        piece = self.body[self.sent : self.sent + min(room, DATA_LIMIT)]
        header = DATA_HEADER.pack(0, 0, self.sent)
        self.sent += len(piece)
        return DATA, header + piece


class Work(Body):
    """A request that may take long: it runs in a thread and the loop goes on.

    One about files is answered after a while, though its thread may wait on.
    """

    touches_files = False  # that is the thread's

    def open(self) -> None:
        """Starts the thread."""
        import threading

        self.on_cancel = None  # type: Callable[[], None] | None
        self.is_closed = self.is_left = self.is_ready = False
        self.call = Call(self.number, self.args, "end")
        if self.args["op"] in ABOUT_FILES:
            self.due = time.monotonic() + ANSWER_S
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            answer = self.args["function"](self.args, self)
            result, body = answer if isinstance(answer, tuple) else (answer, b"")
            outcome = {"result": result}
        except BaseException as error:  # noqa: BLE001 - every failure goes to the client
            outcome, body = describe_error(error), b""
        self.loop.call(lambda: self._settle(outcome, body))

    def _settle(self, outcome: "dict[str, Any]", body: bytes) -> None:
        if self.is_left:
            self.loop.left_threads -= 1
        if not self.is_closed and not self.is_left:
            self.on_cancel = None
            self.result, self.body, self.is_ready = outcome, body, True

    def on_due(self) -> None:
        """The file does not answer: its client does."""
        if self.result is None:
            self.is_left = self.is_ready = True
            self.loop.left_threads += 1
            self.result = describe_error(self.call.fault())

    def close(self) -> None:
        """Wakes the thread out of its wait, where the work allows that."""
        self.is_closed = True
        if self.on_cancel is not None:
            self.on_cancel()
