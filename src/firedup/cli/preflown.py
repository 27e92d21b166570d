"""What `firedup preflight` does: read the order, check it on its host, show what was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from firedup.cli.compose import read_command
from firedup.cli.drive import run_async
from firedup.cli.knowledge import read_catalogue
from firedup.cli.paper import choose_output
from firedup.cli.recalled import complete_order
from firedup.core.model import Finding, Severity
from firedup.profile.schema import Catalogue
from firedup.session.launch import find_problems
from firedup.session.open import open_host
from firedup.session.order import Order
from firedup.session.variables import fetch_variable_names
from firedup.view.cause import render_findings
from firedup.view.record import SCHEMA, record_finding, render_json

_NO_MODELS = dict.fromkeys(("target", "draft", "tp", "port", "bind"))


def tell_problems(given: Mapping[str, Any]) -> int:
    """Print what speaks against the launch; 1 when something dooms it."""
    catalogue = read_catalogue(given["profiles"], engine=given["engine"])
    env, argv = read_command(given["words"], catalogue, engine=given["engine"], **_NO_MODELS)
    order = Order(
        argv=argv,
        env=(*given["env"], *env),
        env_files=given["env_files"],
        setup=given["setup"],
        login=bool(given["login"]),
        cwd=given["cwd"],
        log=given["log"],
        engine=given["engine"],
        skips=given["skips"],
    )
    found = run_async(_find(order, catalogue, given))
    is_doomed = any(one.severity is Severity.SEVERE for one in found)
    if given["as_json"]:
        findings = [record_finding(one) for one in found]
        click.echo(render_json({"schema": SCHEMA, "doomed": is_doomed, "findings": findings}))
    else:
        paper = choose_output(no_color=given["no_color"])
        lines = render_findings(tuple(found), paper, has_all=True)
        click.echo(paper.finish(lines or ["nothing speaks against it"]), color=True)
    return int(is_doomed)


async def _find(order: Order, catalogue: Catalogue, given: Mapping[str, Any]) -> Sequence[Finding]:
    async with open_host(given["host"] or "local") as agent:
        order = complete_order(agent, order, given)
        names = await fetch_variable_names(agent, order)
        return await find_problems(agent, catalogue, order, names=names)
