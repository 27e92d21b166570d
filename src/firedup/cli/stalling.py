"""Options that say when a server is stalled, and what is to be done then."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from firedup.cli.option import Duration

if TYPE_CHECKING:
    _Kind = click.ParamType[Any]
else:  # click before 8.2 has no type argument here
    _Kind = click.ParamType

_F = TypeVar("_F", bound=Callable[..., Any])
# Those that a start passes before it is ready, as core/word.py has them.
LIMITED_STAGES = (
    "args",
    "dist-init",
    "load-weights",
    "draft-load",
    "kv-cache",
    "compile",
    "graph-capture",
    "warmup",
)


class StageLimit(_Kind):
    """A pair (stage, seconds) from STAGE=TIME."""

    name = "stage=time"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """As click wants it."""
        if isinstance(value, tuple):
            return value
        stage, equals, time = str(value).partition("=")
        if not equals or stage not in LIMITED_STAGES:
            known = ", ".join(LIMITED_STAGES)
            self.fail(f"{value!r} is no STAGE=TIME such as load-weights=20m; stages: {known}")
        seconds = Duration(least_s=1.0).convert(time, param, ctx)
        assert seconds is not None  # noqa: S101 - there is no "never" for a stage
        return stage, seconds


def stage_limits(command: _F) -> _F:
    """`--stage-timeout`, any number of them."""
    return click.option(
        "--stage-timeout",
        "stage_limits",
        multiple=True,
        type=StageLimit(),
        metavar="STAGE=TIME",
        help="Call it stalled when a stage lasts longer, such as load-weights=20m; may be"
        " repeated.",
    )(command)


def on_stall(command: _F) -> _F:
    """`--on-stall`."""
    return click.option(
        "--on-stall",
        type=click.Choice(["report", "stop"]),
        help="What to do when it is stalled: report it, or stop the server as firedup stop does."
        " Else what the launch said, else report.",
    )(command)


def arm_stacks(command: _F) -> _F:
    """`--arm-stacks` of a first launch."""
    return click.option(
        "--arm-stacks",
        "arms_stacks",
        is_flag=True,
        help="Let its Python processes tell their stacks when it is stalled, also where py-spy is"
        " missing or may not read them.",
    )(command)


def arm_stacks_again(command: _F) -> _F:
    """`--arm-stacks` of a restart, None where nothing is said."""
    return click.option(
        "--arm-stacks/--no-arm-stacks",
        "arms_stacks",
        default=None,
        help="Let its Python processes tell their stacks when it is stalled, or not; else as it"
        " was.",
    )(command)


def refuse_stop_of_nodes(given: Mapping[str, Any]) -> None:
    """UsageError for `--on-stall stop` of a run on several hosts."""
    if given["on_stall"] == "stop":
        from firedup.core.error import UsageError

        raise UsageError(
            "--on-stall stop is for a server on one host",
            why="a node that stands may only wait for another one",
            todo="Leave it out, and end all nodes with firedup stop when one is stalled.",
        )


def token_every(command: _F) -> _F:
    """`--token-every`."""
    return click.option(
        "--token-every",
        "token_every_s",
        type=Duration(takes_never=True),
        default="5m",
        metavar="TIME",
        help="With --until exit: ask an idle server for a token so often, else 5m; or never.",
    )(command)
