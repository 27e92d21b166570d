"""Earlier starts are found in the run folders, and what they took forecasts the next one."""

from dataclasses import replace
from pathlib import Path

from earlier import ARGV, SPEC, leave_run, took
from workbench import Site

from firedup.core.forecast import StageTime, StartTimes
from firedup.core.model import Explanation, Snapshot, Stage, StageSpan, State, Verdict
from firedup.core.process import Process
from firedup.host.link import Agent
from firedup.session.forecaster import EVERY_NS, Forecaster, weigh_target
from firedup.session.past import fetch_starts, fetch_starts_of
from firedup.session.registry import find_run
from firedup.session.stop import stop_run
from firedup.testing.script import Http, Script, line

SECOND = 1_000_000_000
UP = Script((line(0, "The server is fired up and ready to roll!"),), Http(health=((0.0, 200),)))


def loading(seconds: float, read_bytes: int = 0) -> Snapshot:
    """A start that is loading weights, which began 10 s after the launch."""
    spans = (StageSpan(Stage.LOAD_WEIGHTS, 10 * SECOND, "host", None),)
    explanation = Explanation("sglang", None, Verdict.LOADING, Stage.LOAD_WEIGHTS, False, 0.9)
    now_ns = int(seconds * SECOND)
    return Snapshot(
        now_ns,
        now_ns,
        replace(explanation, stages=spans),
        state=State.STARTING,
        elapsed_s=seconds,
        processes=(Process(7, 1, 1, "sglang", "R", 0.0, 0, read_bytes=read_bytes),),
    )


async def test_starts_like_a_run_are_those_of_its_kind_that_came_up(agent: Agent) -> None:
    leave_run(1, **took(50.0, 80.0))
    leave_run(2, argv=(*ARGV, "--port", "30001"), **took(60.0, 90.0))
    leave_run(3, argv=(*ARGV, "--disable-cuda-graph"), **took(55.0, 60.0))
    leave_run(4, spec=replace(SPEC, model="org/other"), **took(1.0, 2.0))
    leave_run(5, verdict="crashed", ready_after_s=None, stages=[["args", 0.0, 3.0]])
    leave_run(6)
    run = await find_run(agent, leave_run(7))
    leave_run(8, **took(70.0, 100.0))

    found = await fetch_starts(agent, run)

    assert found == (
        StartTimes(60.0, (StageTime(Stage.LOAD_WEIGHTS, 10.0, 55.0),), has_same_flags=False),
        StartTimes(90.0, (StageTime(Stage.LOAD_WEIGHTS, 10.0, 60.0),)),
        StartTimes(80.0, (StageTime(Stage.LOAD_WEIGHTS, 10.0, 50.0),)),
    )


async def test_starts_like_a_server_that_somebody_else_started_are_found_too(
    agent: Agent,
) -> None:
    leave_run(1, **took(50.0, 80.0))
    leave_run(2, argv=(*ARGV, "--disable-cuda-graph"), **took(55.0, 60.0))
    leave_run(3, spec=replace(SPEC, model="org/other"), **took(1.0, 2.0))

    found = await fetch_starts_of(agent, replace(SPEC, argv=(*ARGV, "--port", "1")))

    assert [(start.ready_s, start.has_same_flags) for start in found] == [
        (60.0, False),
        (80.0, True),
    ]


def test_a_server_is_older_than_the_watch_over_it() -> None:
    starts = tuple(StartTimes(100.0 + n) for n in range(8))

    at_once = Forecaster(starts).look(loading(20.0)).eta
    later = Forecaster(starts, age_s=30.0).look(loading(20.0)).eta

    assert at_once is not None
    assert later is not None
    assert at_once.ready is not None
    assert later.ready is not None
    assert at_once.ready.expected_s is not None
    assert round(at_once.ready.expected_s - later.ready.expected_s, 3) == 30.0


async def test_weights_are_weighed_in_the_one_form_that_is_read(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "model-1.safetensors").write_bytes(b"x" * 300)
    (tmp_path / "model-2.safetensors").write_bytes(b"x" * 200)
    (tmp_path / "pytorch_model.bin").write_bytes(b"x" * 500)
    (tmp_path / "config.json").write_bytes(b"{}")
    folder = replace(SPEC, model=str(tmp_path))
    file = replace(SPEC, model=str(tmp_path / "model-2.safetensors"))

    weights = [
        await weigh_target(agent, await find_run(agent, leave_run(number, spec=spec)))
        for number, spec in enumerate((folder, file, SPEC))
    ]

    assert weights == [500, 200, 0]


def test_without_history_the_bytes_read_forecast_the_load() -> None:
    forecaster = Forecaster((), whole_bytes=1000)
    forecaster.look(
        replace(
            loading(9, read_bytes=50),
            explanation=replace(loading(9).explanation, stage=Stage.ARGS),
        )
    )

    eta = forecaster.look(loading(20, read_bytes=300)).eta

    assert eta is not None
    assert eta.ready is None
    assert eta.stage is not None
    assert eta.stage.basis == "bytes"
    assert eta.stage.expected_s == 30.0  # a quarter of it took 10 s


def test_a_forecast_is_not_made_anew_for_every_snapshot() -> None:
    starts = tuple(StartTimes(60.0 + n, (StageTime(Stage.LOAD_WEIGHTS, 10, 40),)) for n in range(8))
    forecaster = Forecaster(starts)

    first = forecaster.look(loading(20.0)).eta
    soon = forecaster.look(loading(20.0 + EVERY_NS / SECOND / 2)).eta
    later = forecaster.look(loading(22.0)).eta

    assert first is soon
    assert later is not None
    assert later != first


def test_a_start_that_is_over_has_no_forecast() -> None:
    starts = tuple(StartTimes(60.0 + n) for n in range(8))
    crashed = replace(loading(20.0), state=State.EXITED)

    assert Forecaster(starts).look(crashed).eta is None


async def test_what_a_start_took_is_found_by_the_next(site: Site) -> None:
    argv = site.serve(site.fake(UP))
    first = await site.launch(argv, name="r")
    seen = await site.conclude(first)
    await stop_run(site.agent, site.catalogue, first, say=lambda _: None)
    second = await site.launch(argv, name="r")

    (start,) = await fetch_starts(site.agent, second)
    await stop_run(site.agent, site.catalogue, second, say=lambda _: None)

    assert seen.ready_after_s is not None
    assert start.ready_s == round(seen.ready_after_s, 3)
    assert start.has_same_flags
