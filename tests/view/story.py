"""Made-up snapshots of an eight-rank SGLang start, for the tests of views and for pictures."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from firedup.core.model import (
    Acceptance,
    Cause,
    Checks,
    Evidence,
    Explanation,
    Finding,
    Followed,
    Gauge,
    Line,
    Ownership,
    Process,
    Progress,
    RankState,
    RunLabel,
    ServerSpec,
    Severity,
    Snapshot,
    Source,
    Speculation,
    Stage,
    StageSpan,
    State,
    Verdict,
)

SECOND = 1_000_000_000
LAUNCHED_NS = int(datetime(2026, 11, 29, 12, 2, 37, tzinfo=UTC).timestamp()) * SECOND
RUN = RunLabel(id="20261129-120237-k2", name="kimi-drafter")
SPEC = ServerSpec(
    argv=(
        *("python3", "-m", "sglang.launch_server", "--model-path", "/models/Kimi-K2.5-INT4"),
        *("--speculative-algorithm", "EAGLE3", "--speculative-draft-model-path", "/models/drafter"),
        *("--tp-size", "8", "--port", "30000", "--api-key", "rosebud-1941"),
    ),
    engine="sglang",
    bind="127.0.0.1",
    port=30000,
    model="/models/Kimi-K2.5-INT4",
    draft="/models/drafter",
    algorithm="EAGLE3",
    tensor_parallel=8,
    health_path="/health",
    has_api_key=True,
)
_TOOK = (
    (Stage.ARGS, 0.0, 6.2),
    (Stage.DIST_INIT, 6.2, 9.4),
    (Stage.LOAD_WEIGHTS, 15.6, 313.2),
    (Stage.DRAFT_LOAD, 328.8, 4.1),
    (Stage.KV_CACHE, 332.9, 2.2),
    (Stage.GRAPH_CAPTURE, 335.1, 244.0),
    (Stage.WARMUP, 579.1, 3.4),
)


def at(seconds: float) -> int:
    """The host's wall time `seconds` after the launch."""
    return LAUNCHED_NS + int(seconds * SECOND)


def spans_until(seconds: float) -> tuple[StageSpan, ...]:
    """The stages begun by then, with per-rank spans for the weights."""
    spans: list[StageSpan] = []
    for stage, begin, took in _TOOK:
        if begin > seconds:
            break
        is_over = begin + took <= seconds
        spans.append(StageSpan(stage, at(begin), "host", took if is_over else None, None, is_over))
        if stage is Stage.LOAD_WEIGHTS and is_over:
            spans += [
                StageSpan(stage, at(begin), "host", took - late, f"TP{rank}", True)
                for rank, late in enumerate((7.1, 11.9, 6.0, 0.4, 9.9, 0.0, 12.2, 8.8))
            ]
    return tuple(spans)


