"""`firedup host`: check a host, and remember how servers are launched there."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.complete import complete_host

# As in firedup.host.config, which is not imported before the command runs.
SETTINGS = ("setup", "login", "env-file", "python", "cwd")
ALL = "all"


@make_command(
    "host",
    example="""
    firedup host box
    firedup host box --setup 'source ~/sglang/bin/activate' --env-file '~/tokens.env'
    firedup host box --forget setup
    """,
)
@click.argument("name", required=False, type=option.HostWord(), shell_complete=complete_host)
@click.option("--setup", metavar="SHELL", help="Remember this shell text to run before a server.")
@click.option("--login/--no-login", default=None, help="Remember to launch from a login shell.")
@click.option("--env-file", metavar="FILE", help="Remember a file there with K=V lines.")
@click.option("--python", metavar="PATH", help="Remember which Python, 3.6 or newer, runs there.")
@click.option("--cwd", metavar="DIR", help="Remember the folder in which servers run.")
@click.option(
    "--forget",
    is_flag=False,
    flag_value=ALL,
    type=click.Choice([ALL, *SETTINGS]),
    metavar="[KEY]",
    help="Forget one of these, or with no KEY all that is known here of the host.",
)
@option.json
@option.colour
def command(**given: Any) -> int:
    """Check the host NAME: how it is reached, what it has, and what is remembered of it.

    NAME is written as after --host in firedup run. With options they are remembered for it, and
    firedup run uses them where its own options say nothing else. Paths are those of the host.
    Without NAME all known hosts are listed. The exit status is 1 when what is remembered does not
    hold there, 3 when it is not reached.
    """
    from firedup.cli.hosts import change_memory, list_hosts, show_host
    from firedup.core.error import UsageError

    keys = [setting.replace("-", "_") for setting in SETTINGS]
    words = {key: given[key] for key in keys if given[key] is not None}
    if given["name"] is None:
        if words or given["forget"]:
            raise UsageError(
                "it is not said of which host", todo="Name it: firedup host box --setup '…'"
            )
        return list_hosts(as_json=given["as_json"], no_color=given["no_color"])
    if words or given["forget"]:
        forgotten = given["forget"] and given["forget"].replace("-", "_")
        return change_memory(given["name"], words, forgotten, as_json=given["as_json"])
    return show_host(given["name"], as_json=given["as_json"], no_color=given["no_color"])
