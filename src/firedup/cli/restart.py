"""`firedup restart`: stop a run and launch it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from firedup.cli import option
from firedup.cli.command import command as make_command

if TYPE_CHECKING:
    from firedup.session.restart import Change
from firedup.cli.complete import complete_run


@make_command(
    "restart",
    example="""
    firedup restart kimi -- --mem-fraction-static 0.85 --speculative-num-steps 4
    """,
    advice="Flags of the server stand after --.",
)
@click.argument("run", shell_complete=complete_run)
@click.argument("changed", nargs=-1, type=click.UNPROCESSED, metavar="[-- FLAG...]")
@click.option("--force", is_flag=True, help="Launch even when the checks say it is doomed.")
@option.no_wait
@option.timeout
@option.until
@option.requires
@option.host
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Stop a run, wait until its port is free, and launch it again, watched as by firedup run.

    RUN is a name (the newest run that has it; name~1 is the one before), or an id or its beginning.
    Each FLAG replaces the one of that name in the old command, or is added; --no=FLAG drops one.
    K=V before them changes the environment. The difference is shown.
    """
    from firedup.cli.drive import run_async
    from firedup.cli.knowledge import read_catalogue
    from firedup.cli.watching import say_launched, watch_launched
    from firedup.session.open import open_host
    from firedup.session.restart import restart_run
    from firedup.session.run import find_run

    catalogue = read_catalogue(given["profiles"])

    async def restart() -> int:
        async with open_host(given["host"]) as agent:
            old = await find_run(agent, given["run"])
            run, changes = await restart_run(
                agent,
                catalogue,
                old,
                given["changed"],
                say=say_aside,
                force=given["force"],
            )
            for change in changes:
                say_aside(tell_change(change))
            if given["no_wait"]:
                say_launched(run, as_json=given["as_json"])
                return 0
            return await watch_launched(agent, catalogue, run, given)

    return run_async(restart())


def tell_change(change: Change) -> str:
    """The change as one line, without secrets: "--tp 8 → 4", "NCCL_ALGO unset → Tree"."""
    from firedup.view.redact import clean, redact_argv

    is_flag = change.name.startswith("-")

    def show(value: str | None) -> str:
        if not value:
            absent, empty = ("not given", "given") if is_flag else ("unset", "empty")
            return absent if value is None else empty
        if is_flag:
            return clean(redact_argv((change.name, value))[1])
        return clean(f"{change.name}={value}").removeprefix(f"{change.name}=")

    return f"{clean(change.name)} {show(change.old)} → {show(change.new)}"


def say_aside(line: str) -> None:
    """Tells people what happens; standard output belongs to the view."""
    click.echo(line, err=True)
