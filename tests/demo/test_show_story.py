"""`firedup demo` as it is told with the real engine, and what happens when it is broken off."""

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from compiled import builtin_matcher
from leftover import kill_left

from firedup.cli.group import commands
from firedup.cli.probe import command as probe_command
from firedup.core.error import UsageError
from firedup.core.measure.decision import Advice
from firedup.demo import scene as scenes
from firedup.demo import show as story
from firedup.demo import weigh
from firedup.demo.scene import find_free_port, hold_port, launched
from firedup.demo.screen import JSON, Screen
from firedup.demo.show import introduce, show
from firedup.profile.load import load_catalogue
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.registry import Run, list_runs
from firedup.store.probe import probes_folder
from firedup.view.paper import Paper

OTHER_SCENES = ("compare_drafters", "lose_speculation", "meet_taken_port", "meet_truncated_model")


def real_engine(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that starts the real engine."""
    is_missing = find_spec("xllamacpp") is None
    skip = pytest.mark.skipif(is_missing, reason="the engine, firedup[demo], is not installed")
    return pytest.mark.engine(skip(test))


async def find_runs() -> tuple[Run, ...]:
    async with open_host() as agent:
        return await list_runs(agent)


def find_living() -> list[Run]:
    """The runs in this test's own state folder whose server lives."""
    runs = asyncio.run(find_runs())
    assert runs  # else nothing was launched, and the test would say nothing
    return [run for run in runs if run.is_alive]


@real_engine
@pytest.mark.slow
async def test_the_story_comes_out_as_it_should_and_leaves_nothing_running():
    catalogue = load_catalogue()
    stream = io.StringIO()

    status = await show(Screen(stream, Paper(100)), catalogue, builtin_matcher())

    text = stream.getvalue()
    _, summary = text.split("What you saw\n")
    assert status == 0, text
    assert "✗" not in summary
    assert summary.count("✓") == 9
    assert "untrained drafter: ready, acceptance length 1.00" in summary
    assert "drafter    acceptance length  accepted of drafted" in text
    assert "! speculation-off: The server is up without speculation" in text
    assert "with --require speculation it ends with status 1" in " ".join(text.split())
    assert text.count("│ firedup: refused to launch: ") == 2
    assert "✗ crashed in args" in text
    assert "couldn't bind HTTP server socket" in text
    assert "✗ crashed in load-weights" in text
    assert "is not within the file bounds" in " ".join(text.replace("│", "").split())
    runs = await find_runs()
    assert [run.label.name for run in reversed(runs)] == [
        "demo-trained",
        "demo-untrained",
        "demo-vocabulary",
        "demo-port",
        "demo-truncated",
        "demo-plain",
        "demo-drafted",
    ]
    assert not any(run.is_alive for run in runs)


async def pass_by(self: story._Story) -> None:
    """A scene that is not what a test is about."""


@real_engine
@pytest.mark.slow
async def test_the_story_ends_with_baseline_drafter_and_a_verdict_by_their_figures(monkeypatch):
    for name in OTHER_SCENES:
        monkeypatch.setattr(story._Story, name, pass_by)
    stream = io.StringIO()

    status = await show(Screen(stream, Paper(), style=JSON), load_catalogue(), builtin_matcher())

    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    plain, drafted = [event for event in events if event["event"] == "probe"]
    (load,) = drafted["decision"]["loads"]
    baseline = plain["candidate"]["loads"][0]["tokens_per_s"]["value"]
    candidate = drafted["candidate"]["loads"][0]
    assert status == 0
    assert plain["candidate"]["loads"][0]["acceptance_length"] is None
    assert drafted["baseline"]["loads"][0]["tokens_per_s"]["value"] == baseline
    assert candidate["acceptance_length"]["value"] > 1.3
    assert load["advice"] in [str(advice) for advice in Advice]
    ratio = load["acceptance_length"]["value"] / load["speed_up"]["value"]
    assert load["step_ratio"] == pytest.approx(ratio)
    assert not probes_folder(os.environ).exists()
    verdict = events[-1]["outcomes"][-1]["outcome"]
    assert f"{load['advice']}, {load['speed_up']['value']:.2f}x" in verdict


@real_engine
async def test_a_measurement_that_fails_is_quoted_and_named(monkeypatch):
    async def fail(*_: object, **__: object) -> None:
        raise UsageError("not one request was answered")

    monkeypatch.setattr(weigh, "probe", fail)
    for name in OTHER_SCENES:
        monkeypatch.setattr(story._Story, name, pass_by)
    stream = io.StringIO()

    status = await show(Screen(stream, Paper()), load_catalogue(), builtin_matcher())

    assert status == 1
    assert "│ firedup: not one request was answered" in stream.getvalue()
    assert "✗ baseline: not measured" in stream.getvalue()


@pytest.mark.parametrize("baseline", [None, "demo-plain"])
def test_the_shown_measurement_is_one_that_firedup_probe_takes(baseline):
    words = weigh.usual_asking().command("demo-drafted", baseline)

    given = probe_command.make_context("probe", list(words[2:]), **commands.context_settings).params

    assert words[:2] == ("firedup", "probe")
    assert (given["target"], given["baseline"]) == ("demo-drafted", baseline)
    assert given["budget_s"] == weigh.BUDGET_S
    assert Path(scenes.Scene("x", 1).order().cwd or "", given["prompts"]).is_file()


@contextmanager
def loading_demo() -> Iterator[subprocess.Popen[str]]:
    """A `firedup demo` whose first server is loading."""
    with subprocess.Popen(
        [sys.executable, "-m", "firedup", "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.split()[2:3] == ["load-weights"]:  # it may add what the stage before took
                break
        try:
            yield process
        except BaseException:  # else the end of this block waits for the whole story
            kill_left(os.environ["XDG_STATE_HOME"])
            raise


@real_engine
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, -1)]
)
def test_a_demo_that_is_broken_off_stops_its_server(number, status):
    with loading_demo() as process:
        os.killpg(process.pid, number)  # as a terminal does at Ctrl-C and when it is closed
        rest, complaint = process.communicate(timeout=100)

    assert process.returncode == status
    assert "stopped, with" in rest
    assert complaint == ""
    assert find_living() == []


