"""Starts in the wording of several vLLM releases on GPUs, as their logs show them."""

from __future__ import annotations

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Explanation, Progress, Snapshot, Stage, Verdict
from firedup.profile.pipeline import Pipeline

V0 = """\
INFO 01-12 03:14:00 api_server.py:712] vLLM API server version 0.6.6
INFO 01-12 03:14:08 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: model='/m/t'
INFO 01-12 03:14:11 model_runner.py:1094] Starting to load model /m/t...
Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:10<00:10,  5.01s/it]
INFO 01-12 03:14:40 model_runner.py:1099] Loading model weights took 14.9888 GB
INFO 01-12 03:14:44 worker.py:241] Memory profiling takes 3.11 seconds
INFO 01-12 03:14:44 distributed_gpu_executor.py:57] # GPU blocks: 27102, # CPU blocks: 2048
INFO 01-12 03:14:47 model_runner.py:1415] Capturing cudagraphs for decoding. This may take a while.
Capturing CUDA graph shapes:  40%|####      | 14/35 [00:08<00:12,  1.72it/s]
INFO 01-12 03:15:07 model_runner.py:1535] Graph capturing finished in 20 secs, took 0.22 GiB
INFO 01-12 03:15:07 llm_engine.py:431] init engine (profile, create kv cache, warmup model) took 27.11 seconds
INFO 01-12 03:15:08 api_server.py:640] Using supplied chat template:
INFO 01-12 03:15:08 launcher.py:19] Available routes are:
INFO:     Started server process [909]
INFO:     Waiting for application startup.
INFO:     Application startup complete.
"""  # noqa: E501

V1 = """\
(APIServer pid=909) INFO 09-18 08:22:41 [api_server.py:1896] vLLM API server version 0.10.2
(APIServer pid=909) INFO 09-18 08:22:41 [utils.py:328] non-default args: {'model_tag': '/m/t'}
(EngineCore_DP0 pid=910) INFO 09-18 08:22:52 [core.py:76] Initializing a V1 LLM engine (v0.10.2) with config: model='/m/t', speculative_config=SpeculativeConfig(method='eagle3', model='/m/d', num_spec_tokens=3)
(Worker_TP0 pid=911) INFO 09-18 08:23:00 [pynccl.py:70] vLLM is using nccl==2.27.3
(Worker_TP1 pid=912) INFO 09-18 08:23:02 [parallel_state.py:1165] rank 1 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 1, EP rank 1
(Worker_TP0 pid=911) INFO 09-18 08:23:02 [parallel_state.py:1165] rank 0 in world size 2 is assigned as DP rank 0, PP rank 0, TP rank 0, EP rank 0
(Worker_TP0 pid=911) INFO 09-18 08:23:03 [gpu_model_runner.py:2338] Starting to load model /m/t...
(Worker_TP1 pid=912) INFO 09-18 08:23:03 [gpu_model_runner.py:2338] Starting to load model /m/t...
Loading safetensors checkpoint shards:  25% Completed | 16/64 [01:00<03:00,  3.75s/it]
(Worker_TP0 pid=911) INFO 09-18 08:27:03 [default_loader.py:268] Loading weights took 239.90 seconds
(Worker_TP0 pid=911) INFO 09-18 08:27:03 [gpu_model_runner.py:2380] Loading drafter model...
Loading safetensors checkpoint shards: 100% Completed | 1/1 [00:01<00:00,  1.02s/it]
(Worker_TP0 pid=911) INFO 09-18 08:27:05 [default_loader.py:268] Loading weights took 1.20 seconds
(Worker_TP0 pid=911) INFO 09-18 08:27:06 [gpu_model_runner.py:2392] Model loading took 70.1230 GiB and 242.000120 seconds
(Worker_TP0 pid=911) INFO 09-18 08:27:12 [backends.py:539] Using cache directory: /c/rank_0_0/backbone for vLLM's torch.compile
(Worker_TP0 pid=911) INFO 09-18 08:27:20 [backends.py:550] Dynamo bytecode transform time: 7.71 s
(Worker_TP0 pid=911) INFO 09-18 08:27:54 [monitor.py:34] torch.compile takes 34.70 s in total
(Worker_TP0 pid=911) INFO 09-18 08:27:56 [gpu_worker.py:298] Available KV cache memory: 48.20 GiB
(EngineCore_DP0 pid=910) INFO 09-18 08:27:57 [kv_cache_utils.py:864] GPU KV cache size: 812,128 tokens
(EngineCore_DP0 pid=910) INFO 09-18 08:27:57 [kv_cache_utils.py:868] Maximum concurrency for 40,960 tokens per request: 19.83x
Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  45%|####5     | 30/67 [00:02<00:03, 11.20it/s]
Capturing CUDA graphs (decode, FULL):  20%|##        | 7/35 [00:01<00:05,  5.40it/s]
(Worker_TP0 pid=911) INFO 09-18 08:28:20 [gpu_model_runner.py:3118] Graph capturing finished in 22 secs, took 1.31 GiB
(EngineCore_DP0 pid=910) INFO 09-18 08:28:20 [core.py:218] init engine (profile, create kv cache, warmup model) took 74.10 seconds
(APIServer pid=909) INFO 09-18 08:28:22 [api_server.py:1971] Starting vLLM API server 0 on http://0.0.0.0:8000
(APIServer pid=909) INFO:     Started server process [909]
(APIServer pid=909) INFO:     Waiting for application startup.
(APIServer pid=909) INFO:     Application startup complete.
"""  # noqa: E501

