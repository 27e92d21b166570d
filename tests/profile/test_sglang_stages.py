"""Starts in the wording of several SGLang releases, with a drafter, as one rank prints them."""

from __future__ import annotations

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.log.line import decode_line
from firedup.core.model import Explanation, Stage, Verdict
from firedup.core.rule import Edge
from firedup.profile.match import CatalogueMatcher
from firedup.profile.pipeline import Pipeline

# Up to 0.5.12 the drafter is loaded after the graphs of the target.
OLD = """\
[2025-05-20 09:15:02] server_args=ServerArgs(model_path='/m/t', speculative_algorithm='EAGLE3')
[2025-05-20 09:15:40 TP0] Init torch distributed begin.
[2025-05-20 09:15:52 TP0] Init torch distributed ends. mem usage=1.80 GB
[2025-05-20 09:15:58 TP0] Load weight begin. avail mem=137.22 GB
Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:10<00:10,  5.01s/it]
[2025-05-20 09:16:20 TP0] Load weight end. type=AlphaForCausalLM, dtype=torch.bfloat16, avail mem=63.14 GB
[2025-05-20 09:16:21 TP0] KV Cache is allocated. #tokens: 91200, K size: 5.57 GB, V size: 5.57 GB
[2025-05-20 09:16:21 TP0] Memory pool end. avail mem=18.20 GB
[2025-05-20 09:16:22 TP0] Capture cuda graph begin. This can take up to several minutes. avail mem=17.90 GB
Capturing batches (avail_mem=15.10 GB):  40%|####      | 20/50 [00:14<00:21,  1.40it/s]
[2025-05-20 09:17:02 TP0] Capture cuda graph end. Time elapsed: 39.71 s. mem usage=1.20 GB. avail mem=16.70 GB.
[2025-05-20 09:17:03 TP0] Load weight begin. avail mem=16.60 GB
[2025-05-20 09:17:05 TP0] Load weight end. type=LlamaForCausalLMEagle3, dtype=torch.bfloat16, avail mem=15.14 GB
[2025-05-20 09:17:06 TP0] Capture draft cuda graph begin. This can take up to several minutes. avail mem=15.10 GB
[2025-05-20 09:17:36 TP0] Capture draft cuda graph end. Time elapsed: 29.90 s. mem usage=0.20 GB. avail mem=14.90 GB.
[2025-05-20 09:17:37 TP0] max_total_num_tokens=91200, chunked_prefill_size=8192, max_prefill_tokens=16384
[2025-05-20 09:17:38] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2025-05-20 09:17:42] The server is fired up and ready to roll!
"""  # noqa: E501

# From 0.5.16 on both models are loaded first, then both pools, then all graphs.
NEW = """\
[2026-03-04 09:15:02] server_args={'model_path': '/m/t', 'speculative_algorithm': 'EAGLE3'}
[2026-03-04 09:15:40 TP0] Init parallel begin.
[2026-03-04 09:15:52 TP0] Init parallel ends. elapsed=12.41 s
[2026-03-04 09:15:58 TP0] Load weight begin. avail mem=137.22 GB
Multi-thread loading shards:  50% Completed | 2/4 [00:10<00:10,  5.01s/it]
[2026-03-04 09:16:20 TP0] Load weight end. elapsed=22.01 s, type=AlphaForCausalLM, avail mem=63.14 GB
[2026-03-04 09:16:20 TP0] SPECULATIVE_MOE_RUNNER_BACKEND is not initialized, using auto backend
[2026-03-04 09:16:21 TP0] Load weight begin. avail mem=63.10 GB
[2026-03-04 09:16:23 TP0] Load weight end. elapsed=2.00 s, type=LlamaForCausalLMEagle3, avail mem=60.14 GB
[2026-03-04 09:16:24 TP0] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 91200, KV size: 40.31 GB
[2026-03-04 09:16:24 TP0] Memory pool end. avail mem=18.20 GB
[2026-03-04 09:16:25 TP0] Running FlashInfer autotune with cache: /var/cache/autotune.json
[2026-03-04 09:16:35 TP0] FlashInfer autotune completed.
[2026-03-04 09:16:36 TP0] Capture target verify CUDA graph begin. backend=full, num_tokens_per_req=4
Capturing batches (bs=128 avail_mem=15.10 GB):  40%|####      | 20/50 [00:14<00:21,  1.40it/s]
[2026-03-04 09:17:16 TP0] Capture target verify CUDA graph end. bs=[1, 2, 4], elapsed=39.71 s, mem usage=1.20 GB
[2026-03-04 09:17:17 TP0] Capture draft decode CUDA graph begin. backend=full, num_tokens_per_req=1
[2026-03-04 09:17:47 TP0] Capture draft decode CUDA graph end. elapsed=29.90 s, mem usage=0.20 GB
[2026-03-04 09:17:48 TP0] max_total_num_tokens=91200, chunked_prefill_size=8192, max_prefill_tokens=16384
[2026-03-04 09:17:49] INFO:     Uvicorn running on http://127.0.0.1:30000 (Press CTRL+C to quit)
[2026-03-04 09:17:53] The server is fired up and ready to roll!
"""  # noqa: E501


