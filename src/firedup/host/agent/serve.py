"""The agent's one loop: requests in, frames out, and nothing ever blocks it for long."""

import collections
import json
import os
import signal
import struct
import sys

from firedup.host.agent.hand import MOST_HELD, Call, Replaced
from firedup.host.agent.stream import ABOUT_FILES, Stream, Work
from firedup.host.agent.system import AgentError
from firedup.host.agent.turn import Turns
from firedup.host.agent.wire import (
    CANCEL,
    CREDIT,
    END,
    INPUT,
    FrameError,
    FrameReader,
    encode_json,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_CREDIT = struct.Struct(">I")


class Loop(Turns):
    """Reads requests from stdin, begins what they want, and gives frames to stdout.

    The tables say where an operation is found, once it is wanted.
    """

    def __init__(
        self,
        find: "Callable[[str], Any]",
        quick: "dict[str, str]",
        short: "dict[str, str]",
        slow: "dict[str, str]",
        live: "dict[str, str]",
    ) -> None:
        super().__init__(self._serve, self._resume)
        self._find = find
        self._quick, self._short, self._slow, self._live = quick, short, slow, live
        self._reader = FrameReader()
        self._requests = collections.deque()  # type: collections.deque[tuple[int, int, bytes]]
        self._is_open = True
        os.set_blocking(1, False)
        self.watch(0, self._read_requests)

    def run(self) -> None:
        """Serves until stdin ends or the client sends nonsense, which ends the process."""
        self._hands.begin()
        self._serve()
        while True:  # this thread was replaced, and the process would end with it
            signal.pause()

    def _serve(self) -> None:
        try:
            self._serve_until_left()
        except Replaced:
            return
        except FrameError as error:
            leave(2, f"firedup agent: the client sent {error}")
        except BrokenPipeError:
            pass
        except BaseException:  # noqa: BLE001 - or other threads would keep the process
            import traceback

            leave(1, traceback.format_exc())
        leave(0)

    def _serve_until_left(self) -> None:
        while self._is_open:
            self._run_calls()  # what another thread that served has left
            self._heed_requests()
            has_more = self._write()
            for number, handler in self.wait(0 if has_more else self._patience(), self._held):
                stream = None if number is None else self._streams.get(number)
                if stream is None:
                    handler()
                else:
                    self._have(stream, handler)
            self._call_due()
        for stream in [s for s in self._streams.values() if s.number not in self._held]:
            stream.close()

    def _resume(self, call: Call) -> None:
        """A request whose call hung has its turns again."""
        self.resume(call.number)
        stream = self._streams.get(call.number)
        if stream is not None:
            stream.is_ready = True
        self._requests.extendleft((INPUT, call.number, data) for data in reversed(call.inputs))

    # ---- requests ----------------------------------------------------------------------------

    def _read_requests(self) -> None:
        data = os.read(0, 262144)
        if not data:
            self._is_open = False
        self._requests.extend(self._reader.feed(data))
        self._heed_requests()

    def _heed_requests(self) -> None:
        while self._requests:
            kind, number, payload = self._requests.popleft()
            if kind == CREDIT:
                if len(payload) != _CREDIT.size:
                    raise FrameError(f"a credit of {len(payload)} bytes instead of 4")
                stream = self._streams.get(number)
                if stream is not None:
                    stream.credit += _CREDIT.unpack(payload)[0]
            elif kind == INPUT:
                self._take(number, payload)
            elif kind == CANCEL:
                self._cancel(number)
            else:
                self._begin(number, payload)

    def _begin(self, number: int, payload: bytes) -> None:
        try:
            args = json.loads(payload.decode("utf-8"))
            op = args["op"]
        except (ValueError, KeyError, TypeError) as error:
            raise FrameError(f"a request that is no JSON object with an op: {error}") from error
        if number in self._streams or number in self._held:
            raise FrameError(f"stream {number} is in use")
        try:
            self._choose(op, number, args)
        except Exception as error:  # noqa: BLE001 - a failed request is an answer, not the end
            self._fail(number, error)

    def _choose(self, op: "Any", number: int, args: "dict[str, Any]") -> None:
        is_crowded = len(self._held) + self.left_threads >= MOST_HELD
        if is_crowded and (op in ABOUT_FILES or op in self._live):
            raise AgentError("unanswered", "too many files do not answer (network file system?)")
        if op in self._quick and not (self._held and op in ABOUT_FILES):
            quick = self._find(self._quick[op])
            self._hands.run(Call(number, args, "end"), lambda: quick(args), self._answer)
        elif op in self._quick or op in self._short:
            short = self._find(self._quick.get(op) or self._short[op])
            args = dict(args, function=lambda args, _work: short(args))
            self._streams[number] = Work(self, number, args)
        elif op in self._slow:
            function = self._find(self._slow[op])
            self._streams[number] = Work(self, number, dict(args, function=function))
        elif op in self._live:
            live = self._find(self._live[op])
            silence = "tell" if live.silence == "tell" else "end"
            call = Call(number, args, silence)
            self._hands.run(call, lambda: live(self, number, args), self._take_up)
        else:
            raise AgentError("bad-request", f"this agent knows no operation {op!r}")

    def _answer(self, call: Call, value: "Any", error: "Exception | None") -> None:
        if call.is_cancelled:
            return
        if error is not None:
            self._fail(call.number, error)
        else:
            self.send(encode_json(END, call.number, {"result": value}))

    def _take_up(self, call: Call, stream: "Stream | None", error: "Exception | None") -> None:
        if stream is not None and call.is_cancelled:
            self._close(stream)
        elif stream is not None:
            self._streams[call.number] = stream
        elif error is not None and not call.is_cancelled:
            self._fail(call.number, error)

    def _cancel(self, number: int) -> None:
        call, stream = self._held.get(number), self._streams.pop(number, None)
        is_running = stream is not None or (call is not None and not call.is_cancelled)
        if is_running:
            self._fail(number, AgentError("cancelled", "cancelled by the client"))
        if call is not None:
            call.is_cancelled = True
        elif stream is not None:
            self._close(stream)

    def _take(self, number: int, data: bytes) -> None:
        """What comes for a stream that has ended meanwhile has nobody who wants it."""
        if number in self._held:
            self._held[number].inputs.append(data)
            return
        stream = self._streams.get(number)
        if stream is None:
            return
        try:
            stream.take(data)
        except Exception as error:  # noqa: BLE001 - the stream ends, the agent goes on
            del self._streams[number]
            self._fail(number, error)
            self._close(stream)


def leave(status: int, message: str = "") -> None:
    """Ends the process at once, threads and all."""
    if message:
        sys.stderr.write(message + "\n")
        sys.stderr.flush()
    os._exit(status)
