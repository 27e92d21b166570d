"""Whatever a log holds, it is explained without an error, and alike in any slices."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from compiled import builtin_matcher
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation
from firedup.profile.pipeline import Pipeline

RUNS = sorted((Path(__file__).parent.parent / "data/engine-runs").rglob("*.log"))
SCRAPS = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    b"\xff\xfe",
    b"\x1b[31m",
    b"\x1b]0;",
    b"Traceback (most recent call last):\n",
    b"During handling of the above exception, another exception occurred:\n",
    b"ExceptionGroup: two (2 sub-exceptions)\n",
    b"  + Exception Group Traceback (most recent call last):\n",
    b"RuntimeError: CUDA error: out of memory\n",
    b"The server is fired up and ready to roll!\n",
    b"(Worker_TP3 pid=7) ERROR 11-29 10:00:00 [a.py:1] ",
    b"[2026-99-99 99:99:99 TP0] ",
    b"[rank99999999999999999999]: ",
    b"99999999999.99.999.999 E ",
    b"thread 'main' panicked at a.rs:1:2:\n",
]


def explain(log: bytes, cuts: list[int]) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    edges = sorted({0, len(log), *(cut for cut in cuts if cut < len(log))})
    for start, stop in pairwise(edges):
        pipeline.feed(LogData(0, 0, start, log[start:stop]))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


@st.composite
def spoilt_recordings(draw: st.DrawFn) -> bytes:
    """A piece of a real log of which parts were lost, doubled, exchanged or overwritten."""
    log = draw(st.sampled_from(RUNS)).read_bytes()
    start = draw(st.integers(0, max(0, len(log) - 1)))
    log = log[start : start + 8192]
    for _ in range(draw(st.integers(0, 6))):
        first, last = sorted((draw(st.integers(0, len(log))), draw(st.integers(0, len(log)))))
        piece = log[first:last][: draw(st.integers(0, 512))]
        scrap = draw(st.one_of(st.sampled_from(SCRAPS), st.binary(max_size=9), st.just(piece)))
        log = log[:first] + scrap + log[last if draw(st.booleans()) else first :]
    return log


logs = st.one_of(
    st.binary(max_size=400),
    st.lists(st.one_of(st.sampled_from(SCRAPS), st.binary(max_size=20)), max_size=40).map(b"".join),
    spoilt_recordings(),
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(logs, st.lists(st.integers(0, 8192), max_size=5))
def test_any_bytes_are_explained_and_alike_in_any_slices(log: bytes, cuts: list[int]) -> None:
    assert explain(log, cuts) == explain(log, [])
