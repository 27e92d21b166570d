"""`firedup stacks`: what a living run does, and what is said of one that has none."""

from __future__ import annotations

import json
from pathlib import Path

from typist import Shell

from firedup.testing.script import Script, line

SILENT = Script((line(0.0, "0.00.010.000 I main: loading model"),), work=((0.0, 3600.0),))


def test_a_living_run_shows_what_its_processes_do_and_an_ended_one_says_so(shell: Shell) -> None:
    shell.run("run", "--name", "mute", "--no-wait", "--", *shell.make_server(SILENT))

    shown = shell.run("stacks", "mute", "--no-color")
    told = json.loads(shell.run("stacks", "mute", "--json").out)
    shell.run("stop", "mute")
    late = shell.run("stacks", "mute")

    assert shown.status == 0
    assert shown.out.startswith("stacks at ")
    (group,) = told["stacks"]["groups"]
    assert told["run"]["name"] == "mute"
    assert group["frames"]
    assert "== " in Path(told["stacks"]["path"]).read_text()
    assert late.status == 2
    assert "has ended" in late.err
    assert "firedup explain" in late.err


def test_a_run_that_nobody_knows_is_wrong_use(shell: Shell) -> None:
    assert shell.run("stacks", "nobody").status == 2
