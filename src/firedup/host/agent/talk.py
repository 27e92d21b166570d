"""Runs a program that is spoken to: its input comes over the link, with a key from the host."""

import json
import os
import select
import struct

from firedup.host.agent.key import find_key
from firedup.host.agent.poller import Poller
from firedup.host.agent.pour import Pour
from firedup.host.agent.system import AgentError
from firedup.host.agent.wire import CREDIT, encode_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TALK_WINDOW = 262144  # bytes of input that may wait here for a program that is slow to read
_TALK_GRANT = struct.Struct(">I")


class Talk(Pour):
    """talk {argv, key_from?}: as pour, and INPUT goes to the program; empty INPUT is its end.

    The first line of its input is JSON from here, `{"key": …}`: the API key that was found on this
    host, null where there is none. So it is in no command line and does not cross the link. CREDIT
    frames tell the client how much input more it may send, after the first 262,144 bytes.
    """

    has_input = True

    def __init__(self, loop: Poller, number: int, args: "dict[str, Any]") -> None:
        self.input = None  # type: Any
        self.waiting = bytearray()  # input that the program has not taken yet
        self.own = 0  # bytes of it that are from here, for which nobody is given credit
        self.has_input_ended = False
        self.is_deaf = False  # the program takes no more input
        self.is_begun = False
        self.is_closed = False
        self.fault = None  # type: BaseException | None
        super().__init__(loop, number, args)

    def open(self) -> None:
        """Looks for the key in a thread: a container's engine may take its time."""
        import threading

        self.is_ready = False
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        key, fault = None, None  # type: str | None, BaseException | None
        try:
            key = find_key(self.args["key_from"]) if self.args.get("key_from") else None
        except BaseException as error:  # noqa: BLE001 - every failure goes to the client
            fault = error
        self.loop.call(lambda: self._begin(key, fault))

    def _begin(self, key: "str | None", fault: "BaseException | None") -> None:
        if self.is_closed:
            return
        self.fault, self.is_ready = fault, True
        if fault is not None:
            return
        try:
            super().open()
        except Exception as error:  # noqa: BLE001 - `produce` raises it
            self.fault = error
            return
        assert self.process is not None  # noqa: S101 - open() has started it
        self.is_begun, self.input = True, self.process.stdin
        os.set_blocking(self.input.fileno(), False)
        line = json.dumps({"key": key}).encode("ascii") + b"\n"
        self.own = len(line)
        self.waiting[:0] = line
        self._pass_on()

    def take(self, data: bytes) -> None:
        """Input from the client, or its end."""
        if self.is_deaf:
            return
        if self.has_input_ended:
            raise AgentError("bad-request", "input after its end")
        if len(self.waiting) + len(data) > _TALK_WINDOW + self.own:
            raise AgentError("bad-request", "more input than there was credit for")
        if not data:
            self.has_input_ended = True
        self.waiting += data
        if self.is_begun:
            self._pass_on()

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """What the program has printed, or its end."""
        if self.fault is not None:
            raise self.fault
        return super().produce(room) if self.is_begun else None

    def close(self) -> None:
        """Ends the program, where it has not ended."""
        self.is_closed = True
        if self.is_begun:
            self._end_input()
            super().close()

    def _pass_on(self) -> None:
        """Gives waiting input to the program, as much as it takes, and the client new credit."""
        taken = 0
        while self.waiting and not self.is_deaf:
            try:
                count = os.write(self.input.fileno(), bytes(self.waiting[:65536]))
            except BlockingIOError:
                break
            except OSError:  # what the program has said before is still read
                self._end_input()
                return
            del self.waiting[:count]
            own = min(self.own, count)
            self.own -= own
            taken += count - own
        if taken:
            self.loop.send(encode_frame(CREDIT, self.number, _TALK_GRANT.pack(taken)))
        if self.is_deaf:
            return
        if self.waiting:
            self.loop.watch(self.input.fileno(), self._pass_on, select.POLLOUT)
        elif self.has_input_ended:
            self._end_input()
        else:
            self.loop.unwatch(self.input.fileno())

    def _end_input(self) -> None:
        if not self.is_deaf:
            self.is_deaf = True
            self.waiting.clear()
            self.loop.unwatch(self.input.fileno())
            self.input.close()
