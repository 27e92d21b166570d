"""The core's events as lines of JSON: the one format for store, replay and tests."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

import msgspec

from firedup.core.error import StoreError
from firedup.core.event import Event, LogData

# A line longer than this is no event; it also bounds what a reader keeps of an unfinished line.
MAX_LINE_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class LogRange:
    """Log bytes by their place alone; the bytes are in the log itself."""

    at_ns: int
    generation: int
    offset: int
    length: int


def _kind_of(event_class: type) -> str:
    if event_class is LogData:
        return "log"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", event_class.__name__).lower()


CLASSES: Mapping[str, type[Event]] = {_kind_of(found): found for found in get_args(Event)}
_KINDS = {found: kind for kind, found in CLASSES.items()}
# Lines of the same file that are output, not input: a replay passes over them.
OUTPUT_KINDS = frozenset({"verdict", "diagnosis"})

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode_event(event: Event) -> bytes:
    """One line with its line feed; log bytes are in it, as text or in base64."""
    if isinstance(event, LogData):
        return _write("log", _inline(event))
    return _write(_KINDS[type(event)], event)


def encode_range(event: LogData | LogRange) -> bytes:
    """One line with its line feed that says where the bytes of `event` are in the log."""
    if isinstance(event, LogData):
        event = LogRange(event.at_ns, event.generation, event.offset, len(event.data))
    return _write("log", event)


def encode_output(kind: str, value: Mapping[str, object]) -> bytes:
    """One line with its line feed of what was concluded; `kind` is one of OUTPUT_KINDS."""
    if kind not in OUTPUT_KINDS:
        raise ValueError(f"{kind} is no kind of output")
    return _write(kind, dict(value))


def decode_event(line: bytes) -> Event | LogRange | None:
    """What one line says; None for output and for kinds of a later version.

    Fields that are not known are ignored. Raises StoreError when the line is torn or is no event.
    """
    try:
        value = _read(line)
        if not isinstance(value, dict) or not isinstance(value.get("event"), str):
            raise StoreError("no event", evidence=repr(line[:80]))
        return make_event(value["event"], value)
    except ValueError as error:  # msgspec's errors and those of base64 and Unicode are ValueErrors
        raise StoreError("an event cannot be read", evidence=repr(line[:80]), why=str(error)) from (
            error
        )


def make_event(kind: str, value: Mapping[str, Any]) -> Event | LogRange | None:
    """The event of `kind` with the fields in `value`; None for a kind that is not known.

    Raises ValueError when a field is missing or has the wrong type.
    """
    if kind == "log":
        return _make_log(value)
    found = CLASSES.get(kind)
    return None if found is None else msgspec.convert(value, found)


class EventReader:
    """Feed it pieces of an events file; `close` at its end. Damaged lines are counted."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._rest_bytes = 0
        self.damaged = 0  # lines that could not be read
        self.is_torn = False  # the last line had no end
        self.passed_over = 0  # output lines, and kinds of a later version

    def feed(self, data: bytes) -> tuple[Event | LogRange, ...]:
        """The events of the lines that `data` completes."""
        lines = data.split(b"\n")
        if len(lines) > 1:
            lines[0] = b"".join([*self._rest, lines[0]])
            self._rest, self._rest_bytes = [], 0
        last = lines.pop()
        if last and self._rest_bytes <= MAX_LINE_BYTES:
            self._rest.append(last)
            self._rest_bytes += len(last)
        return self._decode(lines)

    def close(self) -> tuple[Event | LogRange, ...]:
        """The event of a whole last line without line feed; anything less is counted as torn."""
        last = b"".join(self._rest)
        self._rest, self._rest_bytes = [], 0
        damaged = self.damaged
        events = self._decode([last])
        self.is_torn = self.damaged > damaged
        return events

    def _decode(self, lines: list[bytes]) -> tuple[Event | LogRange, ...]:
        events = []
        for line in lines:
            if not line.strip():
                continue
            try:
                event = decode_event(line)
            except StoreError:
                self.damaged += 1
                continue
            if event is None:
                self.passed_over += 1
            else:
                events.append(event)
        return tuple(events)


def _inline(event: LogData) -> dict[str, object]:
    value: dict[str, object] = {
        "at_ns": event.at_ns,
        "generation": event.generation,
        "offset": event.offset,
    }
    try:
        return value | {"text": event.data.decode()}
    except UnicodeDecodeError:
        return value | {"base64": base64.b64encode(event.data).decode()}


def _make_log(value: Mapping[str, Any]) -> LogData | LogRange:
    if "length" in value:
        return msgspec.convert(value, LogRange)
    if "base64" in value:
        data = base64.b64decode(value["base64"], validate=True)
    elif isinstance(value.get("text"), str):
        data = value["text"].encode("utf-8", "surrogateescape")
    else:
        raise ValueError("a log event needs length, text or base64")
    return msgspec.convert({**value, "data": data}, LogData)


def _write(kind: str, value: object) -> bytes:
    head = b'{"event":"%s",' % kind.encode()
    try:
        body = _encoder.encode(value)
    except UnicodeEncodeError:  # a path or command that is not UTF-8: msgspec takes no surrogates
        body = json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode("ascii")
    return head + body[1:] + b"\n" if body != b"{}" else head[:-1] + b"}\n"


def _read(line: bytes) -> Any:
    try:
        return _decoder.decode(line)
    except msgspec.DecodeError:
        if b"\\ud" not in line:
            raise
        return json.loads(line)
