"""Gives running requests their turns: what they say, when they are due, and how they end."""

import collections
import os
import select
import time

from firedup.host.agent.hand import ANSWER_S, Call, Hands
from firedup.host.agent.poller import Poller
from firedup.host.agent.stream import Stream
from firedup.host.agent.system import describe_error
from firedup.host.agent.wire import DATA_LIMIT, END, EVENT, encode_json, encode_long

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

_BURST = 64  # frames sent before new requests are looked at again


class Turns(Poller):
    """The running requests and what they send: control first, then in turn.

    What may touch a file runs through `_hands`, since a file system may hang: after such a call
    this thread may be Replaced. Requests in a call that hangs are `_held`, and have no turn.
    """

    def __init__(self, serve: "Callable[[], None]", resume: "Callable[[Call], None]") -> None:
        super().__init__()
        self._streams = collections.OrderedDict()  # type: collections.OrderedDict[int, Stream]
        self._out = memoryview(b"")
        self._hands = Hands(serve, self.call, self.suspend, self._tell_end, resume)

    # ---- time --------------------------------------------------------------------------------

    @property
    def _held(self) -> "dict[int, Call]":
        return self._hands.held

    def _patience(self) -> "float | None":
        free = [stream for number, stream in self._streams.items() if number not in self._held]
        dues = [stream.due for stream in free if stream.due is not None]
        dues += [call.due_s for call in self._held.values() if call.due_s is not None]
        if not dues:
            return None
        return max(0.0, (min(dues) - time.monotonic()) * 1000) + 1

    def _call_due(self) -> None:
        now = time.monotonic()
        for number, stream in list(self._streams.items()):
            if stream.due is not None and stream.due <= now and number not in self._held:
                stream.due = None
                self._have(stream, stream.on_due)
        for call in list(self._held.values()):
            if call.due_s is not None and call.due_s <= now:
                self._tell(call)

    # ---- calls that hang ---------------------------------------------------------------------

    def _have(self, stream: Stream, work: "Callable[[], None]") -> None:
        """Has a stream do something that yields nothing."""
        if stream.touches_files:
            call = Call(stream.number, stream.args, stream.silence)
            self._hands.run(call, work, lambda call, _, error: self._go_on(stream, call, error))
            return
        try:
            work()
        except Exception as fault:  # noqa: BLE001 - the stream ends, the agent goes on
            self._drop(stream, fault)

    def _go_on(self, stream: Stream, call: Call, error: "Exception | None") -> None:
        if call.is_cancelled:
            self._close(stream)
        elif error is not None:
            self._drop(stream, error)

    def _tell(self, call: Call) -> None:
        """Says that a file does not answer, or gives up a request that has waited long for it."""
        call.due_s = None
        if call.is_cancelled or call.silence == "wait":
            return
        if call.silence == "tell":
            call.has_told = True
            self.send(encode_json(EVENT, call.number, call.event("unanswered")))
        elif call.seconds < ANSWER_S:
            call.due_s = time.monotonic() + ANSWER_S - call.seconds
        else:
            call.is_cancelled = True
            self._streams.pop(call.number, None)
            self._fail(call.number, call.fault())

    def _tell_end(self, call: Call) -> None:
        """Says that the file answers again, before anything that it has answered."""
        if call.has_told and not call.is_cancelled:
            self.send(encode_json(EVENT, call.number, call.event("answered")))

    # ---- the ends ----------------------------------------------------------------------------

    def _fail(self, number: int, error: BaseException) -> None:
        self.send(encode_json(END, number, describe_error(error)))

    def _drop(self, stream: Stream, error: BaseException) -> None:
        """Ends one stream by its fault."""
        if self._streams.pop(stream.number, None) is not None:
            self._fail(stream.number, error)
            self._close(stream)

    def _close(self, stream: Stream) -> None:
        call = Call(stream.number, stream.args, "wait")
        call.is_cancelled = True
        self._hands.run(call, stream.close, lambda _, __, error: _let_fail(error))

    # ---- frames ------------------------------------------------------------------------------

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
            if not stream.is_ready or stream.credit <= 0 or number in self._held:
                continue
            self._produce(stream)
            if self._control:
                return self._control.popleft()
        return b""

    def _produce(self, stream: Stream) -> None:
        room = min(stream.credit, DATA_LIMIT)
        if stream.touches_files:
            call = Call(stream.number, stream.args, stream.silence)
            self._hands.run(
                call,
                lambda: stream.produce(room),
                lambda call, made, error: self._pass_on(stream, call, made, error),
            )
            return
        made = error = None
        try:
            made = stream.produce(room)
        except Exception as fault:  # noqa: BLE001 - the stream ends, the agent goes on
            error = fault
        self._pass_on(stream, None, made, error)

    def _pass_on(
        self,
        stream: Stream,
        call: "Call | None",
        made: "tuple[int, bytes] | None",
        error: "Exception | None",
    ) -> None:
        """Queues what a stream has produced; the end of it is its end."""
        number = stream.number
        if call is not None and call.is_cancelled:
            self._close(stream)
        elif error is not None:
            self._drop(stream, error)
        elif made is None:
            stream.is_ready = False
        else:
            self._streams.move_to_end(number)
            kind, payload = made
            stream.credit -= len(payload)
            self.send(encode_long(kind, number, payload))
            if kind == END:
                del self._streams[number]
                self._close(stream)


def _let_fail(error: "Exception | None") -> None:
    if error is not None:
        raise error
