"""In which stage a cause came, where its own lines do not say it."""

from __future__ import annotations

from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Cause, Stage
from firedup.profile.pipeline import Pipeline

TOP = "Traceback (most recent call last):\n"
BLAME = "RuntimeError: CUDA error: an illegal memory access was encountered\n"
CHAINED = "\nThe above exception was the direct cause of the following exception:\n\n"


def frame(path: str, name: str) -> str:
    return f'  File "/usr/lib/python3/site-packages/{path}", line 12, in {name}\n    call()\n'


def cause(text: str, engine: str = "vllm") -> Cause:
    pipeline = Pipeline(builtin_matcher(engine), year=2026, engine=engine)
    pipeline.feed(LogData(0, 0, 0, text.encode()))
    pipeline.feed(Ended(0))
    found = pipeline.snapshot().explanation.cause
    assert found is not None
    return found


KV = frame("vllm/v1/engine/core.py", "_initialize_kv_caches")
WARM = frame("vllm/v1/worker/gpu_worker.py", "compile_or_warm_up_model")
FORWARD = frame("vllm/model_executor/models/llama.py", "forward")
WRAPPED = "RuntimeError: Error in model execution\n"


def test_the_outer_exception_of_a_chain_tells_where_all_of_it_was_called_from() -> None:
    found = cause(TOP + FORWARD + BLAME + CHAINED + TOP + KV + FORWARD + WRAPPED)

    assert (found.line, found.stage) == (BLAME.strip(), Stage.KV_CACHE)


def test_the_innermost_frame_that_names_a_stage_counts() -> None:
    found = cause(TOP + FORWARD + BLAME + CHAINED + TOP + KV + WARM + WRAPPED)

    assert found.stage is Stage.WARMUP


def test_frames_of_its_own_outweigh_those_of_the_chain() -> None:
    found = cause(TOP + KV + FORWARD + BLAME + CHAINED + TOP + WARM + WRAPPED)

    assert found.stage is Stage.KV_CACHE


def test_the_first_stage_after_a_cause_stands_for_one_before_it() -> None:
    found = cause(
        BLAME + "RuntimeError: Engine core initialization failed\n" + TOP + WARM + WRAPPED
    )

    assert found.stage is Stage.WARMUP


def test_a_rank_that_fails_before_any_stage_was_seen_is_in_none_that_is_known() -> None:
    assert cause(f"[rank0]: {BLAME}").stage is None
    assert cause(BLAME).stage is Stage.ARGS


def test_requests_of_a_start_that_is_not_up_are_those_of_its_warm_up() -> None:
    loop = frame("sglang/srt/managers/scheduler.py", "event_loop_overlap")
    warm = frame("sglang/srt/entrypoints/http_server.py", "_wait_and_warmup")
    begun = "[2026-03-04 09:15:58 TP0] Load weight begin. avail mem=137.22 GB\n"

    assert cause(TOP + loop + BLAME, "sglang").stage is Stage.SERVING
    assert cause(begun + TOP + loop + BLAME, "sglang").stage is Stage.LOAD_WEIGHTS
    assert cause(begun + TOP + warm + loop + BLAME, "sglang").stage is Stage.WARMUP
