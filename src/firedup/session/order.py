"""What somebody asked firedup to launch, read from the words of a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

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

    `env` are additions to the host's environment. `setup` is a line of shell that runs before, in
    the same shell, such as "source venv/bin/activate"; `login` makes it a login shell. `cwd` and
    `log` are paths on the host. `force` launches even when the pre-flight says that it is doomed.
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
    engine: str | None = None
    restarted_from: str | None = None
    place: Place | None = None


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


def read_env_file(path: str) -> tuple[tuple[str, str], ...]:
    """The `K=V` lines of a file; blank lines, `#` comments and `export ` are allowed."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the environment file {path} cannot be read", why=str(error)) from error
    pairs = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().removeprefix("export ").strip()
        if not line or line.startswith("#"):
            continue
        found = _ASSIGNMENT.match(line)
        if found is None:
            raise UsageError(
                f"line {number} of {path} is no K=V pair",
                evidence=f"line     {line}",
                todo="Write one NAME=value per line; quotes around the value are optional.",
            )
        value = found[2]
        if value[:1] in ("'", '"') and (len(value) == 1 or value[-1] != value[0]):
            raise UsageError(
                f"line {number} of {path} has a quote without its other half",
                evidence=f"line     {found[1]}=…",
                todo="Close the quote on the same line, or leave both out.",
            )
        if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        pairs.append((found[1], value))
    return tuple(pairs)
