"""Servers in Slurm jobs: the stand-in ends all that a step started, as Slurm does."""

import json
import os
from pathlib import Path

import pytest
from workbench import Knowledge, Site, free_port, last_of, recorded

from firedup.core.model import Verdict
from firedup.host.address import parse_host
from firedup.host.link import open_agent
from firedup.session.registry import find_run
from firedup.session.stop import stop_run

STANDIN = Path(__file__).parent.parent / "standin"


@pytest.fixture(autouse=True)
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "standin"
    folder.mkdir()
    (folder / "jobs.json").write_text(json.dumps({"7": ["RUNNING", "gpu1"]}))
    monkeypatch.setenv("PATH", f"{STANDIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_FOLDER", str(folder))


async def test_a_server_in_a_job_outlives_the_step_that_launched_it(
    state: Path, knowledge: Knowledge, tmp_path: Path
) -> None:
    port = free_port()
    async with open_agent(parse_host("slurm:7")) as agent:
        site = Site(agent, knowledge, tmp_path / "bin", port)
        run = await site.launch(site.serve(site.fake(recorded("s01_success.log"))))

    async with open_agent(parse_host("slurm:7")) as agent:
        site = Site(agent, knowledge, tmp_path / "bin", port)
        again = await find_run(agent, run.label.id)
        was_alive = again.state.is_server_alive and again.state.is_keeper_alive
        ready = await last_of(site.watch(again))
        ended = await stop_run(agent, knowledge.catalogue, again, say=lambda _: None)

    assert was_alive
    assert ready.explanation.verdict is Verdict.READY
    assert any("step of job 7" in note for note in ready.explanation.notes)
    assert ended is not None
