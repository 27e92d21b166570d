"""Several starts in one log: the last is judged, and what became of the others is told."""

from __future__ import annotations

from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Verdict
from firedup.profile.pipeline import Pipeline

BEGIN = [
    "[2026-03-04 09:00:00] server_args={'model_path': '/m', 'tp_size': 1}",
    "[2026-03-04 09:00:20 TP0] Load weight begin. avail mem=79 GB",
]
DIE = [
    "[2026-03-04 09:00:30 TP0] Scheduler hit an exception: Traceback (most recent call last):",
    '  File "/x/sglang/srt/model_executor/model_runner.py", line 12, in load_model',
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "",
    "[2026-03-04 09:00:31] Received sigquit from a child process. It means the child failed.",
]
REFUSED = [
    "usage: launch_server.py [-h] --model-path MODEL_PATH [--host HOST]",
    "launch_server.py: error: argument --tp-size: invalid int value: 'eight'",
]
BROKEN = [
    "Traceback (most recent call last):",
    '  File "/x/sgl_kernel/__init__.py", line 5, in <module>',
    "ImportError:",
    "[sgl_kernel] CRITICAL: Could not load any common_ops library!",
]
UP = ["[2026-03-04 09:02:00] The server is fired up and ready to roll!"]
STOP = ["[2026-03-04 10:03:00] SIGTERM received. signum=15 frame=None. Draining requests..."]


def explain(*parts: list[str], engine: str = "sglang") -> Explanation:
    pipeline = Pipeline(builtin_matcher(engine), year=2026, engine=engine)
    text = "".join(f"{line}\n" for part in parts for line in part)
    pipeline.feed(LogData(0, 0, 0, text.encode()))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


def told(explanation: Explanation) -> list[str]:
    return [f.message for f in explanation.findings if f.id.startswith("earlier-start-")]


def test_the_last_start_is_judged_and_each_earlier_one_is_told() -> None:
    seen = explain(BEGIN, DIE, BEGIN, UP, STOP, BEGIN, BEGIN, UP)

    assert (seen.verdict, seen.starts, seen.cause) == (Verdict.READY, 4, None)
    assert told(seen) == [
        "Start 1 of this log crashed in load-weights (cuda-out-of-memory-load-weights).",
        "Start 2 of this log came up and was stopped.",
        "Start 3 of this log ended in load-weights without a word.",
    ]


def test_the_cause_of_an_earlier_crash_is_its_evidence() -> None:
    seen = explain(BEGIN, DIE, BEGIN, UP)

    (found,) = [f for f in seen.findings if f.id == "earlier-start-1"]
    assert [(e.text, e.line_number) for e in found.evidence] == [(DIE[2], 5)]


def test_a_command_that_is_refused_has_begun_anew() -> None:
    seen = explain(BEGIN, DIE, REFUSED)

    assert seen.cause is not None
    assert (seen.cause.line, seen.cause.failure, seen.starts) == (REFUSED[-1], "bad-argument", 2)


def test_what_died_before_the_first_line_of_a_start_was_another_one() -> None:
    for first in (REFUSED[1:], BROKEN):
        assert explain(first).verdict is Verdict.CRASHED
        seen = explain(first, BEGIN, UP)
        again = explain(first, BEGIN, DIE)

        assert (seen.verdict, seen.cause, seen.starts) == (Verdict.READY, None, 2)
        assert told(seen)[0].startswith("Start 1 of this log crashed in args")
        assert again.cause is not None
        assert again.cause.line == DIE[2]


def test_a_warning_before_the_first_line_is_no_start_of_its_own() -> None:
    seen = explain(["/x/sglang/launch_server.py:60: UserWarning: no"], BEGIN, DIE)

    assert seen.starts == 1


def test_one_start_has_none_before_it() -> None:
    assert told(explain(BEGIN, UP)) == []


def test_an_orderly_end_of_a_server_that_was_up_is_a_stop() -> None:
    start = [
        "INFO 03-04 09:00:00 [api_server.py:1] vLLM API server version 0.11.0",
        "(APIServer pid=1) INFO:     Application startup complete.",
    ]
    end = ["(APIServer pid=1) INFO:     Shutting down"]
    dead = [
        "(APIServer pid=1) ERROR 03-04 10:00:01 [async_llm.py:480] AsyncLLM output_handler failed."
    ]

    assert explain(start, end, engine="vllm").verdict is Verdict.STOPPED
    assert explain(start, dead, end, engine="vllm").verdict is Verdict.CRASHED
