"""One running request as its client sees it: messages in order, credit given as they are used."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firedup.core.error import HostError
from firedup.host.frame import (
    PAYLOAD_LIMIT,
    Data,
    Frame,
    Kind,
    decode_credit,
    decode_data,
    decode_json,
    encode_cancel,
    encode_credit,
    encode_input,
)

INPUT_WINDOW_BYTES = 262144  # of input before the other side has given any credit


@dataclass(frozen=True, slots=True)
class Notice:
    """An event that the agent reported."""

    value: dict[str, Any]


class Stream:
    """Iterate over it for `Data` and `Notice`; at the end `result` holds the agent's last word.

    Not more than `window` bytes wait here, however slow the reader is. Raises OperationError when
    the request failed and HostError when the agent died. `close` it when you stop early.
    """

    def __init__(
        self,
        number: int,
        window: int,
        send: Callable[[bytes], None],
        explain: Callable[[dict[str, Any]], HostError],
    ) -> None:
        self.number = number
        self.result: dict[str, Any] | None = None
        self._window = window
        self._send = send
        self._explain = explain
        self._messages: deque[tuple[Data | Notice, int]] = deque()
        self._owed = 0
        self._error: HostError | None = None
        self._is_closed = False
        self._arrived = asyncio.Event()
        self._input_credit = INPUT_WINDOW_BYTES
        self._may_write = asyncio.Event()

    @property
    def has_ended(self) -> bool:
        """Whether the agent is done with it (messages may still wait to be read)."""
        return self.result is not None or self._error is not None

    @property
    def waiting_bytes(self) -> int:
        """How much has arrived and was not taken yet."""
        return sum(cost for _, cost in self._messages)

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> Data | Notice:
        while not self._messages:
            if self._error is not None:
                raise self._error
            if self.result is not None or self._is_closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        message, cost = self._messages.popleft()
        self._owed += cost
        if self._owed * 4 >= self._window and not self.has_ended:
            self._send(encode_credit(self.number, self._owed))
            self._owed = 0
        return message

    async def write(self, data: bytes) -> None:
        """Hand bytes to what the request talks to; waits while it takes no more.

        Raises OperationError or HostError when the request has ended, even with a result: nobody
        would take them.
        """
        rest = memoryview(data)
        while rest:
            while self._input_credit <= 0 and not self.has_ended and not self._is_closed:
                self._may_write.clear()
                await self._may_write.wait()
            if self._error is not None:
                raise self._error
            if self.has_ended or self._is_closed:
                raise HostError("the other side takes no more")
            piece = bytes(rest[: min(self._input_credit, PAYLOAD_LIMIT)])
            self._input_credit -= len(piece)
            self._send(encode_input(self.number, piece))
            rest = rest[len(piece) :]

    def end_input(self) -> None:
        """Say that no more will be written."""
        if not self.has_ended and not self._is_closed:
            self._send(encode_input(self.number, b""))

    def close(self) -> None:
        """Asks the agent to stop; what still arrives is dropped."""
        if not self._is_closed and not self.has_ended:
            self._send(encode_cancel(self.number))
        self._is_closed = True
        self._messages.clear()
        self._arrived.set()
        self._may_write.set()

    def accept(self, frame: Frame) -> bool:
        """The link hands in a frame; True when it was the last one."""
        match frame.kind:
            case Kind.END:
                value = decode_json(frame.payload)
                if "error" in value:
                    self._error = self._explain(value["error"])
                else:
                    self.result = value["result"]
                self._arrived.set()
                self._may_write.set()
                return True
            case Kind.CREDIT:
                self._input_credit += decode_credit(frame.payload)
                self._may_write.set()
                return False
            case Kind.DATA:
                message: Data | Notice = decode_data(frame.payload)
            case _:
                message = Notice(decode_json(frame.payload))
        if not self._is_closed:
            self._messages.append((message, len(frame.payload)))
            self._arrived.set()
        return False

    def fail(self, error: HostError) -> None:
        """The link is gone: after what has arrived, readers get `error`."""
        if not self.has_ended:
            self._error = error
        self._arrived.set()
        self._may_write.set()