def line(message: str, number: int, rank: str | None = "TP0", seconds: float = 300) -> Line:
    """A line of the log with SGLang's prefix."""
    clock = datetime.fromtimestamp(at(seconds) / SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
    prefix = f"[{clock} {rank}] " if rank else f"[{clock}] "
    text = prefix + message
    return Line(number * 120, number * 120 + len(text), number, text, message, Source(rank))


PROCESSES = tuple(
    Process(
        pid=4200 + index,
        start_ticks=991 + index,
        parent=4200 if index else 1,
        name="sglang::schedul" if index else "python3",
        state="D" if index else "S",
        cpu_s=80.0 + 4 * index,
        rss_bytes=7_400_000_000 if index else 1_900_000_000,
        read_bytes=36_000_000_000 if index else 40_000_000,
    )
    for index in range(9)
)
EXPLANATION = Explanation("sglang", "0.5.9", Verdict.LOADING, None, False, 0.9, starts=1)


def loading(seconds: float = 131.0, done: int = 23) -> Snapshot:
    """In the middle of the weights, two ranks behind."""
    return Snapshot(
        now_ns=900 * SECOND + int(seconds * SECOND),
        wall_ns=at(seconds),
        explanation=replace(EXPLANATION, stage=Stage.LOAD_WEIGHTS, stages=spans_until(seconds)),
        run=RUN,
        spec=SPEC,
        state=State.STARTING,
        elapsed_s=seconds,
        stage_elapsed_s=seconds - 15.6,
        quiet_s=4.0,
        progress=Progress(Stage.LOAD_WEIGHTS, done, 64, seconds - 15.6, 205.0, "shards"),
        ranks=tuple(
            RankState(f"TP{rank}", Stage.LOAD_WEIGHTS, rank not in (3, 5)) for rank in range(8)
        ),
        last_line=line("Loading safetensors checkpoint shards:  36% Completed | 23/64", 86),
        waiting_for="the weights of TP3 and TP5",
        speculation=Speculation.UNKNOWN,
        processes=PROCESSES,
        log_path="/home/u/.local/state/firedup/runs/20261129-120237-k2/server.log",
        log_size=48_000,
    )


def capturing(seconds: float = 450.0, done: int = 17) -> Snapshot:
    """In the middle of graph capture."""
    return replace(
        loading(seconds),
        explanation=replace(EXPLANATION, stage=Stage.GRAPH_CAPTURE, stages=spans_until(seconds)),
        stage_elapsed_s=seconds - 335.1,
        quiet_s=2.0,
        progress=Progress(Stage.GRAPH_CAPTURE, done, 36, seconds - 335.1, 129.0, "batches"),
        ranks=tuple(RankState(f"TP{rank}", Stage.GRAPH_CAPTURE) for rank in range(8)),
        last_line=line("Capturing batches (bs=112 avail_mem=4.39 GB): 47%|####7     | 17/36", 131),
        waiting_for="the CUDA graphs",
    )


def ready(seconds: float = 583.0) -> Snapshot:
    """Ready, proved by a token, with the acceptance of the first tokens."""
    return replace(
        loading(seconds),
        explanation=replace(
            EXPLANATION,
            verdict=Verdict.READY,
            stage=Stage.READY,
            stages=spans_until(seconds),
            confidence=1.0,
        ),
        state=State.SERVING,
        stage_elapsed_s=0.4,
        ready_after_s=seconds,
        progress=None,
        ranks=(),
        last_line=line("The server is fired up and ready to roll!", 163, None, 582),
        waiting_for="",
        checks=Checks(log=True, health=200, owner=Ownership.YES, token=True),
        speculation=Speculation.ON,
        acceptance=Acceptance(1.73, 0.243, 121, 498, 166, "/metrics"),
        first_text=" Paris. The city lies on the Seine,\nand has been the capital since 987.",
        is_final=True,
    )


CAUSE = Cause(
    failure="cuda-out-of-memory-graph-capture",
    rule="sglang/cuda-out-of-memory",
    line="[2026-11-29 12:09:41 TP7] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate "
    "1.31 GiB. GPU 7 has a total capacity of 139.80 GiB of which 1.02 GiB is free. Including "
    "non-PyTorch memory, this process has 138.77 GiB memory in use.",
    line_number=412,
    offset=53120,
    rank="TP7",
    stage=Stage.GRAPH_CAPTURE,
    meaning="The GPU ran out of memory while CUDA graphs were captured.",
    remedy="Lower --mem-fraction-static (0.90 was used), or capture fewer graphs with "
    "--cuda-graph-max-bs.",
)
FOLLOWED = (
    *(
        Followed(
            f"[2026-11-29 12:09:41 TP{rank}] Capture cuda graph failed: CUDA out of memory.",
            436 + rank,
            "wrapper",
        )
        for rank in range(3)
    ),
    Followed("[2026-11-29 12:09:42] Received sigquit from a child process.", 460, "wrapper"),
    Followed("[2026-11-29 12:09:43] Killed", 463, "teardown"),
)


def crashed(seconds: float = 424.0) -> Snapshot:
    """Dead in graph capture, rank 7 first."""
    return replace(
        capturing(seconds),
        explanation=replace(
            EXPLANATION,
            verdict=Verdict.CRASHED,
            stage=Stage.GRAPH_CAPTURE,
            exited=True,
            confidence=0.93,
            stages=spans_until(seconds),
            cause=CAUSE,
            followed=FOLLOWED,
            findings=(
                Finding(
                    "port-was-free",
                    Severity.NOTE,
                    "Port 30000 was free before the launch.",
                ),
            ),
            gauges=(
                Gauge("accept_length", 1.73, 1.71, 1.2, 2.4, 118),
                Gauge("generation_tokens_per_s", 60.2, 59.1, 12.0, 64.9, 11_800, True),
            ),
            notes=("Lines 90 to 97 are not valid UTF-8.",),
        ),
        state=State.EXITED,
        ended_after_s=seconds,
        progress=None,
        tail=("Traceback (most recent call last):", "torch.OutOfMemoryError: \x1b[31mno\x1b[0m"),
        processes=(),
        exit_signal=9,
        waiting_for="",
        is_final=True,
    )


def stalled(seconds: float = 900.0) -> Snapshot:
    """Nothing moves in the graph capture: one rank is the odd one out."""
    return replace(
        capturing(seconds),
        explanation=replace(
            EXPLANATION,
            verdict=Verdict.STALLED,
            stage=Stage.GRAPH_CAPTURE,
            stages=spans_until(500.0),
            confidence=0.85,
            findings=(
                Finding(
                    "odd-rank-out",
                    Severity.SEVERE,
                    "TP3 waits in another place than the other seven ranks.",
                    (
                        Evidence("command", "TP3: ncclCommInitRank (communicator.py:214)"),
                        Evidence("sample", "no process used CPU or read a byte for 8 min 10 s"),
                    ),
                    "Stop it, and start it again with NCCL_DEBUG=INFO.",
                ),
            ),
        ),
        stage_elapsed_s=564.9,
        quiet_s=490.0,
        waiting_for="any sign of work",
        is_final=True,
    )
