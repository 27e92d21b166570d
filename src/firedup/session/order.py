"""What somebody asked firedup to launch, read from the words of a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from firedup.core.error import UsageError

MAX_NAME_CHARS = 80
_LIKE_AN_ID = re.compile(r"^\d{8}-\d{6}-")
_ASSIGNMENT = re.compile(r"^([A-Za-z_]\w*)=(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Which node of a run on several hosts is launched: its id there, all hosts, its rank."""

    run_id: str
    hosts: tuple[str, ...]
    rank: int


@dataclass(frozen=True, slots=True)
class Order:
    """A launch as asked for. `argv` is executed, never parsed by a shell.

    `env` are additions to the host's environment, `env_files` files there with more of them.
    `setup` is a line of shell that runs before, in the same shell, such as "source
    venv/bin/activate"; `login` makes it a login shell. `cwd` and `log` are paths on the host.
    `force` launches even when the pre-flight says that it is doomed. `hooks` are (event, command)
    pairs, `notify` addresses that are told of every event. `will_watch` says that whoever launches
    also watches, and knows more of an early end than the server's host. `stage_limits` are how long
    a stage may last, in seconds by its name; `on_stall` is "report" or "stop". With `arms_stacks`
    the server's Python processes tell their stacks when asked by a signal. `skips` are the checks
    of the pre-flight that are left out, by their ids.
    """

    argv: tuple[str, ...]
    name: str | None = None
    env: tuple[tuple[str, str], ...] = ()
    setup: str | None = None
    login: bool = False
    cwd: str | None = None
    log: str | None = None
    timeout_s: float | None = None
    force: bool = False
    hooks: tuple[tuple[str, str], ...] = ()
    notify: tuple[str, ...] = ()
    env_files: tuple[str, ...] = ()
    engine: str | None = None
    restarted_from: str | None = None
    place: Place | None = None
    will_watch: bool = False
    stage_limits: tuple[tuple[str, float], ...] = ()
    on_stall: str = "report"
    arms_stacks: bool = False
    skips: tuple[str, ...] = ()


def parse_words(words: Sequence[str]) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """Split leading `K=V` words (environment) from the command. UsageError without a command."""
    env: list[tuple[str, str]] = []
    rest = list(words)
    while rest and (found := _ASSIGNMENT.match(rest[0])):
        env.append((found[1], found[2]))
        rest.pop(0)
    if not rest:
        raise UsageError(
            "there is no command to launch",
            todo="Put it after --, for example: firedup run -- llama-server -m model.gguf",
        )
    return tuple(env), tuple(rest)


def check_name(name: str) -> str:
    """`name` if a run may be called so; UsageError where it could not be typed or told apart."""
    why = None
    if not name.strip():
        why = "it is empty"
    elif not name.isprintable():
        why = "it holds a line break or another control character"
    elif len(name) > MAX_NAME_CHARS:
        why = f"it has {len(name)} characters, and {MAX_NAME_CHARS} are the limit"
    elif _LIKE_AN_ID.match(name):
        why = "it looks like the id of a run and could hide one"
    elif "~" in name:
        why = "NAME~1 means the run before the newest one of that name"
    if why is not None:
        shown = name if name.isprintable() else repr(name)
        raise UsageError(
            f"a run cannot be called {shown[:80]!r}", why=why, todo="Choose another --name."
        )
    return name
