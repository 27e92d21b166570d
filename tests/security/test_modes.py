"""Folders of runs are for their owner alone, whatever the umask."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from typing_user import User

from tests.ssh_server import Boxes

SERVER = """
import sys
print("RuntimeError: nothing works", flush=True)
sys.exit(1)
"""


def open_to_others(state: Path) -> dict[str, str]:
    """What of firedup's state anybody else may touch."""
    found = {}
    for path in [state / "firedup", *(state / "firedup").rglob("*")]:
        facts = path.lstat()
        wanted = 0o700 if stat.S_ISDIR(facts.st_mode) else 0o600
        if stat.S_IMODE(facts.st_mode) & ~wanted:
            found[str(path.relative_to(state))] = oct(facts.st_mode)
    return found


def test_a_run_with_hooks_that_was_watched_again_is_private(user: User) -> None:
    program = user.program(SERVER)
    state = Path(os.environ["XDG_STATE_HOME"])

    user.type("run", "--name", "a", "--until", "exit", "--on", "crashed", "env", "--", program)
    user.type("attach", "--until", "exit", "a")
    user.type("ps", "--all")

    assert any(state.rglob("events.jsonl"))
    assert any(state.rglob("hook-crashed.json"))
    assert open_to_others(state) == {}


def test_runs_on_nodes_behind_ssh_are_private(user: User, ssh_boxes: Boxes) -> None:
    boxes = [ssh_boxes("box1"), ssh_boxes("box2")]
    program = user.program(SERVER)

    done = user.type(
        *("run", "--name", "pair", "--until", "exit", "--force"),
        *("--node", "box1", "--node", "box2", "--", program, "--node-rank", "{rank}"),
    )

    assert done.status == 1, done.all
    for box in boxes:
        assert any(box.state.rglob("manifest.json"))
        assert open_to_others(box.state) == {}
    assert open_to_others(Path(os.environ["XDG_STATE_HOME"])) == {}
