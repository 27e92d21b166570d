"""Makes logs that nobody would write, to find what costs more than its length."""

from __future__ import annotations

import random
from itertools import count, cycle
from typing import TYPE_CHECKING

from firedup.profile.join import join_files
from firedup.profile.read import builtin_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from firedup.core.rule import Rule

_FRAME = (
    b'  File "/opt/engine/srt/model.py", line %d, in forward\n    return self.layers[%d](hidden)\n'
)
_OPENING = b"Traceback (most recent call last):\n"


def _endless() -> Iterator[bytes]:
    yield b"RuntimeError: CUDA error: "
    yield from cycle([b"what follows has no end, RuntimeError: CUDA error: " * 100])


def _carriage_returns() -> Iterator[bytes]:
    for n in count():
        yield b"\rLoading safetensors checkpoint shards: %3d%% | %d/100 [00:01<00:02]" % (
            n % 100,
            n,
        )


def _tiny_lines() -> Iterator[bytes]:
    yield from cycle([b"\n" * 700, b"a\n" * 700, b"\r\n" * 700])


def _half_matches() -> Iterator[bytes]:
    """The near-misses of all rules."""
    lines = [text for rule in _rules() for text in rule.misses]
    random.Random(1).shuffle(lines)
    yield from cycle([(line + "\n").encode() for line in lines])


def _matches() -> Iterator[bytes]:
    """The examples of all rules: every line means something."""
    lines = [text for rule in _rules() for text in rule.matches]
    random.Random(1).shuffle(lines)
    yield from cycle([(line + "\n").encode() for line in lines])


def _one_traceback() -> Iterator[bytes]:
    yield _OPENING
    for n in count():
        yield _FRAME % (n, n)


def _chains() -> Iterator[bytes]:
    for n in count():
        yield _OPENING + _FRAME % (n, n) * 20 + b"ValueError: number %d was refused\n" % n
        yield b"\nDuring handling of the above exception, another exception occurred:\n\n"


def _groups() -> Iterator[bytes]:
    for n in count():
        deep = n % 30
        margin = b"  " * deep + b"| "
        yield b"  " * deep + b"+ Exception Group Traceback (most recent call last):\n"
        yield margin + b'  File "/opt/engine/srt/model.py", line %d, in forward\n' % n
        yield margin + b"ExceptionGroup: unhandled errors in a TaskGroup (%d sub-exceptions)\n" % n
        yield margin + b"RuntimeError: member %d\n" % n


def _writers() -> Iterator[bytes]:
    """Ten thousand ranks and as many processes, all in trouble."""
    for n in cycle(range(10_000)):
        yield b"[2026-11-30 10:00:00 TP%d] %b" % (n, _OPENING)
        yield b"(Worker_TP%d pid=%d) ERROR 11-30 10:00:00 [core.py:1] RuntimeError: %d\n" % (
            n,
            n,
            n,
        )
        yield b"[rank%d]: ValueError: %d\n" % (n, n)


def _colours() -> Iterator[bytes]:
    for n in count():
        yield b"\x1b[1;3%dmRuntime\x1b[0mErr\x1b[4mor\x1b[0m: \x1b]0;title\x07%d\n" % (n % 8, n)


def _broken_escapes() -> Iterator[bytes]:
    yield from cycle([b"\x1b[12;" * 40 + b"\x1b]8;;no end " * 40 + b"Killed\n", b"\x1b" * 200])


def _nulls() -> Iterator[bytes]:
    yield from cycle([b"\0" * 5000, b"Killed\0\n", b"\0\x1b[31mRuntimeError: \0\n"])


def _brackets() -> Iterator[bytes]:
    """Long lines that look like prefixes all along."""
    yield from cycle([b"error (Aa" * 1500 + b"x[2026-11-3" * 500 + b" RuntimeError: no\n"])


def _noise() -> Iterator[bytes]:
    draw = random.Random(2)
    yield from cycle([draw.randbytes(4096) for _ in range(64)])


def _restarts() -> Iterator[bytes]:
    begins = [rule.matches[0] for rule in _rules() if rule.is_start]
    moves = [rule.matches[0] for rule in _rules() if rule.stage is not None][:40]
    yield from cycle([(line + "\n").encode() for line in (*begins, *moves)])


def _rules() -> tuple[Rule, ...]:
    return join_files(builtin_files()).catalogue.rules_for(None)


NASTY: dict[str, Callable[[], Iterator[bytes]]] = {
    "endless-line": _endless,
    "carriage-returns": _carriage_returns,
    "tiny-lines": _tiny_lines,
    "half-matches": _half_matches,
    "matches": _matches,
    "one-traceback": _one_traceback,
    "chains": _chains,
    "groups": _groups,
    "writers": _writers,
    "colours": _colours,
    "broken-escapes": _broken_escapes,
    "nulls": _nulls,
    "brackets": _brackets,
    "noise": _noise,
    "restarts": _restarts,
}


def make_log(name: str, size_bytes: int) -> Iterator[bytes]:
    """`size_bytes` of the log `name`, in pieces."""
    left = size_bytes
    for piece in NASTY[name]():
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            return
