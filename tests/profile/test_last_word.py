"""A log of which only the victims are left, and a message that says further down what failed."""

from __future__ import annotations

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Verdict
from firedup.profile.pipeline import Pipeline

START = "[2026-03-04 09:00:00] server_args=ServerArgs(model_path='/models/alpha')\n"
TRACE = 'Traceback (most recent call last):\n  File "/opt/alpha.py", line 7, in wait\n    get()\n'
VICTIMS = (
    "EOFError",
    "ConnectionResetError: [Errno 104] Connection reset by peer",
    "zmq.error.Again: Resource temporarily unavailable",
    "grpc._channel._InactiveRpcError: <_InactiveRpcError of RPC that terminated with:",
)
CAUSE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
BACKEND = "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/"
BACKEND += (
    "NCCLUtils.cpp:77, unhandled {} error (run with NCCL_DEBUG=INFO for details), NCCL version"
)
BACKEND += " 2.27.5\n{}: A call failed.\nLast error:\n{}\n"


def explain(text: str) -> Explanation:
    pipeline = Pipeline(builtin_matcher(), year=2026)
    for event in (LogData(0, 0, 0, text.encode()), Ended(0)):
        pipeline.feed(event)
    return pipeline.snapshot(0).explanation


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_victim_that_has_the_last_word_tells_of_a_crash(victim: str) -> None:
    explanation = explain(
        f"{START}{TRACE}{victim}\n{TRACE}BrokenPipeError: [Errno 32] Broken pipe\n"
    )

    assert explanation.verdict is Verdict.CRASHED
    assert explanation.cause is not None
    assert (explanation.cause.line, explanation.cause.failure) == (victim, "peer-lost")
    assert explanation.confidence < 0.5
    assert "first fault is not in this log" in " ".join(explanation.notes)


@pytest.mark.parametrize("victim", VICTIMS)
def test_a_victim_after_which_the_start_goes_on_is_no_crash(victim: str) -> None:
    later = "[2026-03-04 09:00:09 TP0] Load weight begin. avail mem=78.81 GB\n"

    assert explain(f"{START}{TRACE}{victim}\n{later}").verdict is Verdict.LOADING


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_victim_never_wins_over_a_cause(victim: str, is_first: bool) -> None:
    first, second = (victim, CAUSE) if is_first else (CAUSE, victim)
    explanation = explain(f"{START}{TRACE}{first}\n{TRACE}{second}\n")

    assert explanation.cause is not None
    assert explanation.cause.line == CAUSE
    assert explanation.notes == ()


REFUSED = 'details = "failed to connect to all addresses; last error: UNKNOWN: connection refused"'
REMOTE = f"{VICTIMS[3]}\n\tstatus = StatusCode.UNAVAILABLE\n\t{REFUSED}\n>\n"


def test_a_call_to_where_nobody_is_tells_the_fault_by_itself() -> None:
    explanation = explain(f"{START}{TRACE}{REMOTE}")

    assert explanation.cause is not None
    assert (explanation.cause.line, explanation.cause.failure) == (VICTIMS[3], "rendezvous-failed")
    assert REFUSED in explanation.cause.evidence[-1].text
    assert explanation.notes == ()


def test_a_call_to_where_nobody_is_any_more_is_no_first_fault() -> None:
    explanation = explain(f"{START}{TRACE}{REMOTE}{TRACE}{CAUSE}\n")

    assert explanation.cause is not None
    assert explanation.cause.line == CAUSE


@pytest.mark.parametrize(
    ("kind", "result", "detail", "failure"),
    [
        (
            "system",
            "ncclSystemError",
            "Error while creating shared memory segment /dev/shm/nccl-a1 (size 9637888)",
            "shared-memory-too-small",
        ),
        (
            "cuda",
            "ncclUnhandledCudaError",
            "Cuda failure 2 'out of memory'",
            "cuda-out-of-memory",
        ),
        ("system", "ncclSystemError", "alpha knows no more", "nccl-error"),
    ],
)
def test_what_nccl_failed_at_gives_the_class(
    kind: str, result: str, detail: str, failure: str
) -> None:
    explanation = explain(f"{START}{TRACE}{BACKEND.format(kind, result, detail)}")

    assert explanation.cause is not None
    assert explanation.cause.line.startswith("torch.distributed.DistBackendError")
    assert explanation.cause.failure.startswith(failure)
    quoted = [evidence.text for evidence in explanation.cause.evidence]
    assert (detail in quoted) is (failure != "nccl-error")