LATE = V1.replace(
    "vLLM API server version 0.10.2", "vLLM server version 0.32.0, serving model /m/t"
).replace("(v0.10.2)", "(v0.32.0)")


def look(text: str) -> Snapshot:
    pipeline = Pipeline(builtin_matcher("vllm", ()), year=2026)
    pipeline.feed(LogData(at_ns=0, generation=0, offset=0, data=text.encode()))
    pipeline.feed(Ended(at_ns=0))
    return pipeline.snapshot()


def explain(text: str) -> Explanation:
    return look(text).explanation


def upto(text: str, piece: str) -> str:
    """`text` to the end of the first line that holds `piece`."""
    lines = text.splitlines(keepends=True)
    last = next(index for index, line in enumerate(lines) if piece in line)
    return "".join(lines[: last + 1])


def bar_at(text: str, piece: str) -> Progress:
    progress = look(upto(text, piece)).progress
    assert progress is not None
    return progress


@pytest.mark.parametrize(("text", "version"), [(V0, "0.6.6"), (V1, "0.10.2"), (LATE, "0.32.0")])
def test_a_start_is_ready_with_one_start_and_its_version(text: str, version: str) -> None:
    found = explain(text)
    assert (found.verdict, found.starts, found.version) == (Verdict.READY, 1, version)


@pytest.mark.parametrize("text", [V0, V1, LATE])
def test_no_beginning_of_a_start_is_a_crash(text: str) -> None:
    lines = text.splitlines(keepends=True)
    beginnings = ["".join(lines[:count]) for count in range(1, len(lines))]
    verdicts = {explain(beginning).verdict for beginning in beginnings}
    assert verdicts == {Verdict.LOADING}


def test_the_old_engine_passes_load_cache_and_graphs() -> None:
    assert [span.stage for span in explain(V0).stages] == [
        Stage.ARGS,
        Stage.DIST_INIT,
        Stage.LOAD_WEIGHTS,
        Stage.KV_CACHE,
        Stage.GRAPH_CAPTURE,
        Stage.WARMUP,
        Stage.READY,
    ]


@pytest.mark.parametrize("text", [V1, LATE])
def test_the_new_engine_passes_drafter_and_compiler_too(text: str) -> None:
    assert [span.stage for span in explain(text).stages] == [
        Stage.ARGS,
        Stage.DIST_INIT,
        Stage.LOAD_WEIGHTS,
        Stage.DRAFT_LOAD,
        Stage.COMPILE,
        Stage.KV_CACHE,
        Stage.GRAPH_CAPTURE,
        Stage.WARMUP,
        Stage.READY,
    ]


@pytest.mark.parametrize(
    ("text", "piece", "stage", "done", "total"),
    [
        (V0, "2/4", Stage.LOAD_WEIGHTS, 2, 4),
        (V0, "14/35", Stage.GRAPH_CAPTURE, 14, 35),
        (V1, "16/64", Stage.LOAD_WEIGHTS, 16, 64),
        (V1, "30/67", Stage.GRAPH_CAPTURE, 30, 67),
        (V1, "7/35", Stage.GRAPH_CAPTURE, 7, 35),
    ],
)
def test_a_bar_gives_done_and_total_of_its_stage(
    text: str, piece: str, stage: Stage, done: int, total: int
) -> None:
    bar = bar_at(text, piece)
    assert (bar.stage, bar.done, bar.total) == (stage, done, total)


def test_the_load_of_the_target_takes_what_the_engine_said() -> None:
    spans = {span.stage: span for span in explain(V1).stages}
    assert spans[Stage.LOAD_WEIGHTS].seconds == 239.9
    assert spans[Stage.GRAPH_CAPTURE].seconds == 22.0


def test_both_ranks_are_told_apart() -> None:
    found = look(upto(V1, "16/64")).ranks
    assert [(rank.rank, rank.stage) for rank in found if rank.rank.startswith("TP")] == [
        ("TP0", Stage.LOAD_WEIGHTS),
        ("TP1", Stage.LOAD_WEIGHTS),
    ]


def test_a_second_start_in_the_same_file_is_the_one_that_counts() -> None:
    failed = upto(V1, "Starting to load model") + (
        "(EngineCore_DP0 pid=910) ERROR 09-18 08:23:20 [core.py:718] EngineCore failed to start.\n"
    )
    assert explain(failed).verdict is Verdict.CRASHED
    both = explain(failed + V1)
    assert (both.verdict, both.starts) == (Verdict.READY, 2)


@pytest.mark.parametrize(
    "line",
    [
        '    raise ValueError("No available memory for the cache blocks. "',
        "    assert all(x), 'Synthetic acceptance not supported with CPU sampling'",
        (
            "(Worker_TP0 pid=911) WARNING 09-18 08:23:03 [envs.py:9] Unknown vLLM environment "
            "variable detected: VLLM_FOO"
        ),
        'INFO:     127.0.0.1:5 - "POST /v1/completions HTTP/1.1" 400 Bad Request',
        (
            "(EngineCore_DP0 pid=910) INFO 09-18 08:25:03 [shm_broadcast.py:466] No available "
            "shared memory broadcast block found in 60 second."
        ),
    ],
)
def test_a_line_that_only_looks_alarming_changes_no_verdict(line: str) -> None:
    loading = upto(V1, "16/64") + line + "\n"
    assert explain(loading).verdict is Verdict.LOADING
