"""Folders of runs that are over, written as a keeper and a session leave them."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from firedup.core.model import ServerSpec
from firedup.host.manifest import Launched, Manifest, encode_manifest
from firedup.store.event import encode_output

ARGV = ("sglang", "serve", "--model-path", "org/model", "--tp", "8")
SPEC = ServerSpec(ARGV, engine="sglang", model="org/model", tensor_parallel=8)


def leave_run(
    number: int,
    *,
    argv: Sequence[str] = ARGV,
    spec: ServerSpec = SPEC,
    name: str = "r",
    **output: object,
) -> str:
    """Make the run number `number` (a later one for a greater number); the id it has.

    `output` is added to the diagnosis with which its record ends; without any it has no record.
    """
    run_id = f"20261129-12{number:04d}-{name}-0000"
    folder = Path(os.environ["XDG_STATE_HOME"]) / "firedup" / "runs" / run_id
    folder.mkdir(parents=True)
    wall_ns = (1_764_000_000 + 3600 * number) * 1_000_000_000
    manifest = Manifest(
        id=run_id,
        name=name,
        argv=tuple(argv),
        spec=spec,
        cwd="/",
        boot_id="another",
        launched=Launched(number * 3_600_000_000_000, wall_ns),
    )
    (folder / "manifest.json").write_text(json.dumps(encode_manifest(manifest)))
    if output:
        told = {"at_ns": 1, "verdict": "ready", "stage": "ready", "cause": None, **output}
        (folder / "events.jsonl").write_bytes(encode_output("diagnosis", told))
    return run_id


def took(load_s: float, ready_s: float) -> dict[str, object]:
    """What an output says of a start that came up."""
    stages = [["load-weights", 10.0, load_s]]
    times = {"ready_after_s": ready_s, "stages": stages}
    return {"verdict": "stopped", "stage": "serving", "was_ready": True, **times}
