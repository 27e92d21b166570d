"""Options that several commands share, and the kinds of values that they take."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from firedup.cli.complete import complete_host

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:  # click before 8.2 has no type argument here
    _Kind = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any])
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST_S = 36_500 * _SECONDS["d"]
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
HOST_VARIABLE = "FIREDUP_HOST"
_PLACES = "box or user@ip (SSH), docker:NAME, k8s:NS/POD, slurm:JOB, or ssh:box,docker:NAME"


def parse_duration(text: str) -> float:
    """Seconds of "90", "90s", "30m", "1h30m", "2d", "250ms". Raises ValueError."""
    word = text.strip().lower().replace(" ", "")
    if re.fullmatch(r"\d+(?:\.\d+)?", word):
        word += "s"
    if not word or _PART.sub("", word):
        raise ValueError(f"{text!r} is no duration; such as 90s, 30m, 1h30m or 2d")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(word))
    if seconds > LONGEST_S:
        raise ValueError(f"{text!r} is longer than {LONGEST_S / _SECONDS['d']:,.0f} days")
    return seconds


class Duration(_Kind):
    """Seconds as a float, `least_s` or more; with `takes_never`, None for "never"."""

    name = "duration"

    def __init__(self, *, takes_never: bool = False, least_s: float = 0.0) -> None:
        self._takes_never = takes_never
        self._least_s = least_s

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        """As click wants it."""
        if not isinstance(value, str):
            return value if value is None or isinstance(value, float) else float(str(value))
        if self._takes_never and value.lower() in ("never", "none"):
            return NEVER
        try:
            seconds = parse_duration(value)
        except ValueError as error:
            self.fail(f"{error}{', or never' if self._takes_never else ''}", param, ctx)
        if seconds < self._least_s:
            self.fail(f"{value!r} is too short; {self._least_s:g}s is the least", param, ctx)
        return seconds


# click takes None for "not given", so that a limit which was taken away needs a value of its own.
NEVER = float("inf")


def read_limit(seconds: float) -> float | None:
    """The limit that a `Duration(takes_never=True)` means, None for none."""
    return None if seconds == NEVER else seconds


class Variable(_Kind):
    """A pair (name, value) from K=V."""

    name = "k=v"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """As click wants it."""
        if isinstance(value, tuple):
            return value
        name, equals, rest = str(value).partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            self.fail(f"{value!r} is no K=V, such as CUDA_VISIBLE_DEVICES=0,1", param, ctx)
        return name, rest


class Pattern(_Kind):
    """A regular expression, checked and kept as text."""

    name = "regex"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """As click wants it."""
        text = str(value)
        try:
            re.compile(text)
        except re.error as error:
            at = "" if error.pos is None else f" at character {error.pos + 1}"
            self.fail(f"{text!r} is no regular expression: {error.msg}{at}", param, ctx)
        return text


class HostWord(_Kind):
    """The name of a host, however it was written; what names none is refused, with who said it."""

    name = "host"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """As click wants it."""
        from firedup.core.error import UsageError
        from firedup.host.address import parse_host

        text = str(value)
        try:
            return parse_host(text).name
        except UsageError as error:
            source = ctx.get_parameter_source(param.name or "") if ctx and param else None
            if source is click.core.ParameterSource.ENVIRONMENT:
                where = f"{HOST_VARIABLE}={text}"
                raise UsageError(error.what, where=where, why=error.why, todo=error.todo) from error
            raise


def host(command: _F) -> _F:
    """`--host`, None where nobody named one."""
    return click.option(
        "--host",
        envvar=HOST_VARIABLE,
        type=HostWord(),
        metavar="HOST",
        shell_complete=complete_host,
        help=f"The host: {_PLACES}. Else FIREDUP_HOST, else this machine.",
    )(command)


def hosts(command: _F) -> _F:
    """`--host` for commands that ask several hosts at once."""
    return click.option(
        "--host",
        "hosts",
        multiple=True,
        envvar=HOST_VARIABLE,
        type=HostWord(),
        metavar="HOST",
        shell_complete=complete_host,
        help="Ask this host, written as in firedup run; may be repeated. Else FIREDUP_HOST, else"
        " this machine.",
    )(command)


def lost_after(command: _F) -> _F:
    """`--lost-after`."""
    return click.option(
        "--lost-after",
        "lost_after_s",
        type=Duration(takes_never=True),
        default="10m",
        metavar="TIME",
        help="Give up when the host was not reached for so long, else 10m; never = never.",
    )(command)


def json(command: _F) -> _F:
    """`--json` for commands that print one object."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def colour(command: _F) -> _F:
    """`--no-color`."""
    return click.option(
        "--no-color",
        is_flag=True,
        help="No colour; so does the variable NO_COLOR.",
    )(command)


def profiles(command: _F) -> _F:
    """`--profile`, any number of them."""
    return click.option(
        "--profile",
        "profiles",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path, exists=True),
        help="Read this profile file or folder besides; may be repeated.",
    )(command)


def engine(command: _F) -> _F:
    """`--engine`."""
    return click.option(
        "--engine",
        metavar="NAME",
        help="The engine, where it should not be read from the command or the log.",
    )(command)


def showing(command: _F) -> _F:
    """How a server that is watched is shown."""
    options = (
        click.option("--json", "as_json", is_flag=True, help="The same as --format jsonl."),
        click.option(
            "--format",
            "format_name",
            type=click.Choice(["terminal", "plain", "classic", "jsonl"]),
            help="How to show it; terminal on a terminal, else plain.",
        ),
        click.option(
            "--every",
            type=Duration(),
            metavar="TIME",
            help="Time between two lines while nothing changes: classic 15s, plain 30s.",
        ),
        click.option(
            "--width",
            type=click.IntRange(20, 10_000),
            metavar="N",
            help="Columns; of the log line in the classic format 120.",
        ),
        click.option(
            "--tail",
            type=click.IntRange(0, 10_000),
            default=30,
            metavar="N",
            help="Lines of the log that the classic format prints after a crash, else 30.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return colour(command)


def timeout(command: _F) -> _F:
    """`--timeout`."""
    return click.option(
        "--timeout",
        "timeout_s",
        type=Duration(takes_never=True),
        default="30m",
        metavar="TIME",
        help="Watch no longer than this, else 30m; never = no limit.",
    )(command)


def until(command: _F) -> _F:
    """`--until`."""
    return click.option(
        "--until",
        type=click.Choice(["ready", "exit"]),
        default="ready",
        help="Watch until it is ready (or has failed), or until it ends.",
    )(command)


def requires(command: _F) -> _F:
    """`--require`."""
    return click.option(
        "--require",
        "requires",
        multiple=True,
        type=click.Choice(["speculation"]),
        help="End with status 1 when the server came up without it.",
    )(command)


def no_wait(command: _F) -> _F:
    """`--no-wait`."""
    return click.option(
        "--no-wait", is_flag=True, help="Launch only; firedup attach watches later."
    )(command)


def patterns(command: _F) -> _F:
    """What is looked for in the log of a program that no profile knows."""
    for name, meaning in (
        ("progress", "A line that shows progress."),
        ("fail", "A line that means that it failed."),
        ("ready", "A line that means that it is ready."),
    ):
        command = click.option(
            f"--{name}-pattern",
            type=Pattern(),
            metavar="REGEX",
            help=meaning,
        )(command)
    return command
