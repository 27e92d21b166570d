"""`--arm-stacks` is kept from launch to restart, and refused where it could do nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

from typist import Shell


def armed_runs() -> list[bool]:
    """Of each run, in their order, whether it was launched armed and has what arms it."""
    found = []
    for path in Path(os.environ["XDG_STATE_HOME"]).glob("firedup/runs/*/manifest.json"):
        manifest = json.loads(path.read_text())
        assert manifest["arms_stacks"] == (path.parent / "armed" / "sitecustomize.py").exists()
        found.append((manifest["launched"]["boottime_ns"], manifest["arms_stacks"]))
    return [is_armed for _, is_armed in sorted(found)]


def test_a_restart_keeps_it_or_changes_it(shell: Shell) -> None:
    shell.run("run", "--name", "a", "--arm-stacks", "--no-wait", "--", "sleep", "600")
    shell.run("restart", "a", "--no-wait")
    shell.run("restart", "a", "--no-arm-stacks", "--no-wait")
    shell.run("restart", "a", "--arm-stacks", "--no-wait")

    assert armed_runs() == [True, True, False, True]


def test_every_node_of_a_run_is_armed(shell: Shell) -> None:
    nodes = ("--node", "local", "--node", "local")
    words = ("--name", "a", *nodes, "--arm-stacks", "--no-wait", "--", "sleep", "600.{rank}")
    launched = shell.run("run", *words)

    assert launched.status == 0, launched.err
    assert armed_runs() == [True, True]


def test_a_container_that_the_command_starts_is_refused_with_the_reason(shell: Shell) -> None:
    words = ("docker", "run", "--rm", "lmsysorg/sglang", "python3", "-m", "sglang.launch_server")
    refused = shell.run("run", "--arm-stacks", "--force", "--no-wait", "--", *words)

    assert refused.status == 2
    assert "--arm-stacks does not reach into a container" in refused.err
    assert "py-spy on the host" in refused.err