@pytest.fixture(scope="module")
def matcher() -> CatalogueMatcher:
    return builtin_matcher("sglang", ())


def explain(log: str, matcher: CatalogueMatcher) -> Explanation:
    pipeline = Pipeline(matcher, year=2026, engine="sglang")
    pipeline.feed(LogData(0, 0, 0, log.encode()))
    pipeline.feed(Ended(0))
    return pipeline.snapshot().explanation


@pytest.mark.parametrize("log", [OLD, NEW], ids=["up-to-0.5.12", "from-0.5.16"])
def test_every_line_of_a_start_is_known(log: str, matcher: CatalogueMatcher) -> None:
    for text in log.splitlines():
        line = decode_line(
            text.encode(), offset=0, end=len(text), number=1, is_progress=False, year=2026
        )
        assert any(hit.rule.stage for hit in matcher.match(line)), text


@pytest.mark.parametrize("log", [OLD, NEW], ids=["up-to-0.5.12", "from-0.5.16"])
def test_a_start_passes_all_stages_to_ready(log: str, matcher: CatalogueMatcher) -> None:
    explanation = explain(log, matcher)
    assert (explanation.engine, explanation.verdict) == ("sglang", Verdict.READY)
    passed = {span.stage for span in explanation.stages}
    common = {
        Stage.ARGS,
        Stage.DIST_INIT,
        Stage.LOAD_WEIGHTS,
        Stage.DRAFT_LOAD,
        Stage.KV_CACHE,
        Stage.GRAPH_CAPTURE,
        Stage.WARMUP,
        Stage.READY,
    }
    assert passed - {Stage.COMPILE} == common
    assert (Stage.COMPILE in passed) == (log is NEW)


@pytest.mark.parametrize("log", [OLD, NEW], ids=["up-to-0.5.12", "from-0.5.16"])
def test_a_cut_start_is_loading_at_every_line(log: str, matcher: CatalogueMatcher) -> None:
    lines = log.splitlines(keepends=True)
    for count in range(1, len(lines)):
        assert explain("".join(lines[:count]), matcher).verdict is Verdict.LOADING


def test_the_durations_that_the_engine_prints_are_kept(matcher: CatalogueMatcher) -> None:
    seconds = {span.stage: span.seconds for span in explain(NEW, matcher).stages}
    assert seconds[Stage.DIST_INIT] == 12.41
    assert seconds[Stage.LOAD_WEIGHTS] == 22.01
    assert seconds[Stage.DRAFT_LOAD] == 2.0


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        ("Dummy health check server started in background thread at 0.0.0.0:30000", Stage.READY),
        ("Try DeepGEMM JIT Compiling for <GEMM> N=4096, K=7168, num_groups=1", Stage.COMPILE),
        ("Capture draft extend cuda graph begin (step 1). This can take", Stage.GRAPH_CAPTURE),
    ],
)
def test_rarer_lines_move_the_stage_too(line: str, stage: Stage, matcher: CatalogueMatcher) -> None:
    decoded = decode_line(
        line.encode(), offset=0, end=len(line), number=1, is_progress=False, year=2026
    )
    assert [(hit.rule.stage, hit.rule.edge is not Edge.END) for hit in matcher.match(decoded)] == [
        (stage, True)
    ]
