"""The agent's side of the frames: length, type, stream, payload."""

import json
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUEST, CANCEL, CREDIT, PART, EVENT, DATA, END, INPUT = 1, 2, 3, 4, 5, 6, 7, 8
PAYLOAD_LIMIT = 65536
REQUEST_LIMIT = 24 * 1024 * 1024  # all parts of one request together
FRAME_HEADER = struct.Struct(">IBI")
DATA_HEADER = struct.Struct(">QIQ")  # at_ns, generation, offset
DATA_LIMIT = PAYLOAD_LIMIT - DATA_HEADER.size


class FrameError(Exception):
    """The bytes on the link are no frames."""


def encode_frame(kind: int, stream: int, payload: bytes) -> bytes:
    """One frame as bytes."""
    return FRAME_HEADER.pack(len(payload), kind, stream) + payload


def encode_long(kind: int, stream: int, payload: bytes) -> bytes:
    """A payload as one frame, or as PART frames and a last one when it is long."""
    frames = []
    while len(payload) > PAYLOAD_LIMIT:
        frames.append(encode_frame(PART, stream, payload[:PAYLOAD_LIMIT]))
        payload = payload[PAYLOAD_LIMIT:]
    frames.append(encode_frame(kind, stream, payload))
    return b"".join(frames)


def encode_json(kind: int, stream: int, value: "dict[str, Any]") -> bytes:
    """A JSON value as frames."""
    return encode_long(kind, stream, json.dumps(value, separators=(",", ":")).encode("ascii"))


class FrameReader:
    """Turns bytes, however they are sliced, into frames; joins PARTs to the frame they open."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._parts = {}  # type: dict[int, bytes]

    def feed(self, data: bytes) -> "list[tuple[int, int, bytes]]":
        """(type, stream, payload) of each frame that is complete now."""
        self._buffer += data
        frames = []
        position = 0
        while len(self._buffer) - position >= FRAME_HEADER.size:
            length, kind, stream = FRAME_HEADER.unpack_from(self._buffer, position)
            if length > PAYLOAD_LIMIT:
                raise FrameError(f"frame of {length} bytes; at most {PAYLOAD_LIMIT} are allowed")
            if kind not in (REQUEST, CANCEL, CREDIT, PART, INPUT):
                raise FrameError(f"frame of type {kind}, which a client does not send")
            end = position + FRAME_HEADER.size + length
            if len(self._buffer) < end:
                break
            payload = bytes(self._buffer[position + FRAME_HEADER.size : end])
            position = end
            if kind == PART:
                self._join(stream, payload)
            else:
                frames.append((kind, stream, self._parts.pop(stream, b"") + payload))
        del self._buffer[:position]
        return frames

    def _join(self, stream: int, payload: bytes) -> None:
        joined = self._parts.get(stream, b"") + payload
        if len(joined) > REQUEST_LIMIT:
            raise FrameError(f"a request of more than {REQUEST_LIMIT} bytes")
        self._parts[stream] = joined
