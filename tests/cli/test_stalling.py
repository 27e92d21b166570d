"""Limits of stages, and what is done with a server that is stalled."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click
import pytest
from typist import Shell, finish

from firedup.cli.stalling import LIMITED_STAGES, StageLimit, refuse_stop_of_nodes
from firedup.core.error import UsageError
from firedup.core.model import Stage
from firedup.testing.script import Script, line

SILENT = Script((line(0.0, "0.00.010.000 I main: loading model"),), work=((0.0, 3600.0),))


def test_a_limit_names_a_stage_and_a_time() -> None:
    assert StageLimit().convert("load-weights=20m", None, None) == ("load-weights", 1200.0)
    for words in ("load-weights", "ready=3m", "nothing=3m", "args=soon", "args=0"):
        with pytest.raises(click.BadParameter):
            StageLimit().convert(words, None, None)


def test_all_stages_that_a_start_passes_may_be_limited() -> None:
    assert set(LIMITED_STAGES) == set(Stage) - {Stage.READY, Stage.SERVING, Stage.OTHER}


def test_nodes_that_wait_for_one_another_are_not_stopped() -> None:
    refuse_stop_of_nodes({"on_stall": "report"})
    with pytest.raises(UsageError, match="one host"):
        refuse_stop_of_nodes({"on_stall": "stop"})


def test_a_server_that_outlasts_a_stages_limit_is_stopped_where_that_was_asked_for(
    shell: Shell,
) -> None:
    limits = [
        word for stage in ("args", "load-weights") for word in ("--stage-timeout", f"{stage}=1s")
    ]
    words = ("--on-stall", "stop", "--until", "exit", "--json", *limits)
    run = shell.run("run", "--name", "slow", *words, "--", *shell.make_server(SILENT))

    last = json.loads(run.out.splitlines()[-1])
    assert run.status == 4
    assert (last["verdict"], last["findings"][0]["id"]) == ("stalled", "stage-limit")
    assert "slow is stalled and is stopped" in run.err
    folder = next(Path(os.environ["XDG_STATE_HOME"]).glob("firedup/runs/*"))
    assert (folder / "exit.json").exists()
    assert '"by":"--on-stall stop"' in (folder / "events.jsonl").read_text()
    assert last["notes"] == ["firedup stops the server now, since it is stalled (--on-stall stop)"]
    _is_told_everywhere_as_stopped_for_that(shell)


def _is_told_everywhere_as_stopped_for_that(shell: Shell) -> None:
    why = "firedup stopped the server (--on-stall stop), since it was stalled. The limit for "
    attached = json.loads(shell.run("attach", "slow", "--json").out.splitlines()[-1])
    explained = json.loads(shell.run("explain", "slow", "--json").out)
    for told in (attached, explained):
        assert (told["verdict"], told["exited"]) == ("stalled", True)
        assert told["findings"][0]["id"] == "stage-limit"
        assert told["findings"][0]["message"].startswith(why)
    assert "stalled, stopped by firedup" in shell.run("attach", "slow").out
    (listed,) = json.loads(shell.run("ps", "--all", "--json").out)["runs"]
    (start,) = json.loads(shell.run("history", "--json").out)["starts"]
    for row in (listed, start):
        assert (row["verdict"], row["stall"], row["cause"]) == ("stalled", "stage-limit", None)
    assert "stage-limit, stopped by firedup" in shell.run("history").out


def test_attach_knows_the_limits_of_the_launch(shell: Shell) -> None:
    limits = ("--stage-timeout", "args=1s", "--stage-timeout", "load-weights=1s")
    shell.run("run", "--name", "slow", "--no-wait", *limits, "--", *shell.make_server(SILENT))

    attached = finish(shell.start("attach", "slow"))

    assert attached.status == 4
    assert "stalled" in attached.out
    assert "firedup stop slow" in attached.out  # it goes on
