"""What a log went through on its way does not change what is said to be the cause."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from compiled import builtin_matcher
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parent.parent / "data" / "engine-runs"
CRASHES = sorted(path for path in RUNS.glob("*/f*.log"))


def explain(data: bytes) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    pipeline.feed(LogData(0, 0, 0, data))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


def told(explanation: Explanation) -> tuple[object, ...]:
    cause = explanation.cause
    return explanation.verdict, cause.failure if cause else None, cause.rule if cause else None


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().replace(b"\r\n", b"\n").split(b"\n")


SHIPPERS: dict[str, Callable[[int, bytes], bytes]] = {
    "compose": lambda _, line: b"sglang-1  | " + line,
    "kubectl": lambda n, line: b"2026-11-29T10:%02d:%02d.123456789Z " % divmod(n % 3600, 60) + line,
    "cri": lambda n, line: (
        b"2026-11-29T10:%02d:%02d.123456789Z stderr F " % divmod(n % 3600, 60) + line
    ),
    "pod": lambda _, line: b"[pod/sglang-0/engine] " + line,
    "journal": lambda n, line: (
        b"Nov 29 10:%02d:%02d gpu1 sglang[4321]: " % divmod(n % 3600, 60) + line
    ),
    "srun": lambda _, line: b"0: " + line,
    "colour": lambda _, line: b"\x1b[36m" + line + b"\x1b[0m",
    "crlf": lambda _, line: line + b"\r",
}


# Each log by three carriers in turn; all of them by all is the same at many times the cost.
PAIRS = [
    (path, shipper)
    for n, path in enumerate(CRASHES)
    for k, shipper in enumerate(SHIPPERS)
    if (n + k) % 3 == 0
]


@pytest.mark.parametrize(
    ("path", "shipper"), PAIRS, ids=lambda value: getattr(value, "stem", value)
)
def test_who_carried_a_log_changes_nothing(path: Path, shipper: str) -> None:
    carried = [SHIPPERS[shipper](n, line) for n, line in enumerate(lines_of(path))]

    assert told(explain(b"\n".join(carried))) == told(explain(b"\n".join(lines_of(path))))


def record(rank: int, second: int, text: str) -> bytes:
    return f"[2026-11-29 10:00:{second:02d} TP{rank}] {text}\n".encode()


def failing(rank: int, error: str) -> list[bytes]:
    """What a rank says until it fails; a record is one piece, as one write is."""
    trace = f'Traceback (most recent call last):\n  File "run.py", line 7, in load\n{error}'
    return [
        record(rank, 1, "Init torch distributed begin."),
        record(rank, 3, "Load weight begin. avail mem=78.00 GB"),
        record(rank, 9, f"Scheduler hit an exception: {trace}"),
    ]


LOST = (
    "torch.distributed.DistBackendError: NCCL error in: x.cpp:77, "
    "remote process exited or there was a network error"
)
STORIES = [
    failing(0, LOST),
    failing(1, "RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer"),
    failing(2, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."),
    failing(3, LOST),
]


@settings(deadline=None, max_examples=25)
@given(st.randoms(use_true_random=False))
def test_how_ranks_take_turns_changes_nothing(dice: random.Random) -> None:
    waiting = [list(story) for story in STORIES]
    log = b""
    while any(waiting):
        log += dice.choice([story for story in waiting if story]).pop(0)
    log += b"[2026-11-29 10:00:12] Received sigquit from a child process.\n"

    cause = explain(log).cause

    assert cause is not None
    assert (cause.failure, cause.rank) == ("cuda-out-of-memory-load-weights", "TP2")


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=60),
            st.text(max_size=60).map(str.encode),
            st.sampled_from(
                [line for path in CRASHES[::5] for line in path.read_bytes().splitlines(True)[-40:]]
            ),
        ),
        max_size=40,
    )
)
def test_nothing_that_stands_in_a_log_is_too_much(pieces: list[bytes]) -> None:
    explanation = explain(b"".join(pieces))

    assert 0 <= explanation.confidence <= 1