@real_engine
def test_a_demo_whose_reader_has_gone_stops_its_server():
    with loading_demo() as process:
        assert process.stdout is not None
        process.stdout.close()
        process.wait(timeout=100)

    assert process.returncode == 141
    assert find_living() == []


def test_a_machine_without_the_engine_is_told_what_to_install_and_what_works_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "xllamacpp", None)

    with pytest.raises(UsageError) as refusal:
        introduce(Screen(io.StringIO(), Paper()))

    assert "pip install 'firedup[demo]'" in str(refusal.value)
    assert "firedup demo --replay works without it" in str(refusal.value)


def test_other_systems_than_linux_are_offered_the_replay(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(UsageError, match="Linux") as refusal:
        introduce(Screen(io.StringIO(), Paper()))

    assert "firedup demo --replay" in str(refusal.value)


async def test_one_scene_that_comes_out_otherwise_is_status_1_and_named(monkeypatch):
    async def disappoint(self: story._Story) -> None:
        self.judge("this one", is_good=True)
        self.judge("that one", is_good=False)

    monkeypatch.setattr(story._Story, "compare_drafters", disappoint)
    for name in (*OTHER_SCENES[1:], "weigh_drafter"):
        monkeypatch.setattr(story._Story, name, pass_by)
    stream = io.StringIO()
    catalogue = load_catalogue()

    status = await show(Screen(stream, Paper()), catalogue, builtin_matcher())

    assert status == 1
    assert "  ✓ this one\n  ✗ that one\n" in stream.getvalue()
    assert "1 of 2 did not come out as expected" in stream.getvalue()


async def test_a_launch_that_is_broken_off_midway_is_ended_all_the_same(monkeypatch):
    launching, has_begun = scenes.launch, asyncio.Event()

    async def launch_slowly(*args: object) -> Run:
        has_begun.set()
        await asyncio.sleep(0)
        return await launching(*args)

    monkeypatch.setattr(scenes, "launch", launch_slowly)
    catalogue = load_catalogue()
    said: list[str] = []

    async def use(agent) -> None:
        order = Order((sys.executable, "-c", "import time; time.sleep(600)"), name="sleeper")
        async with launched(agent, catalogue, order, say=said.append):
            raise AssertionError("the cancellation came too late")

    async with open_host() as agent:
        task = asyncio.create_task(use(agent))
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        (run,) = await list_runs(agent)

    assert not run.is_alive
    assert any("SIGTERM" in line for line in said)


async def test_a_held_port_is_taken_and_afterwards_free():
    async with hold_port() as port:
        with pytest.raises(OSError, match=r"in use"):
            await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", port)

    server = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", port)
    server.close()
    assert find_free_port() > 0


def test_the_shown_command_is_the_launched_one():
    scene = scenes.Scene("demo-x", 1234, draft=story.TRAINED)

    shown = scene.command(force=True)

    assert shown[:5] == ("firedup", "run", "--name", "demo-x", "--force")
    assert shown[7:] == scene.order().argv[1:]
    assert Path(scene.order().cwd or "").joinpath(scene.target).is_file()
