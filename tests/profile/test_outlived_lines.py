"""What libraries complain about and outlive is no crash, wherever a log that goes on was cut."""

from pathlib import Path

import pytest
from compiled import builtin_matcher

from firedup.core.event import Ended, LogData
from firedup.core.model import Verdict
from firedup.profile.pipeline import Pipeline

RUNS = Path(__file__).parent.parent / "data" / "engine-runs"
LOADING = {
    "sglang": ("sglang/s01_success.log", b"The server is fired up and ready to roll!"),
    "vllm": ("vllm/a_base.log", b"Application startup complete."),
}
OUTLIVED = [
    # NCCL leaves out a device, a way or a setting, and goes on.
    "gpu1:412:530 [0] transport/net_ib/init.cc:600 NCCL WARN NET/IB : Unable to open device mlx5_3",
    "gpu1:412:530 [0] misc/ibvwrap.cc:94 NCCL WARN Call to ibv_open_device failed",
    "gpu1:412:530 [0] NCCL WARN NET/IB : mlx5_0:1 Got non-fatal async event: port active(9)",
    "gpu1:412:530 [0] misc/cudawrap.cc:36 NCCL WARN Cuda failure 3 'initialization error'",
    "gpu1:412:530 [0] NCCL WARN Could not find real path of /sys/class/net/eth9/device",
    "gpu1:412:530 [0] init.cc:70 NCCL WARN NCCL_BUFFSIZE set by environment to 8388608.",
    (
        "gpu1:412:530 [0] NCCL INFO socketPollConnect: connect to 10.0.0.2<41234> returned"
        " Connection refused, retrying (3/34) after sleep for 300 msec"
    ),
    # A rank that is not up yet is asked again.
    (
        "[/pytorch/third_party/gloo/gloo/transport/tcp/debug_logger.cc:9] ERROR failed to connect,"
        " willRetry=1, retry=1, retryLimit=3, rank=6, size=8, local=[10.0.0.1]:12337,"
        " remote=[10.0.0.1]:24866$6, error=SO_ERROR: Connection refused"
    ),
    (
        "[rank8]:[W1129 10:01:04.120000 TCPStore.cpp:343] [c10d] TCP client failed to "
        "connect/validate to host 10.0.0.7:20000 - retrying (try=3,"
        " timeout=600000ms, delay=4031ms): Connection refused"
    ),
    # UCX, the loader and Ray say what they go on without.
    "[1764410430.123456] [gpu1:452  :0]  ib_md.c:309  UCX  ERROR ibv_open_device(mlx5_3) failed",
    (
        "ERROR: ld.so: object 'libjemalloc.so.2' from LD_PRELOAD cannot be preloaded (cannot open"
        " shared object file): ignored."
    ),
    (
        "(raylet) [2026-11-29 10:00:00,000 E 412 440] (raylet) file_system_monitor.cc:116:"
        " /tmp/ray/session_2026 is over 95% full, available space: 20.1 GB; capacity: 1800.0 GB."
        " Object creation will fail if spilling is required."
    ),
    (
        "(raylet) 0 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed"
        " due to other reasons at node (ID: 3f1c, IP: 10.0.0.2) over the last time period."
    ),
    "tcmalloc: large alloc 17179869184 bytes == 0x55d0c8000 @ 0x7f3a 0x7f3b",
    "WARN: IBGDA unavailable, using another transport",
]


@pytest.mark.parametrize("line", OUTLIVED)
@pytest.mark.parametrize("engine", LOADING)
def test_a_log_that_ends_with_it_is_still_loading(engine: str, line: str) -> None:
    log, ready = LOADING[engine]
    data = (RUNS / log).read_bytes()
    before = data[: data.rindex(b"\n", 0, data.index(ready)) + 1]
    pipeline = Pipeline(builtin_matcher(), year=2026)

    for event in (LogData(0, 0, 0, before + line.encode() + b"\n"), Ended(0)):
        pipeline.feed(event)

    assert pipeline.snapshot(0).explanation.verdict is Verdict.LOADING
