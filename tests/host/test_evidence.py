"""What samples tell of a server besides CPU time: faults, titles, disks, groups, shards, GPUs."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from shutil import which

import pytest
from children import child

from firedup.core.event import Sample
from firedup.host.agent.kernel import is_about
from firedup.host.agent.nvml import Nvml
from firedup.host.agent.shard import Shards, list_shards
from firedup.host.base import local_host
from firedup.host.link import Agent, open_agent
from firedup.host.process import watch_tree

LIMIT_S = 60.0
# Memory and use grow with every look, so that a reading can be told from the one before.
NVML = r"""
#include <string.h>
typedef struct { unsigned long long total, free, used; } memory_t;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned pid; unsigned long long used; unsigned a, b; } user_t;
static unsigned long long looks;
static int devices[2];
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{ *handle = &devices[index]; return 0; }
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *memory)
{
    looks++;
    memory->total = 1ull << 37;
    memory->used = (looks << 30) + ((int *)handle - devices);
    return 0;
}
int nvmlDeviceGetUtilizationRates(void *handle, rates_t *rates)
{ if (handle == &devices[1]) return 3; rates->gpu = 97; rates->memory = 12; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, user_t *users)
{
    if (*count < 2) return 7;
    memset(users, 0, 2 * sizeof(user_t));
    users[0].pid = PID;
    users[0].used = 5ull << 30;
    users[1].pid = 4000000;
    users[1].used = ~0ull;
    *count = 2;
    return 0;
}
"""


async def sample_until(
    agent: Agent, pid: int, log: Path, is_enough: Callable[[Sample], bool]
) -> Sample:
    samples = watch_tree(agent, pid, every_s=0.05, log=str(log))
    async with asyncio.timeout(LIMIT_S), aclosing(samples):
        async for sample in samples:
            if is_enough(sample):
                return sample
    raise AssertionError("the process ended")


def make_nvml(folder: Path, pid: int) -> Path:
    compiler = which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = folder / "nvml.c", folder / "libnvidia-ml.so.1"
    source.write_text(NVML.replace("PID", str(pid)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


async def test_faults_threads_and_shared_memory_of_a_process_are_told(
    agent: Agent, tmp_path: Path
) -> None:
    code = (
        "import mmap, threading, time\n"
        "m = mmap.mmap(-1, 32 << 20)\n"
        "m[:: 4096] = bytes(len(m[:: 4096]))\n"
        "threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "print(1, flush=True)\n"
        "time.sleep(60)\n"
    )
    async with child(sys.executable, "-c", code) as process:
        sample = await sample_until(agent, process.pid, tmp_path / "log", lambda _: True)
    (facts,) = sample.processes

    assert facts.threads == 2
    assert facts.shared_bytes is not None
    assert facts.shared_bytes >= 32 << 20
    assert facts.minor_faults is not None
    assert facts.minor_faults >= 32 << 8  # a fault for each page that was written


async def test_a_title_that_the_kernels_name_cuts_is_told_whole(
    agent: Agent, tmp_path: Path
) -> None:
    title = "sglang::scheduler_TP3"
    code = (
        "import ctypes, time\n"
        f"ctypes.CDLL(None).prctl(15, {title.encode()!r}, 0, 0, 0)\n"
        "print(1, flush=True)\n"
        "time.sleep(60)\n"
    )
    shell = f'exec -a {title} {sys.executable} -c "$1"'
    async with child("bash", "-c", shell, "bash", code) as process:
        sample = await sample_until(agent, process.pid, tmp_path / "log", lambda _: True)

    assert (sample.processes[0].name, sample.processes[0].title) == (title[:15], title)


async def test_disks_and_the_control_groups_memory_are_told_once_until_they_change(
    agent: Agent, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    log.write_text("x")
    seen: list[Sample] = []
    async with child(
        sys.executable, "-c", "import time; print(1, flush=True); time.sleep(60)"
    ) as process:
        await sample_until(agent, process.pid, log, lambda s: seen.append(s) or len(seen) == 3)

    assert [len(sample.disks) > 0 for sample in seen] == [True, False, False]
    assert str(tmp_path) in [disk.path for disk in seen[0].disks]
    assert all(0 < disk.free_bytes <= disk.total_bytes for disk in seen[0].disks)
    if seen[0].group is not None:
        assert seen[0].group.used_bytes > 0


async def test_gpus_are_read_from_the_drivers_library(
    state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with child("sh", "-c", "echo; sleep 60 & wait") as process:
        library = make_nvml(tmp_path, process.pid)
        monkeypatch.setenv("FIREDUP_NVML", str(library))
        async with open_agent(local_host()) as agent:
            sample = await sample_until(
                agent, process.pid, tmp_path / "log", lambda s: bool(s.gpus and s.gpus[0].users)
            )
    first, second = sample.gpus

    assert (first.index, first.use, first.total_bytes) == (0, 97, 1 << 37)
    assert first.used_bytes >= 1 << 30
    assert second.use is None  # this one does not say
    assert first.users == ((process.pid, 5 << 30),)  # others' processes are left out


def test_a_driver_without_the_calls_is_no_gpu(tmp_path: Path) -> None:
    with pytest.raises(AttributeError):
        Nvml("libc.so.6")
    with pytest.raises(OSError, match="nothing"):
        Nvml("/nothing/libnvidia-ml.so.1")


def test_the_open_shard_of_a_process_and_its_offset_are_found(tmp_path: Path) -> None:
    shard = tmp_path / "model-00012-of-00064.safetensors"
    shard.write_bytes(bytes(1000))
    with shard.open("rb") as file, (tmp_path / "config.json").open("w"):
        os.lseek(file.fileno(), 700, os.SEEK_SET)

        assert list_shards(os.getpid()) == [{"pid": os.getpid(), "path": str(shard), "offset": 700}]


def test_shards_are_looked_for_only_in_silence_and_only_among_readers(tmp_path: Path) -> None:
    with (tmp_path / "a.gguf").open("wb"):
        shards = Shards()

        def look(second: int, *, log: int = 5, read: int = 0) -> bool:
            process = {"pid": os.getpid(), "state": "S", "read_bytes": read, "rss_bytes": 1}
            sample = {"at_ns": second * 10**9, "log_size": log, "processes": [process]}
            return shards.look(sample) is not None

        assert not look(0)
        assert not look(9)
        assert look(11)
        assert not look(12, read=8)  # too soon
        assert not look(17)  # nothing was read, and nothing is new
        assert not look(18, log=6)


@pytest.mark.parametrize(
    ("line", "is_ours"),
    [
        ("Out of memory: Killed process 41 (python3) total-vm:9kB", True),
        ("Memory cgroup out of memory: Killed process 42 (python3) total-vm:9kB", False),
        ("Out of memory: Killed process 41 (mysqld) total-vm:9kB", False),
        ("python3[41]: segfault at 0 ip 0000 sp 0000 error 4 in libcuda.so", True),
        ("INFO: task python3:41 blocked for more than 120 seconds.", True),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=7, GPU has fallen off the bus.", True),
        ("usb 1-1: new device 41 of python3", False),
    ],
)
def test_kernel_lines_about_the_server_are_known(line: str, *, is_ours: bool) -> None:
    assert is_about(line, {41: "python3"}) is is_ours
