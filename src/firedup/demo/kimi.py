"""Two invented starts of Kimi-K2.5 INT4 on eight GPUs: one comes up, one dies in rank 5."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from importlib.resources import files
from itertools import accumulate

from firedup.core.event import (
    Accepted,
    Begun,
    Event,
    Exited,
    Health,
    PortOwner,
    Token,
)
from firedup.core.model import Acceptance, Ownership, ServerSpec
from firedup.demo.kimi_process import MAIN_PID, free_memory, workers
from firedup.demo.kimi_timeline import (
    ARGS_S,
    BAR_FULL_S,
    BAR_S,
    CRASH_END_S,
    CRASH_S,
    DIST_S,
    DRAFT_GRAPH_S,
    DRAFT_S,
    END_S,
    EXTEND_GRAPH_S,
    GRAPH_S,
    HTTP_S,
    LATE_S,
    LOAD_S,
    LOADED_S,
    POOL_S,
    READY_S,
)
from firedup.demo.recording import (
    Clock,
    Log,
    join_events,
    render_bar,
    render_pace,
    sample_every_second,
)

MODEL = "/models/Kimi-K2.5-INT4"
DRAFT = "/models/kimi-k2-eagle3"
PORT = 30000
ARGV = (
    f"sglang serve --model-path {MODEL} --tp 8 --trust-remote-code --mem-fraction-static 0.85"
    f" --speculative-algorithm EAGLE3 --speculative-draft-model-path {DRAFT}"
    " --speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4"
    f" --cuda-graph-max-bs 64 --enable-metrics --host 127.0.0.1 --port {PORT}"
).split()
SPEC = ServerSpec(
    argv=tuple(ARGV),
    engine="sglang",
    bind="127.0.0.1",
    port=PORT,
    model=MODEL,
    draft=DRAFT,
    algorithm="EAGLE3",
    tensor_parallel=8,
    health_path="/health",
    vital=("sglang::scheduler", "sglang::detokenizer", "sglang::data_parallel_controller"),
)
RANKS = range(8)
SHARDS = 64
SIZES = [*range(64, 39, -4), *range(32, 9, -2), *range(8, 0, -1)]  # of graphs, largest first

CLOCK = Clock(boottime_ns=1_209_641_000_000_000, wall_ns=1_795_946_412_000_000_000)
SEED = 59


def started() -> Iterator[Event]:
    """Yield the start that comes up, is asked for a token and tells its acceptance."""
    log = Log(CLOCK)
    _say_load(log)
    _say_graphs(log, "cuda graph", GRAPH_S, 5.6, avail_gb=20.9)
    _say_draft(log)
    _say_http(log)
    return _events(log, END_S, *_answers())


def crashed() -> Iterator[Event]:
    """Yield the start in which somebody else's process fills GPU 5 during the graph capture."""
    log = Log(CLOCK)
    _say_load(log)
    _say_graphs(log, "cuda graph", GRAPH_S, 5.6, avail_gb=20.9, until_s=CRASH_S)
    _say_crash(log)
    exited = Exited(
        CLOCK.at_ns(CRASH_END_S), CLOCK.wall_at_ns(CRASH_END_S), MAIN_PID, None, 9, oom_killed=False
    )
    return _events(log, CRASH_END_S, exited)


def _events(log: Log, end_s: float, *answers: Event) -> Iterator[Event]:
    written = list(log.events())
    times = [event.at_ns for event in written]
    sizes = [0, *accumulate(len(event.data) for event in written)]
    begun = Begun(
        CLOCK.at_ns(0), CLOCK.wall_ns, SPEC, MAIN_PID, 120_964_100, is_launched=True,
        log="/logs/kimi-eagle3.log",
    )  # fmt: skip
    samples = sample_every_second(
        CLOCK,
        workers(),
        end_s=end_s,
        log_size=lambda at_ns: sizes[bisect_right(times, at_ns)],
        ports=lambda at_s: (PORT,) if at_s >= HTTP_S else (),
        memory_bytes=free_memory(),
    )
    refused: list[Event] = []
    for second in range(15, int(min(end_s, HTTP_S)), 15):
        at_ns = CLOCK.at_ns(second)
        refused += [Health(at_ns, None, "connection refused"), PortOwner(at_ns, PORT, None)]
    return join_events(iter([begun]), iter(written), samples, iter([*refused, *answers]))


def _read(name: str, **values: object) -> str:
    text = files("firedup.demo").joinpath("replay", name).read_text(encoding="utf-8")
    return text.format(site="/opt/sglang/lib/python3.12/site-packages", **values)


