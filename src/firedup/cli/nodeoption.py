"""The options of runs on several hosts, and what their values say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from firedup.cli.option import HostWord

_F = TypeVar("_F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class NodePlace:
    """A node as `--node` names it: its host, and its log there if that was said."""

    host: str
    log: str | None


def nodes_file(command: _F) -> _F:
    """`--nodes`."""
    return click.option(
        "--nodes",
        "nodes_file",
        metavar="FILE",
        help="Launch one run on the hosts that this TOML file names; words after -- are flags.",
    )(command)


def nodes(command: _F) -> _F:
    """`--node`, once for each, and `--head`."""
    command = click.option(
        "--head",
        type=HostWord(),
        metavar="HOST",
        help="Which node is the head (rank 0), if not the first.",
    )(command)
    return click.option(
        "--node",
        "nodes",
        multiple=True,
        metavar="HOST[=LOG]",
        help="A node of one run on several hosts, with its log there; repeated for each.",
    )(command)


def asks_for_nodes(given: Mapping[str, Any]) -> bool:
    """Whether the options mean a run on several hosts."""
    return bool(given["nodes"] or given.get("nodes_file") or given["head"])


def read_places(words: Sequence[str], *, needs_log: bool = False) -> tuple[NodePlace, ...]:
    """The nodes that `words` name. UsageError for one without a host, or without a log it needs."""
    from firedup.core.error import UsageError
    from firedup.host.address import parse_host

    places = []
    for word in words:
        host, _, log = word.partition("=")
        if not host or (needs_log and not log):
            wanted = "HOST=LOG" if needs_log else "HOST or HOST=LOG"
            raise UsageError(
                f"--node {word!r} is no {wanted}", todo="Such as --node box1=/logs/server.log"
            )
        places.append(NodePlace(parse_host(host).name, log or None))
    return tuple(places)


def refuse_host(given: Mapping[str, Any]) -> None:
    """UsageError for options that name one host beside those that name several."""
    from firedup.core.error import UsageError

    context = click.get_current_context(silent=True)
    source = context.get_parameter_source("host") if context else None
    if given["host"] is not None and source is click.core.ParameterSource.COMMANDLINE:
        raise UsageError("--host names one host, and the nodes name theirs")
    if given["nodes"] and given.get("nodes_file"):
        raise UsageError("--nodes FILE names all nodes, so that there is nothing left for --node")
