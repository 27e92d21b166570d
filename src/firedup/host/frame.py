"""Frames on the link between client and agent, without input or output."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

PAYLOAD_LIMIT = 65536
JOINED_LIMIT = 64 * 1024 * 1024  # all parts of one message together
_HEADER = struct.Struct(">IBI")
_DATA = struct.Struct(">QIQ")
_CREDIT = struct.Struct(">I")


class FrameError(Exception):
    """The bytes on the link are no frames."""


class Kind(IntEnum):
    """What a frame is."""

    REQUEST = 1
    CANCEL = 2
    CREDIT = 3
    PART = 4
    EVENT = 5
    DATA = 6
    END = 7
    INPUT = 8


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: PART frames are joined to the frame that they open."""

    kind: Kind
    stream: int
    payload: bytes


@dataclass(frozen=True, slots=True)
class Data:
    """Bytes of a file or an answer, read at `at_ns` (host boottime; 0 where it means nothing)."""

    at_ns: int
    generation: int
    offset: int
    data: bytes


def encode_frame(kind: Kind, stream: int, payload: bytes) -> bytes:
    """A message as bytes, split into PART frames where it is long."""
    pieces = []
    while len(payload) > PAYLOAD_LIMIT:
        piece, payload = payload[:PAYLOAD_LIMIT], payload[PAYLOAD_LIMIT:]
        pieces += [_HEADER.pack(len(piece), Kind.PART, stream), piece]
    pieces += [_HEADER.pack(len(payload), kind, stream), payload]
    return b"".join(pieces)


def encode_request(stream: int, request: dict[str, Any]) -> bytes:
    """A request. Paths with bytes that are no UTF-8 travel as surrogate escapes."""
    return encode_frame(Kind.REQUEST, stream, json.dumps(request).encode("ascii"))


def encode_credit(stream: int, size_bytes: int) -> bytes:
    """Leave to send so many bytes more."""
    return encode_frame(Kind.CREDIT, stream, _CREDIT.pack(size_bytes))


def encode_input(stream: int, data: bytes) -> bytes:
    """Bytes for what a request talks to, at most PAYLOAD_LIMIT of them; none mean their end."""
    return encode_frame(Kind.INPUT, stream, data)


def decode_credit(payload: bytes) -> int:
    """So many bytes more may be sent. Raises FrameError when it is none."""
    if len(payload) != _CREDIT.size:
        raise FrameError(f"a credit of {len(payload)} bytes")
    return int(_CREDIT.unpack(payload)[0])


def encode_cancel(stream: int) -> bytes:
    """The wish that a request ends."""
    return encode_frame(Kind.CANCEL, stream, b"")


def decode_data(payload: bytes) -> Data:
    """The content of a DATA frame. Raises FrameError when it is too short."""
    if len(payload) < _DATA.size:
        raise FrameError(f"a DATA frame of {len(payload)} bytes")
    at_ns, generation, offset = _DATA.unpack_from(payload)
    return Data(at_ns, generation, offset, payload[_DATA.size :])


def decode_json(payload: bytes) -> dict[str, Any]:
    """The object in an EVENT or END frame. Raises FrameError when it is none."""
    try:
        value = json.loads(payload)
    except ValueError as error:
        raise FrameError(f"a frame that holds no JSON: {error}") from error
    if not isinstance(value, dict):
        raise FrameError("a frame that holds no JSON object")
    return value


class FrameDecoder:
    """Turns bytes, however they are sliced, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._parts: dict[int, bytearray] = {}

    def feed(self, data: bytes) -> tuple[Frame, ...]:
        """The frames that are complete now. Raises FrameError on nonsense."""
        self._buffer += data
        buffer = self._buffer
        frames = []
        position = 0
        while len(buffer) - position >= _HEADER.size:
            length, kind, stream = _HEADER.unpack_from(buffer, position)
            if length > PAYLOAD_LIMIT:
                raise FrameError(f"a frame of {length} bytes; at most {PAYLOAD_LIMIT} are allowed")
            if not Kind.REQUEST <= kind <= Kind.INPUT:
                raise FrameError(f"a frame of the unknown type {kind}")
            begin = position + _HEADER.size
            if len(buffer) < begin + length:
                break
            payload = bytes(buffer[begin : begin + length])
            position = begin + length
            if kind == Kind.PART:
                self._join(stream, payload)
            else:
                if stream in self._parts:
                    payload = bytes(self._parts.pop(stream)) + payload
                frames.append(Frame(Kind(kind), stream, payload))
        del buffer[:position]
        return tuple(frames)

    def _join(self, stream: int, payload: bytes) -> None:
        joined = self._parts.setdefault(stream, bytearray())
        joined += payload
        if len(joined) > JOINED_LIMIT:
            raise FrameError(f"a message of more than {JOINED_LIMIT} bytes")
