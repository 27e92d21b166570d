"""Reads a log for what it says of acceptance and speed."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from firedup.core.measure.logged import Logged, read_logged
from firedup.session.explain import BLOCK_BYTES, explain_path, explain_stream, load_matcher
from firedup.session.heed import signals_heeded

_HEAD_BYTES = 1 << 20  # engines print their arguments at the beginning
# How vLLM prints a part of its arguments that makes acceptance up.
_MADE_UP = b"'rejection_sample_method': 'synthetic'"


def read_log(path: str, *, engine: str | None = None) -> Logged:
    """What the log at `path` ("-": standard input) says; UsageError when it cannot be read."""
    if path == "-":
        log = BytesIO(_read_all(sys.stdin.buffer))
        explanation = explain_stream(log, matcher=load_matcher(), engine=engine)
        is_made_up = _MADE_UP in log.getbuffer()[:_HEAD_BYTES].tobytes()
    else:
        explanation = explain_path(path, matcher=load_matcher(), engine=engine)
        with Path(path).open("rb") as file:
            is_made_up = _MADE_UP in file.read(_HEAD_BYTES)
    return read_logged(explanation, made_up=_MADE_UP.decode() if is_made_up else None)


def _read_all(stream: BinaryIO) -> bytes:
    """To its end, so that Ctrl-C is heard meanwhile."""
    pieces: list[bytes] = []
    with signals_heeded(stream) as wait:
        while True:
            if wait is not None:
                wait()
            if not (piece := stream.read(BLOCK_BYTES)):
                return b"".join(pieces)
            pieces.append(piece)
