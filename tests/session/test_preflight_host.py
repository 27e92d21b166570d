"""What the host has against a launch: each check fires on a real file, process or library."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from workbench import Knowledge

from firedup.core.difference import Launch, compare_launches
from firedup.core.error import RefusedError
from firedup.core.model import Finding, ServerSpec, Severity
from firedup.host.base import local_host
from firedup.host.file import check_paths
from firedup.host.link import Agent, open_agent
from firedup.session.launch import find_problems, refuse_doomed, spec_of
from firedup.session.nodes_launch import check_nodes
from firedup.session.order import Order
from firedup.session.preflight import note_facts
from firedup.session.preflight_advice import advise_watchdog
from firedup.session.preflight_host import Facts
from firedup.session.preflight_package import check_packages, meets
from firedup.session.preflight_room import Limits, check_disk, check_memory, check_shared

SHARED = Path("/dev/shm")
GIB = 1 << 30
NVML = """
typedef unsigned long long u64;
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle)
{ *handle = (void *)(u64)(index + 1); return 0; }
int nvmlDeviceGetMemoryInfo(void *handle, u64 *memory)
{
    memory[0] = 80ULL << 30; memory[2] = handle == (void *)1 ? 60ULL << 30 : 100;
    memory[1] = memory[0] - memory[2]; return 0;
}
int nvmlDeviceGetUtilizationRates(void *handle, unsigned *rates) { rates[0] = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *handle, unsigned *count, u64 *entries)
{
    *count = handle == (void *)1 ? 1 : 0;
    if (*count) { entries[0] = PID; entries[1] = 60ULL << 30; entries[2] = 0; }
    return 0;
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Weights of 200 GiB, which take no space: a file with a hole."""
    path = tmp_path / "model.bin"
    with path.open("wb") as file:
        file.truncate(200 * GIB)
    return path


def serve(engine: str, model: Path | str, *flags: str) -> Order:
    option = {"vllm": "--model", "sglang": "--model-path", "llama-cpp": "--model"}[engine]
    return Order((sys.executable, option, str(model), *flags), engine=engine)


class Doctor:
    def __init__(self, agent: Agent, knowledge: Knowledge) -> None:
        self.agent, self.knowledge = agent, knowledge

    async def ask(self, order: Order) -> dict[str, Finding]:
        found = await find_problems(self.agent, self.knowledge.catalogue, order)
        return {finding.id: finding for finding in found}


@pytest.fixture
def doctor(agent: Agent, knowledge: Knowledge) -> Doctor:
    return Doctor(agent, knowledge)


@pytest.fixture(scope="module")
def holder() -> Iterator[int]:
    """A process that lives on after the shell that began it: its parent is another."""
    done = subprocess.run(
        ["sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!"], capture_output=True, check=True
    )
    pid = int(done.stdout)
    yield pid
    os.kill(pid, 9)


@pytest.fixture
async def gpus(
    state: Path,
    knowledge: Knowledge,
    tmp_path: Path,
    holder: int,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Doctor]:
    """A host with two GPUs of 80 GiB, 60 of them held on the first by an orphan."""
    compiler = which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    source, library = tmp_path / "nvml.c", tmp_path / "libnvidia-ml.so.1"
    source.write_text(NVML.replace("PID", str(holder)))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    monkeypatch.setenv("FIREDUP_NVML", str(library))
    async with open_agent(local_host()) as agent:
        yield Doctor(agent, knowledge)


async def test_a_gpu_that_an_orphan_holds_dooms_a_server_that_wants_it(
    gpus: Doctor, holder: int
) -> None:
    found = await gpus.ask(serve("vllm", "org/model"))
    parent = int(Path(f"/proc/{holder}/stat").read_text().rsplit(")", 1)[1].split()[1])
    held = found["gpu-orphan" if parent == 1 else "gpu-memory-in-use"]

    assert held.severity is Severity.SEVERE
    assert f"60.0 GiB of 80.0 GiB in use by pid {holder} (sleep)" in held.evidence[0].text
    assert f"kill {holder}" in str(held.remedy)


async def test_what_is_free_is_only_a_risk_to_a_server_that_takes_its_share_of_it(
    gpus: Doctor,
) -> None:
    found = await gpus.ask(serve("sglang", "org/model"))

    assert {f.severity for name, f in found.items() if "gpu" in name} == {Severity.WARNING}


async def test_the_other_gpu_is_free(gpus: Doctor) -> None:
    order = replace(serve("vllm", "org/model"), env=(("CUDA_VISIBLE_DEVICES", "1"),))

    assert not [name for name in await gpus.ask(order) if "gpu" in name]


async def test_more_ranks_than_gpus_are_refused(gpus: Doctor) -> None:
    found = await gpus.ask(serve("vllm", "org/model", "--tensor-parallel-size", "4"))

    assert found["gpus-too-few"].severity is Severity.SEVERE
    assert "2 GPUs are visible" in found["gpus-too-few"].evidence[0].text


async def test_weights_that_no_gpu_has_room_for_are_refused(gpus: Doctor, model: Path) -> None:
    tight = await gpus.ask(serve("sglang", model, "--tp", "2"))
    higher = await gpus.ask(serve("sglang", model, "--tp", "2", "--cpu-offload-gb", "64"))

    assert "100.0 GiB" in tight["weights-exceed-gpu-memory"].evidence[0].text
    assert tight["weights-exceed-gpu-memory"].severity is Severity.SEVERE
    assert "weights-exceed-gpu-memory" not in higher


async def test_a_check_that_is_skipped_finds_nothing(gpus: Doctor) -> None:
    order = serve("vllm", "org/model")

    assert await gpus.ask(replace(order, skips=("gpus",))) == {}
    assert await gpus.ask(replace(order, argv=("no-such-program",), skips=("all",))) == {}


async def test_what_dooms_is_refused_and_what_is_risky_is_told(gpus: Doctor) -> None:
    told: list[Finding] = []
    with pytest.raises(RefusedError, match="GPU 0"):
        await refuse_doomed(
            gpus.agent, gpus.knowledge.catalogue, serve("vllm", "org/model"), heed=told.append
        )
    assert told == []

    await refuse_doomed(
        gpus.agent, gpus.knowledge.catalogue, serve("sglang", "org/model"), heed=told.append
    )

    assert len(told) == 1


async def test_weights_larger_than_the_hosts_memory_are_refused_where_they_stay_there(
    doctor: Doctor, tmp_path: Path
) -> None:
    model = tmp_path / "model.bin"
    with model.open("wb") as file:
        file.truncate(10_000 * GIB)  # a file with a hole, which takes no space

    found = await doctor.ask(serve("vllm", model))
    mapped = await doctor.ask(serve("llama-cpp", model))

    assert found["host-memory-small"].severity is Severity.SEVERE
    assert "10000.0 GiB of weights" in found["host-memory-small"].evidence[0].text
    assert mapped["host-memory-small"].severity is Severity.WARNING


def test_the_limit_of_a_control_group_counts_where_it_is_tighter() -> None:
    group = {"limit_bytes": 16 * GIB, "usage_bytes": 3 * GIB, "inactive_file_bytes": GIB}
    memory: dict[str, Any] = {
        "total_bytes": 512 * GIB,
        "available_bytes": 400 * GIB,
        "cgroup": group,
    }
    spec = ServerSpec(engine="vllm")

    (tight,) = check_memory(memory, spec, 15 * GIB, has_gpus=False)
    (doomed,) = check_memory(memory, spec, 17 * GIB, has_gpus=False)

    assert (tight.severity, doomed.severity) == (Severity.WARNING, Severity.SEVERE)
    assert "14.0 GiB free of 16.0 GiB (control group)" in tight.evidence[0].text
    assert check_memory(memory, spec, 17 * GIB, has_gpus=True) == []


async def test_a_disk_without_space_for_the_log_is_told(agent: Agent, tmp_path: Path) -> None:
    (facts,) = await check_paths(agent, (str(tmp_path),))
    free = facts.free_bytes

    (low,) = check_disk([("log", facts)], Limits(disk_risky=2 * free))
    (full,) = check_disk([("log", facts)], Limits(disk_doomed=2 * free, disk_risky=2 * free))

    assert (low.id, low.severity) == ("disk-low", Severity.WARNING)
    assert (full.id, full.severity) == ("disk-full", Severity.SEVERE)
    assert facts.mount in full.evidence[0].text
    assert check_disk([("log", facts)], Limits(disk_risky=1)) == []


async def test_shared_memory_that_is_small_for_the_ranks_is_told(agent: Agent) -> None:
    memory = await agent.call("memory")
    free = memory["shm"]["free_bytes"]
    many, one = ServerSpec(engine="vllm", tensor_parallel=8), ServerSpec(engine="vllm")

    (risky,) = check_shared(memory, many, Limits(shared_doomed_per_rank=1, shared_risky=2 * free))
    (doomed,) = check_shared(memory, many, Limits(shared_doomed_per_rank=free))

    assert (risky.severity, doomed.severity) == (Severity.WARNING, Severity.SEVERE)
    assert check_shared(memory, one, Limits(shared_doomed_per_rank=free)) == []


async def test_shared_memory_that_no_process_has_is_told_and_that_of_a_living_one_is_not(
    doctor: Doctor,
) -> None:
    if shutil.disk_usage(SHARED).free < GIB // 2:
        pytest.skip("/dev/shm is too small here")
    left, held = SHARED / f"psm_left_{os.getpid()}", SHARED / f"psm_held_{os.getpid()}"
    try:
        for path in (left, held):
            path.write_bytes(bytes(70 << 20))
            old_s = time.time() - 3600
            os.utime(path, (old_s, old_s))
        with held.open("rb"):
            found = await doctor.ask(serve("vllm", "org/model"))
    finally:
        left.unlink()
        held.unlink()

    (evidence,) = found["shared-memory-left-behind"].evidence
    assert str(left) in evidence.text
    assert str(held) not in evidence.text
    assert found["shared-memory-left-behind"].severity is Severity.WARNING


def make_environment(folder: Path, packages: dict[str, tuple[str, list[str]]]) -> Path:
    """A virtual environment with the metadata of `packages` and an engine's program."""
    site = folder / "lib" / "python3.12" / "site-packages"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python3").symlink_to(sys.executable)
    program = folder / "bin" / "sglang"
    program.write_text(f"#!{folder}/bin/python3\n")
    program.chmod(0o755)
    for name, (version, requires) in packages.items():
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        lines = [f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {need}" for need in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n\nAbout it.\n")
    return program


async def test_a_kernel_package_that_the_engine_cannot_use_is_refused(
    doctor: Doctor, tmp_path: Path
) -> None:
    needs = ["sgl-kernel==0.3.21", "torch==2.9.1", 'torchao==0.9; extra == "all"']
    packages = {
        "sglang": ("0.5.9", needs),
        "sgl-kernel": ("0.2.4", []),
        "torch": ("2.9.0+cu129", []),
    }
    program = make_environment(tmp_path / "venv", packages)
    order = Order((str(program), "serve", "--model-path", "org/model"))

    found = await find_problems(doctor.agent, doctor.knowledge.catalogue, order)
    told = {one.evidence[0].text: one.severity for one in found if one.id == "package-mismatch"}

    assert told == {
        "sglang 0.5.9 needs sgl-kernel==0.3.21; sgl-kernel 0.2.4 is installed": Severity.SEVERE,
        "sglang 0.5.9 needs torch==2.9.1; torch 2.9.0+cu129 is installed": Severity.WARNING,
    }


def test_packages_that_fit_are_not_told() -> None:
    packages = {
        "vllm": {"version": "0.15.0", "requires": ["torch==2.9.1", "flashinfer-python>=0.5,<1"]},
        "torch": {"version": "2.9.1+cpu", "requires": []},
        "flashinfer-python": {"version": "0.6.2", "requires": []},
    }

    assert check_packages("vllm", packages) == []
    assert check_packages("llama-cpp", packages) == []


@pytest.mark.parametrize(
    ("version", "bounds", "is_met"),
    [
        ("2.9.1+cu128", "==2.9.1", True),
        ("2.9", "==2.9.0", True),
        ("2.9.1", "==2.9.*", True),
        ("2.10.0", "==2.9.*", False),
        ("0.4.0", ">=0.3,<0.4", False),
        ("0.3.9", ">=0.3,<0.4", True),
        ("1.5", "~=1.4", True),
        ("2.0", "~=1.4", False),
        ("1.4.9", "~=1.4.2", True),
        ("1.0", "!=1.0", False),
        ("odd", ">=1", True),
        ("1.0", "", True),
    ],
)
def test_a_version_is_held_against_bounds(version: str, bounds: str, is_met: bool) -> None:
    assert meets(version, bounds) is is_met


async def test_what_a_later_start_is_compared_by_is_kept_with_the_run(
    doctor: Doctor, tmp_path: Path
) -> None:
    drafter = tmp_path / "draft"
    drafter.mkdir()
    weights = drafter / "model.bin"
    weights.write_bytes(b"a" * (1 << 20))
    program = make_environment(tmp_path / "venv", {"sglang": ("0.5.9", []), "torch": ("2.9.1", [])})
    words = ("serve", "--model-path", "org/model", "--speculative-draft-model-path", str(drafter))
    order = Order((str(program), *words))
    spec = spec_of(order, doctor.knowledge.catalogue)
    facts = Facts(doctor.agent, order, spec, str(tmp_path))

    first = await note_facts(facts)
    again = await note_facts(facts)
    weights.write_bytes(b"a" * (1 << 19) + b"b" * (1 << 19))
    trained = await note_facts(facts)
    sides = [Launch(order.argv, facts=tuple(one.items())) for one in (first, trained)]

    assert (first["sglang"], first["torch"]) == ("0.5.9", "2.9.1")
    assert first["kernel"] == os.uname().release
    assert first == again
    assert [change.name for change in compare_launches(*sides)] == ["drafter's files"]


async def test_the_soft_watchdog_is_suggested_where_the_installed_version_has_it(
    doctor: Doctor, tmp_path: Path
) -> None:
    program = make_environment(tmp_path / "venv", {"sglang": ("0.5.9", [])})
    order = Order((str(program), "serve", "--model-path", "org/model"), engine="sglang")

    found = (await doctor.ask(order))["soft-watchdog-off"]

    assert found.severity is Severity.NOTE
    assert found.evidence[0].text == "no --soft-watchdog-timeout, which sglang 0.5.9 has"
    assert found.remedy == "Add --soft-watchdog-timeout 300."
    assert "soft-watchdog-off" not in await doctor.ask(replace(order, skips=("watchdog",)))


async def test_of_several_nodes_each_one_s_risks_are_told_with_its_name(
    doctor: Doctor, tmp_path: Path
) -> None:
    program = make_environment(tmp_path / "venv", {"sglang": ("0.5.9", [])})
    order = Order((str(program), "serve", "--model-path", "org/model"), engine="sglang")
    told = []

    def heed(label: str, finding: Finding) -> None:
        told.append((label, finding.id))

    orders = [order, replace(order, skips=("watchdog",))]
    await check_nodes(doctor.knowledge.catalogue, [doctor.agent] * 2, orders, heed=heed)

    assert told == [("local#0", "soft-watchdog-off")]


@pytest.mark.parametrize(
    ("version", "flags", "is_told"),
    [
        ("0.5.6", (), False),
        ("0.5.7", (), True),
        ("0.5.23", ("--soft-watchdog-timeout=60",), False),
        ("0.5.23", ("--soft_watchdog", "60"), False),
        ("0.5.23", ("--watchdog-timeout", "60"), True),
    ],
)
def test_what_the_command_says_already_is_not_suggested(
    version: str, flags: tuple[str, ...], *, is_told: bool
) -> None:
    spec = ServerSpec(argv=("sglang", "serve", *flags), engine="sglang")

    assert bool(advise_watchdog(spec, {"sglang": {"version": version}})) is is_told
    assert advise_watchdog(spec, {}) == []
    assert advise_watchdog(replace(spec, engine="vllm"), {"sglang": {"version": version}}) == []
