"""The agent's one loop: requests in, frames out, nothing ever blocks it."""

import collections
import json
import os
import select
import struct
import sys
import time

from firedup.host.agent.system import AgentError, describe_error
from firedup.host.agent.wire import (
    CANCEL,
    CREDIT,
    DATA,
    DATA_HEADER,
    DATA_LIMIT,
    END,
    EVENT,
    INPUT,
    FrameError,
    FrameReader,
    encode_json,
    encode_long,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_WINDOW = 262144  # bytes of credit a stream begins with when its request names none
_BURST = 64  # frames sent before new requests are looked at again
_CREDIT = struct.Struct(">I")


class Stream:
    """One running request. Sub-classes give their frames out one at a time, when asked."""

    def __init__(self, loop: "Loop", number: int, args: "dict[str, Any]") -> None:
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

    def __init__(self, loop: "Loop", number: int, args: "dict[str, Any]") -> None:
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
    """A request that may take long: it runs in a thread and the loop goes on."""

    def open(self) -> None:
        """Starts the thread."""
        import threading

        self.on_cancel = None  # type: Callable[[], None] | None
        self.is_closed = False
        self.is_ready = False
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
        if not self.is_closed:
            self.on_cancel = None
            self.result, self.body, self.is_ready = outcome, body, True

    def close(self) -> None:
        """Wakes the thread out of its wait, where the work allows that."""
        self.is_closed = True
        if self.on_cancel is not None:
            self.on_cancel()


class Loop:
    """Reads requests from stdin and gives frames to stdout: control first, then in turn."""

    def __init__(self, quick: "dict[str, Any]", slow: "dict[str, Any]", live: "dict[str, Any]"):
        self._quick, self._slow, self._live = quick, slow, live
        self._reader = FrameReader()
        self._poll = select.poll()
        self._handlers = {}  # type: dict[int, Callable[[], None]]
        self._streams = collections.OrderedDict()  # type: collections.OrderedDict[int, Stream]
        self._control = collections.deque()  # type: collections.deque[bytes]
        self._out = memoryview(b"")
        self._calls = collections.deque()  # type: collections.deque[Callable[[], None]]
        self._is_open = True
        self._wake_in, self._wake_out = os.pipe()
        os.set_blocking(self._wake_in, False)
        os.set_blocking(self._wake_out, False)
        os.set_blocking(1, False)
        self.watch(0, self._read_requests)
        self.watch(self._wake_in, self._heed_threads)

    def watch(self, file: int, handler: "Callable[[], None]", events: int = select.POLLIN) -> None:
        """Calls `handler` whenever `file` can be read, or whatever else `events` wait for."""
        self._handlers[file] = handler
        self._poll.register(file, events)

    def unwatch(self, file: int) -> None:
        """Forgets a file descriptor; call it before closing that."""
        if self._handlers.pop(file, None) is not None:
            self._poll.unregister(file)

    def send(self, frames: bytes) -> None:
        """Queues control frames, which go before all streams."""
        self._control.append(frames)

    def call(self, work: "Callable[[], None]") -> None:
        """Has the loop call `work`: the one method that other threads may use."""
        self._calls.append(work)
        try:
            os.write(self._wake_out, b"x")
        except OSError:  # the pipe is full, so the loop will look anyway
            pass

    def run(self) -> None:
        """Serves until stdin ends. Raises FrameError when the client sends nonsense."""
        while self._is_open:
            has_more = self._write()
            for file, _ in self._poll.poll(0 if has_more else self._patience()):
                handler = self._handlers.get(file)
                if handler is not None:
                    handler()
            self._call_due()
        for stream in list(self._streams.values()):
            stream.close()

    def _patience(self) -> "float | None":
        dues = [s.due for s in self._streams.values() if s.due is not None]
        if not dues:
            return None
        return max(0.0, (min(dues) - time.monotonic()) * 1000) + 1

    def _call_due(self) -> None:
        now = time.monotonic()
        for stream in list(self._streams.values()):
            if stream.due is not None and stream.due <= now:
                stream.due = None
                stream.on_due()

    def _read_requests(self) -> None:
        data = os.read(0, 262144)
        if not data:
            self._is_open = False
        for kind, number, payload in self._reader.feed(data):
            if kind == CREDIT:
                if len(payload) != _CREDIT.size:
                    raise FrameError(f"a credit of {len(payload)} bytes instead of 4")
                stream = self._streams.get(number)
                if stream is not None:
                    stream.credit += _CREDIT.unpack(payload)[0]
            elif kind == INPUT:
                self._take(number, payload)
            elif kind == CANCEL:
                if number in self._streams:
                    self._streams.pop(number).close()
                    self._fail(number, AgentError("cancelled", "cancelled by the client"))
            else:
                self._begin(number, payload)

    def _begin(self, number: int, payload: bytes) -> None:
        try:
            args = json.loads(payload.decode("utf-8"))
            op = args["op"]
        except (ValueError, KeyError, TypeError) as error:
            raise FrameError(f"a request that is no JSON object with an op: {error}") from error
        if number in self._streams:
            raise FrameError(f"stream {number} is in use")
        try:
            if op in self._quick:
                self.send(encode_json(END, number, {"result": self._quick[op](args)}))
            elif op in self._slow:
                args["function"] = self._slow[op]
                self._streams[number] = Work(self, number, args)
            elif op in self._live:
                self._streams[number] = self._live[op](self, number, args)
            else:
                raise AgentError("bad-request", f"this agent knows no operation {op!r}")
        except Exception as error:  # noqa: BLE001 - a failed request is an answer, not the end
            self._fail(number, error)

    def _take(self, number: int, data: bytes) -> None:
        """What comes for a stream that has ended meanwhile has nobody who wants it."""
        stream = self._streams.get(number)
        if stream is None:
            return
        try:
            stream.take(data)
        except Exception as error:  # noqa: BLE001 - the stream ends, the agent goes on
            self._streams.pop(number).close()
            self._fail(number, error)

    def _fail(self, number: int, error: BaseException) -> None:
        self.send(encode_json(END, number, describe_error(error)))

    def _heed_threads(self) -> None:
        os.read(self._wake_in, 4096)
        while self._calls:
            self._calls.popleft()()

    def _write(self) -> bool:
        """Sends what can be sent; True when there is more and stdout would take it."""
        self.unwatch(1)
        for _ in range(_BURST):
            if not self._out:
                self._out = memoryview(self._next_frames())
                if not self._out:
                    return False
            try:
                self._out = self._out[os.write(1, self._out) :]
            except BlockingIOError:
                self.watch(1, lambda: None, select.POLLOUT)  # the loop comes back here by itself
                return False
        return True

    def _next_frames(self) -> bytes:
        if self._control:
            return self._control.popleft()
        for number, stream in list(self._streams.items()):
            if not stream.is_ready or stream.credit <= 0:
                continue
            try:
                made = stream.produce(min(stream.credit, DATA_LIMIT))
            except Exception as error:  # noqa: BLE001 - the stream ends, the agent goes on
                self._streams.pop(number).close()
                return encode_json(END, number, describe_error(error))
            if made is None:
                stream.is_ready = False
                continue
            self._streams.move_to_end(number)
            kind, payload = made
            stream.credit -= len(payload)
            if kind == END:
                self._streams.pop(number).close()
            return encode_long(kind, number, payload)
        return b""


def leave(status: int, message: str = "") -> None:
    """Ends the process at once, threads and all."""
    if message:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()
    os._exit(status)