def _say_load(log: Log) -> None:
    rng = random.Random(SEED)  # noqa: S311 - small differences between ranks, no secret
    log.say(ARGS_S, _read("server-args.txt", model=MODEL, draft=DRAFT, port=PORT).rstrip())
    for rank in RANKS:
        begin = DIST_S + rng.uniform(0, 1.8)
        log.say(begin, "Init torch distributed begin.", rank)
        log.write(
            DIST_S + 2.1 + rank * 0.01,
            f"[Gloo] Rank {rank} is connected to 7 peer ranks. "
            "Expected number of connected peer ranks is : 7\n",
        )
        end = DIST_S + 10.4 + rng.uniform(0, 0.3)
        text = f"Init torch distributed ends. elapsed={end - begin:.2f} s, mem usage=1.92 GB"
        log.say(end, text, rank)
        log.say(end + 0.9, "Ignore import error when loading sglang.srt.models.mindspore: "
                "No module named 'mindspore'", rank)  # fmt: skip
        begin = LOAD_S + rng.uniform(0, 0.8)
        log.say(begin, f"Load weight begin. avail mem={137.31 - rank * 0.01:.2f} GB", rank)
        end = LOADED_S + LATE_S[rank]
        log.say(
            end,
            f"Load weight end. elapsed={end - begin:.2f} s, type=KimiK25ForConditionalGeneration,"
            f" dtype=torch.bfloat16, avail mem={64.92 - rank * 0.01:.2f} GB, mem usage=72.39 GB.",
            rank,
        )
        pool = POOL_S + rng.uniform(0, 0.5)
        log.say(pool, "KV Cache is allocated. #tokens: 658944, KV size: 43.12 GB", rank)
        log.say(pool + 0.4, f"Memory pool end. avail mem={21.36 - rank * 0.01:.2f} GB", rank)
    log.say(
        ARGS_S + 14.0,
        "Using default HuggingFace chat template with detected content format: openai",
    )
    log.say(POOL_S - 0.2, "Using KV cache dtype: torch.bfloat16", 0)
    for shard in range(SHARDS + 1):
        at_s = BAR_S + (BAR_FULL_S - BAR_S) * shard / SHARDS
        log.write(at_s, _shard_bar(shard, SHARDS, at_s - BAR_S))


def _shard_bar(done: int, total: int, elapsed_s: float) -> str:
    """Return the bar as SGLang up to 0.5.9 writes it: each step is a line of its own."""
    return (
        f"\rLoading safetensors checkpoint shards: {done * 100 // total:3d}% Completed"
        f" | {done}/{total} [{render_pace(done, total, elapsed_s)}]\n"
    )


def _say_graphs(
    log: Log, what: str, at_s: float, step_s: float, *, avail_gb: float, until_s: float = END_S
) -> None:
    """Write one set of graphs: begin and end of every rank, the bar of rank 0, up to `until_s`."""
    end_s = at_s + 0.9 + step_s * len(SIZES)
    for rank in RANKS:
        begin, end = at_s + rank * 0.04, end_s + 0.1 + rank * 0.03
        text = f"Capture {what} begin. This can take up to several minutes."
        log.say(begin, f"{text} avail mem={avail_gb:.2f} GB", rank)
        if end < until_s:
            text = f"Capture {what} end. Time elapsed: {end - begin:.2f} s. mem usage=1.84 GB."
            log.say(end, f"{text} avail mem={avail_gb - 1.84:.2f} GB.", rank)
    if what == "cuda graph":
        log.say(at_s + 0.5, f"Capture cuda graph bs {sorted(SIZES)}", 0)
    total = len(SIZES)
    for done in range(total + 1):
        at_bar_s = at_s + 0.9 + step_s * done
        if at_bar_s >= until_s:
            return
        free_gb = avail_gb - 1.84 * done / total
        log.write(
            at_bar_s,
            f"\rCapturing batches (bs={SIZES[min(done, total - 1)]} avail_mem={free_gb:.2f} GB):"
            f" {done * 100 // total:3d}%|{render_bar(done, total)}|"
            f" {done}/{total} [{render_pace(done, total, step_s * done)}]"
            + ("\n" if done == total else ""),
        )


