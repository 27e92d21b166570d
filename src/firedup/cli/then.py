"""`firedup run --then probe`: what is checked before the launch, and what is done after it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from typing import Any

from firedup.cli.asking import OF_PROBE
from firedup.cli.group import commands
from firedup.cli.probe import command as probe_command
from firedup.cli.probed import read_order, run_probe
from firedup.core.error import UsageError
from firedup.session.probeplan import foresee
from firedup.session.registry import Run
from firedup.session.side import is_address
from firedup.store.probe import find_probe, probes_folder


def check_then(given: Mapping[str, Any], *, is_on_nodes: bool) -> None:
    """UsageError for what would be found out only after a long start."""
    if given["then"] is None:
        raise UsageError(
            "--baseline, --concurrency, --requests, --max-tokens and --budget are for the probe"
            " that follows",
            todo="Add --then probe.",
        )
    if given["no_wait"]:
        raise UsageError("--then probe waits until the server is ready", todo="Drop --no-wait.")
    if is_on_nodes:
        raise UsageError(
            "--then probe is for one host",
            todo="Launch without it, then: firedup probe RUN --host HEAD",
        )
    folder, baseline = probes_folder(os.environ), given["baseline"]
    is_kept = baseline is None or is_address(baseline) or find_probe(folder, baseline) is not None
    if not is_kept:
        raise UsageError(
            f"no measurement of {baseline!r} is kept, and this server would be compared with it",
            todo=f"Measure it while it is up: firedup probe {shlex.quote(baseline)}",
        )
    foresee(read_order(_as_probe("the server to be", given)), folder)


def probe_launched(run: Run, given: Mapping[str, Any]) -> int:
    """Measure the server of `run`, which is ready; what cannot be said here is as by default."""
    return run_probe({**_as_probe(run.label.id, given), "shown_as": run.label.name})


def _as_probe(target: str, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `firedup probe` would have been given."""
    defaults = probe_command.make_context("probe", [target], **commands.context_settings).params
    return {**defaults, **{word: given[word] for word in (*OF_PROBE, "host", "as_json")}}
