"""What the fake engine is to do, as values and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STREAMS = ("stdout", "stderr")
ROTATIONS = ("rename", "truncate")


class ScriptError(ValueError):
    """A script that cannot be played; the text names the place in it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes that are written at `at_s`. In JSON they are `text`, UTF-8 with surrogate escapes."""

    at_s: float
    data: bytes
    stream: str = "stderr"


@dataclass(frozen=True, slots=True)
class Speculation:
    """Counters that grow with every generated token as if a drafter had this acceptance.

    `dialect` is the engine whose names `/metrics` uses: "llama-cpp", "vllm" or "sglang".
    """

    dialect: str = "vllm"
    length: float = 1.0
    proposed: int = 3  # tokens per draft


@dataclass(frozen=True, slots=True)
class Http:
    """The HTTP side. `port` None: the one that the imitated command line names, else any.

    `health` holds (from this second on, this status); before its first entry the status is 503.
    `on_busy`: "exit" prints the bind error and exits 1; "go-on" prints it and plays on.
    """

    open_s: float = 0.0
    port: int | None = None
    host: str = "127.0.0.1"
    health: tuple[tuple[float, int], ...] = ((0.0, 200),)
    on_busy: str = "exit"
    is_silent: bool = False  # connections are accepted and never answered
    text: str = " brown"  # one generated token
    api_key: str | None = None
    speculation: Speculation | None = None
    port_file: str | None = None  # where the port is written once it is open


@dataclass(frozen=True, slots=True)
class End:
    """The end that the engine comes to by itself: exit `code`, or death by `signal`."""

    at_s: float
    code: int = 0
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class Stop:
    """What SIGTERM and SIGINT do: last words, then `code`; or nothing at all."""

    pieces: tuple[Piece, ...] = ()  # their at_s counts from the signal
    code: int = 0
    after_s: float = 0.0
    is_ignored: bool = False


@dataclass(frozen=True, slots=True)
class Kill:
    """The death of a worker child: by `signal`, at `at_s`."""

    at_s: float
    child: int
    signal: int = 9


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a log rotator does at `at_s`: "rename" to NAME.1, or copy to NAME.1 and "truncate"."""

    at_s: float
    mode: str = "rename"


@dataclass(frozen=True, slots=True)
class Script:
    """All of it. Without `end` the engine lives until it is signalled.

    `children` are the names of worker processes; they end with the engine unless
    `do_children_survive`. `buffer_bytes` holds output back as a C library's block buffer does.
    `work` are (from, until) seconds in which the engine burns CPU without a word. `log` sends the
    output to that file instead of the two streams; only then can it be rotated.
    """

    pieces: tuple[Piece, ...] = ()
    http: Http | None = None
    end: End | None = None
    stop: Stop = Stop()
    children: tuple[str, ...] = ()
    do_children_survive: bool = False
    kills: tuple[Kill, ...] = ()
    work: tuple[tuple[float, float], ...] = ()
    buffer_bytes: int = 0
    log: str | None = None
    rotations: tuple[Rotation, ...] = ()
    speed: float = 1.0


def line(at_s: float, text: str, stream: str = "stderr") -> Piece:
    """Make a piece of one line; its newline is added."""
    return Piece(at_s, text.encode() + b"\n", stream)


def render_script(script: Script) -> str:
    """The script as JSON, which `parse_script` reads back to an equal value."""
    return json.dumps(asdict(script), default=_text, indent=1)


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    raise TypeError(f"{type(value).__name__} has no place in a script")


def parse_script(text: str) -> Script:
    """JSON to Script. ScriptError names what is wrong."""
    try:
        given = json.loads(text)
    except ValueError as problem:
        raise ScriptError(f"the script is no JSON: {problem}") from None
    if not isinstance(given, dict):
        raise ScriptError("the script is no JSON object")
    script: Script = _build(Script, given, "script")
    return check_script(script)


def load_script(path: Path) -> Script:
    """Read a script file."""
    return parse_script(path.read_text())


def check_script(script: Script) -> Script:
    """Return the script when it can be played, else raise ScriptError."""
    for piece in (*script.pieces, *script.stop.pieces):
        if piece.stream not in STREAMS:
            raise ScriptError(f"stream is one of {STREAMS}, not {piece.stream!r}")
    for kill in script.kills:
        if not 0 <= kill.child < len(script.children):
            raise ScriptError(f"kills: there is no child {kill.child}")
    if script.rotations and script.log is None:
        raise ScriptError("rotations need `log`: the streams belong to whoever opened them")
    if any(rotation.mode not in ROTATIONS for rotation in script.rotations):
        raise ScriptError(f"the mode of a rotation is one of {ROTATIONS}")
    if script.speed <= 0:
        raise ScriptError(f"speed is above 0, not {script.speed}")
    return script


# The fields that hold other values: how each is built from its JSON.
_NESTED: Mapping[str, Any] = {
    "http": lambda given: None if given is None else _build(Http, given, "http"),
    "speculation": lambda given: (
        None if given is None else _build(Speculation, given, "speculation")
    ),
    "end": lambda given: None if given is None else _build(End, given, "end"),
    "stop": lambda given: _build(Stop, given, "stop"),
    "pieces": lambda given: tuple(_piece(one) for one in given),
    "kills": lambda given: tuple(_build(Kill, one, "kills") for one in given),
    "rotations": lambda given: tuple(_build(Rotation, one, "rotations") for one in given),
    "health": lambda given: tuple((float(at), int(status)) for at, status in given),
    "work": lambda given: tuple((float(begin), float(end)) for begin, end in given),
    "children": tuple,
}


def _piece(given: dict[str, Any]) -> Piece:
    text = given.get("text", given.get("data", ""))
    rest = {key: value for key, value in given.items() if key not in ("text", "data")}
    piece: Piece = _build(Piece, {**rest, "data": b""}, "pieces")
    return replace(piece, data=text.encode("utf-8", "surrogateescape"))


def _build(kind: Any, given: dict[str, Any], where: str) -> Any:
    try:
        return kind(**{key: _NESTED[key](v) if key in _NESTED else v for key, v in given.items()})
    except (TypeError, ValueError, AttributeError) as problem:
        raise ScriptError(f"{where}: {problem}") from None