def _say_draft(log: Log) -> None:
    for rank in RANKS:
        at_s = DRAFT_S + rank * 0.05
        log.say(at_s, "SPECULATIVE_MOE_RUNNER_BACKEND is not initialized, using auto backend", rank)
        log.say(at_s + 0.4, "Load weight begin. avail mem=19.05 GB", rank)
        log.say(
            at_s + 4.3,
            "Load weight end. elapsed=3.90 s, type=LlamaForCausalLMEagle3, dtype=torch.bfloat16,"
            " avail mem=18.33 GB, mem usage=0.72 GB.",
            rank,
        )
        text = "KV Cache is allocated. #tokens: 658944, K size: 0.16 GB, V size: 0.16 GB"
        log.say(at_s + 5.2, text, rank)
        log.say(at_s + 5.4, "Memory pool end. avail mem=18.01 GB", rank)
    log.write(DRAFT_S + 0.6, _shard_bar(0, 1, 0.0))
    log.write(DRAFT_S + 3.8, _shard_bar(1, 1, 3.2))
    _say_graphs(log, "draft cuda graph", DRAFT_GRAPH_S, 2.25, avail_gb=17.9)
    _say_graphs(log, "draft extend cuda graph", EXTEND_GRAPH_S, 1.32, avail_gb=16.1)


def _say_http(log: Log) -> None:
    log.say(
        HTTP_S - 1.1,
        "max_total_num_tokens=658944, chunked_prefill_size=8192, max_prefill_tokens=16384,"
        " max_running_requests=48, context_len=262144, available_gpu_mem=14.26 GB",
        0,
    )
    for delay_s, text in (
        (-0.3, f"Started server process [{MAIN_PID}]"),
        (-0.3, "Waiting for application startup."),
        (-0.1, "Application startup complete."),
        (0.0, f"Uvicorn running on http://127.0.0.1:{PORT} (Press CTRL+C to quit)"),
        (1.0, '127.0.0.1:49222 - "GET /model_info HTTP/1.1" 200 OK'),
        (4.9, '127.0.0.1:49230 - "POST /generate HTTP/1.1" 200 OK'),
        (6.3, '127.0.0.1:49254 - "GET /health HTTP/1.1" 200 OK'),
        (7.2, '127.0.0.1:49268 - "POST /v1/completions HTTP/1.1" 200 OK'),
    ):
        log.say(HTTP_S + delay_s, f"INFO:     {text}")
    for at_s in (HTTP_S + 1.2, HTTP_S + 5.4, HTTP_S + 7.0):
        log.say(at_s, "Prefill batch, #new-seq: 1, #new-token: 64, #cached-token: 0, token usage:"
                " 0.00, #running-req: 0, #queue-req: 0, ", 0)  # fmt: skip
    log.say(READY_S, "The server is fired up and ready to roll!")
    # A step takes 28.8 ms, so 40 steps take 1.15 s and an acceptance length of 1.5 is 52 tokens/s.
    for n, length in enumerate((1.48, 1.55, 1.50, 1.45, 1.58, 1.52, 1.50, 1.42)):
        log.say(
            READY_S + 4.0 + 1.152 * (n + 1),
            f"Decode batch, #running-req: 1, #token: {64 + 60 * n}, token usage: 0.00, accept len:"
            f" {length:.2f}, accept rate: {length / 4:.2f}, cuda graph: True, gen throughput"
            f" (token/s): {length / 0.0288:.2f}, #queue-req: 0, ",
            0,
        )


def _answers() -> tuple[Event, ...]:
    """Return what the probes of the start that comes up learn, in order."""
    at = CLOCK.at_ns
    acceptance = Acceptance(
        length=1.5, rate=160 / 960, accepted=160, proposed=960, steps=320,
        source="avg_spec_accept_length of /server_info",
    )  # fmt: skip
    return (
        PortOwner(at(HTTP_S + 0.6), PORT, Ownership.YES, MAIN_PID, "sglang serve"),
        Health(at(HTTP_S + 0.7), 503),
        Health(at(HTTP_S + 6.3), 200),
        Token(
            at(HTTP_S + 7.2),
            has_answered=True,
            route="/v1/completions",
            text=" Paris",
            tokens=1,
            seconds=0.21,
        ),
        Accepted(at(READY_S + 14.5), acceptance),
    )


def _say_crash(log: Log) -> None:
    """Write the death: the cause in rank 5, the wrapper of the main process, then the victims."""
    log.say(CRASH_S, _read("cause.txt", other=1873345).rstrip("\n") + "\n", 5)
    text = "Received sigquit from a child process. It usually means the child failed."
    log.say(CRASH_S + 0.04, text)
    for n, rank in enumerate((2, 7, 0, 4)):
        text = _read("victim.txt", port=40321 + n).rstrip("\n") + "\n"
        log.say(CRASH_S + 0.11 + n * 0.05, text, rank)
