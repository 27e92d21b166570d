"""What `firedup probe` does: read the options, measure, show, keep."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from firedup.cli.compared import tell_probed
from firedup.cli.drive import run_async
from firedup.cli.logged import tell_logged
from firedup.cli.say import say_aside
from firedup.core.error import UsageError
from firedup.core.measure.measured import Load
from firedup.core.measure.stepcost import StepCost
from firedup.probe.key import ApiKey
from firedup.probe.tls import Trust, make_context
from firedup.session.probe import Standing, probe
from firedup.session.probeplan import ProbeOrder, foresee
from firedup.session.side import Opening, is_address
from firedup.session.stepcost import read_step_costs
from firedup.store.probe import probes_folder
from firedup.view.measurement import SERVER
from firedup.view.quantity import render_remaining

MOST_STREAMS = 4096  # connections of one process, which may have 1,024 to 65,536 files open


def run_probe(given: Mapping[str, Any]) -> int:
    """Measure, say what was found, and return the exit status."""
    if given.get("from_log"):
        return tell_logged(given["target"], given["engine"], as_json=given["as_json"])
    order = read_order(given)
    for note in foresee(order, probes_folder(os.environ)):
        say_aside(note)
    trust = Trust(Path(given["cacert"]) if given["cacert"] else None, is_blind=given["insecure"])
    if trust.ca_file is not None:
        make_context(replace(trust, is_blind=False))  # a mistake in it is told with http too
    if trust.note is not None:
        say_aside(f"warning: {trust.note}")
    opening = Opening(
        given["host"] or "local", _read_key(given["api_key_env"]), trust, given["engine"], say_aside
    )
    bar = _Bar(is_shown=sys.stderr.isatty() and not given["as_json"])
    try:
        found = run_async(probe(order, opening, probes_folder(os.environ), tell=bar.show))
    finally:
        bar.clear()
    costs: tuple[StepCost, ...] = ()
    if given["step_cost"] or found.judged is not None:
        costs = read_step_costs(probes_folder(os.environ), found.candidate)
    name = SERVER if is_address(given["target"]) else given["target"]
    return tell_probed(
        found,
        given["csv_file"],
        as_json=given["as_json"],
        costs=costs,
        shows_costs=given["step_cost"],
        name=given.get("shown_as") or name,
    )


def read_order(given: Mapping[str, Any]) -> ProbeOrder:
    """What the options of `firedup probe` ask for. UsageError where they contradict each other."""
    if given["rate"] is not None and given["concurrency"] is not None:
        raise UsageError("--rate and --concurrency offer load in two ways", todo="Choose one.")
    loads: tuple[Load, ...] | None = None
    if given["rate"] is not None:
        loads = (Load(rate=given["rate"]),)
    elif given["concurrency"] is not None:
        loads = tuple(Load(number) for number in read_concurrency(given["concurrency"]))
    return ProbeOrder(
        given["target"],
        given["baseline"],
        loads,
        given["requests"],
        given["max_tokens"],
        None if given["natural"] is None else not given["natural"],
        given["seed"],
        given["categories"],
        Path(given["prompts"]) if given["prompts"] else None,
        given["budget_s"],
    )


def read_concurrency(text: str) -> list[int]:
    """The numbers of "1,8,32", ascending. UsageError when it is no such list."""
    words = [word.strip() for word in text.split(",")]
    is_list = all(word.isdecimal() and word.isascii() and word.strip("0") for word in words)
    if is_list and any(len(word) > 9 or int(word) > MOST_STREAMS for word in words):
        raise UsageError(
            f"--concurrency {text} is more than one client asks: {MOST_STREAMS} at a time at most"
        )
    if not is_list:
        raise UsageError(
            f"--concurrency {text} is no list of numbers from 1 on",
            todo="Such as --concurrency 1,8,32",
        )
    return sorted({int(word) for word in words})


def _read_key(variable: str | None) -> ApiKey | None:
    if variable is None:
        return None
    secret = os.environ.get(variable)
    if not secret:
        raise UsageError(
            f"the environment has no variable {variable}",
            todo="Set it to the server's API key; it is the name that the option takes.",
        )
    return ApiKey(secret)


class _Bar:
    """One line on a terminal that says how far the probe is."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown

    def show(self, standing: Standing) -> None:
        """Draw it anew."""
        if not self._is_shown:
            return
        rest = standing.remaining_s
        left = f", {render_remaining(rest)} left" if rest is not None else ""
        text = f"{standing.answered} of {standing.planned} requests{left}"
        click.echo(f"\r\x1b[2K{text}", nl=False, err=True)

    def clear(self) -> None:
        """Take it away."""
        if self._is_shown:
            click.echo("\r\x1b[2K", nl=False, err=True)
