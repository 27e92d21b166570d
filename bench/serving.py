"""Makes logs of a server that has answered requests for a long time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import BinaryIO

RECORDED = (
    Path(__file__).parent.parent / "tests/data/engine-runs/sglang/f07_kill9_sched_running.log"
)
READY = b"The server is fired up and ready to roll!\n"
# A piece is written again and again with new time stamps. It stays small, because a child's peak
# memory counts what its parent held when it was started.
PIECE_BYTES = 1 << 20
COLOUR, PLAIN = b"\x1b[32m", b"\x1b[0m"
# Stands in a piece for the date, the hour and the minute.
_WHEN = b"@@@@-@@-@@ @@:@@"


def write_log(path: Path, size_bytes: int, *, crashes: bool = False, colours: bool = False) -> None:
    """Write a recorded start, then lines of serving up to about `size_bytes`.

    At the end the server still serves; with `crashes` the recorded death of a worker follows. With
    `colours` a part of every serving line is coloured.
    """
    start, ready, death = RECORDED.read_bytes().partition(READY)
    piece = _make_piece(random.Random(1), colours=colours)
    with path.open("wb") as file:
        file.write(start + ready)
        _write_serving(file, piece, size_bytes)
        if crashes:
            file.write(death)


def _write_serving(file: BinaryIO, piece: bytes, size_bytes: int) -> None:
    minute = 0
    while (left := size_bytes - file.tell()) > 0:
        when = f"2026-11-{minute // 1440 % 30 + 1:02d} {minute // 60 % 24:02d}:{minute % 60:02d}"
        stamped = piece.replace(_WHEN, when.encode())
        end = len(stamped) if left >= len(stamped) else stamped.rfind(b"\n", 0, left) + 1
        if end == 0:
            return
        file.write(stamped[:end])
        minute += 1


def _make_piece(draw: random.Random, *, colours: bool) -> bytes:
    """Lines of decoding, prefill and access, as a server under load mixes them."""
    lines: list[bytes] = []
    size = 0
    while size < PIECE_BYTES:
        stamp = _WHEN + b":%02d" % (size * 60 // PIECE_BYTES)
        kind = draw.random()
        make = _decode if kind < 0.4 else _prefill if kind < 0.6 else _access
        line = make(stamp, draw)
        if colours:
            head, _, rest = line.partition(b"] ")
            line = COLOUR + head + b"]" + PLAIN + b" " + rest
        lines.append(line)
        size += len(line)
    return b"".join(lines)


def _decode(stamp: bytes, draw: random.Random) -> bytes:
    return (
        b"[%b] Decode batch, #running-req: %d, #full token: %d, full token usage: %.2f, "
        b"accept len: %.2f, accept rate: %.2f, cuda graph: True, "
        b"gen throughput (token/s): %.2f, #queue-req: %d\n"
    ) % (
        stamp,
        draw.randint(1, 64),
        draw.randint(1_000, 900_000),
        draw.random(),
        draw.uniform(1.2, 3.9),
        draw.random(),
        draw.uniform(200, 5_000),
        draw.randint(0, 9),
    )


def _prefill(stamp: bytes, draw: random.Random) -> bytes:
    return (
        b"[%b] Prefill batch, #new-seq: %d, #new-token: %d, #cached-token: %d, "
        b"token usage: %.2f, #running-req: %d, #queue-req: %d, #pending-token: 0, "
        b"cuda graph: False, input throughput (token/s): %.2f\n"
    ) % (
        stamp,
        draw.randint(1, 8),
        draw.randint(16, 8_192),
        draw.randint(0, 4_096),
        draw.random(),
        draw.randint(1, 64),
        draw.randint(0, 9),
        draw.uniform(500, 20_000),
    )


def _access(stamp: bytes, draw: random.Random) -> bytes:
    route = draw.choice((b"/v1/chat/completions", b"/generate", b"/v1/completions"))
    return b'[%b] INFO:     127.0.0.1:%d - "POST %b HTTP/1.1" 200 OK\n' % (
        stamp,
        draw.randint(32_768, 60_999),
        route,
    )
