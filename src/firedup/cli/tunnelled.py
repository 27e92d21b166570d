"""What `firedup tunnel` does: listen, say where, and say why it ended."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

import click

from firedup.cli.links import open_run
from firedup.cli.option import read_limit
from firedup.cli.say import say, say_aside
from firedup.core.event import Exited
from firedup.core.model import RunLabel
from firedup.session.linked import Patience
from firedup.session.nodes import open_node
from firedup.session.tunnel import Opened, Tunnel, find_port, place_of
from firedup.view.ended import record_exit, tell_end
from firedup.view.record import SCHEMA, render_json
from firedup.view.result import record_label


async def open_tunnel(given: Mapping[str, Any]) -> None:
    """Carry connections until the server has ended."""
    if not _is_own(given["bind"]):
        say_aside(
            f"warning: whoever reaches this machine at {given['bind']} reaches the server, as if it"
            " came from its own host"
        )
    async with (
        open_run(given["host"], given["run"]) as one,
        open_node(*one, 0) as (agent, run),  # the head's, of a run on several hosts
    ):

        def tell(opened: Opened) -> None:
            _tell_opened(opened, run.label, as_json=given["as_json"])

        patience = Patience(lost_after_s=read_limit(given["lost_after_s"]))
        server_port = given["server_port"] or await find_port(agent, run)
        place = place_of(run, server_port)
        tunnel = Tunnel(agent, place, say=say_aside, run_id=run.label.id)
        end = await tunnel.run(bind=given["bind"], port=given["port"], tell=tell, patience=patience)
        _tell_closed(end, run.label, as_json=given["as_json"])


def _is_own(address: str) -> bool:
    """Whether only this machine reaches `address`."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _tell_opened(opened: Opened, label: RunLabel, *, as_json: bool) -> None:
    if not as_json:
        where = "" if label.host == "local" else f" on {label.host}"
        say(f"{opened.url} leads to {label.name}{where}; Ctrl-C closes it")
        return
    event = {
        "schema": SCHEMA,
        "event": "open",
        "url": opened.url,
        "address": opened.address,
        "port": opened.port,
        "server": {"address": opened.server_address, "port": opened.server_port},
        "run": record_label(label),
    }
    click.echo(render_json(event))


def _tell_closed(end: Exited | None, label: RunLabel, *, as_json: bool) -> None:
    if not as_json:
        say(f"{label.name} {tell_end(end)}, and the tunnel is closed")
        return
    click.echo(render_json({"schema": SCHEMA, "event": "closed", "exit": record_exit(end)}))
