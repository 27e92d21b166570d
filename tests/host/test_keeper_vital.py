"""A keeper misses a part of its server when the core does, and tells of it once nothing comes."""

import json
import os
import shutil
import signal
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from ear import Ear, recipe
from hypothesis import given
from hypothesis import strategies as st
from launched import samples_of

from firedup.core.event import Sample
from firedup.core.model import Process
from firedup.core.verdict.vital import PATIENCE_S, STEADY_S
from firedup.core.verdict.vital import Vitals as CoreVitals
from firedup.host.agent.vital import Vitals
from firedup.host.link import Agent
from firedup.host.manifest import VitalParts

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host.conftest import Launcher

NS = 1_000_000_000
NAMES = ("VLLM::EngineCore", "VLLM::Worker")
trees = st.lists(
    st.tuples(
        st.integers(2, 5),  # pid
        st.sampled_from([1, 1, 2, 3]),  # its parent
        st.sampled_from(["VLLM::EngineCore_DP0", "VLLM::EngineCor", "x_TP1", "VLLM::Worker", "sh"]),
        st.sampled_from("SSSRZ"),
    ),
    max_size=4,
    unique_by=lambda row: row[0],
)


@given(st.lists(st.tuples(st.sampled_from([1, 1, 1, 5, 12]), trees), max_size=10))
def test_a_keeper_misses_what_the_core_does(rows: list[Any]) -> None:
    at_s, core = 100, CoreVitals(NAMES)
    parts = VitalParts(NAMES, PATIENCE_S, STEADY_S)
    keeper = Vitals(msgspec.to_builtins(parts))
    for more_s, tree in rows:
        at_s += more_s
        root = Process(1, 1, 0, "python3", "S", 0.0, 0)
        below = [
            Process(
                pid, 1, parent, name[:15], state, 0.0, 0, title=name if len(name) > 15 else None
            )
            for pid, parent, name, state in tree
        ]
        sample = Sample(at_s * NS, 0, 0, (root, *below))
        core.feed(sample)
        keeper.feed(json.loads(msgspec.json.encode(sample)))

        told, found = core.find_loss(sample.at_ns), keeper.find_loss(sample.at_ns)
        assert (told and (told.gone_ns, told.process.pid)) == (
            found and (found[0], found[1]["pid"])
        )


async def test_an_engine_that_dies_behind_its_server_is_a_crash_that_is_told(
    agent: Agent, launch: "Launcher", ear: Ear, tmp_path: "Path"
) -> None:
    worker = shutil.copy(shutil.which("sleep") or "/bin/sleep", tmp_path / "worker_TP0")
    order = replace(recipe(), vital=VitalParts((), 0.0, 0.0))
    launched = await launch(
        "sh", "-c", f"echo fired up; {worker} 600 & exec sleep 600", notify=(ear.url,), recipe=order
    )
    await ear.hear("ready")
    async with samples_of(agent, launched) as samples:
        async for sample in samples:
            found = [p.pid for p in sample.processes if p.name == "worker_TP0"]
            if found:
                break
    os.kill(found[0], signal.SIGKILL)

    told = await ear.hear("crashed")

    assert (told["verdict"], told["stage"]) == ("crashed", "serving")
    assert told["cause"]["line"] == f"worker_TP0 (pid {found[0]}) was ended by signal 9"
    assert told["served_s"] >= 0
    assert ear.events == ["ready", "crashed"]  # its main process goes on
