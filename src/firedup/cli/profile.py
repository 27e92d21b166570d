"""`firedup profile`: check engine profiles, or begin one."""

from __future__ import annotations

from pathlib import Path

import click

from firedup.cli.command import Command, Group
from firedup.cli.overview import HELP


@click.group(
    "profile",
    cls=Group,
    short_help=HELP["profile"],
    example="""
    firedup profile check
    """,
)
def command() -> None:
    """Check engine profiles, or begin one.

    A profile is a folder of TOML files that say how an engine is launched, what its log lines mean
    and how it is stopped. Yours are read from ~/.config/firedup/profiles.
    """


@command.command(
    "check",
    short_help="name every problem of profile files",
    cls=Command,
    example="""
    firedup profile check ~/.config/firedup/profiles/my-engine
    """,
)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
def check(*, files: tuple[Path, ...]) -> int:
    """Check profile files or folders and name every problem with its file and line.

    Each rule's examples are tried, also against the other rules. Without FILE the profiles that
    come with firedup are checked. The exit status is 1 when there is a problem.
    """
    from firedup.profile.check import check_builtin, check_paths

    problems = check_paths(files) if files else check_builtin()
    for problem in problems:
        click.echo(f"{problem}\n")
    count = len(problems)
    click.echo(f"{count or 'no'} problem{'' if count == 1 else 's'}")
    return 1 if problems else 0


@command.command(
    "new",
    short_help="begin a profile for an engine",
    cls=Command,
    example="""
    firedup profile new my-engine
    """,
)
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Where to put its folder.",
)
def new(*, name: str, folder: Path | None) -> int:
    """Begin a profile for the engine NAME: a file that can be used and says what may be added.

    It is put where firedup reads it without being told, unless --in names another folder. The
    names of engines that firedup knows are refused: rules for those go into a file of rules.
    """
    from firedup.cli.template import write_profile

    path = write_profile(name, folder)
    click.echo(f"{path}\nNext: edit it, then firedup profile check {path.parent}")
    return 0
