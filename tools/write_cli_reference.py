"""Writes docs/reference/cli.md from the commands' own help; without --write it only compares."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from firedup.cli.group import commands
from firedup.cli.overview import render_overview

PAGE = Path("docs/reference/cli.md")
WIDTH = 88
HEAD = """\
# Command line

Written by `python -m tools.write_cli_reference --write` from the commands' own help.

Times are written as `90s`, `30m`, `1h30m` or `2d`. RUN is a name, which means the newest run that
has it (`name~1` is the one before), or an id or its beginning. Without `--host` it is looked for on
this machine, and then on the one other host that is known to have it.

## Exit status

| status | meaning |
|---|---|
| 0 | ready, fine |
| 1 | crashed, refused, or a check says no |
| 2 | wrong use |
| 3 | the host was not reached, or contact was lost |
| 4 | stalled |
| 5 | timed out |
| 6 | no conclusion: still loading, unknown, or stopped by its operator, ready or not |
| 70 | a fault of firedup itself; its message names the file with the details |
| 130, 143 | ended by SIGINT (Ctrl-C), SIGTERM; a launched server goes on |
| 141 | whoever read the output went away |

`explain` ends with 0 when it could read the logs; with `--exit-status` the verdict's status counts.

`probe` and `compare`:

| status | meaning |
|---|---|
| 0 | the drafter is worth having; without a baseline: measured |
| 1 | it is not worth having; or the two are not comparable |
| 2 | wrong use: options, files, an API key that is missing or refused |
| 3 | nobody answers at the address, or the host was not reached |
| 6 | undecided; or the server answered nothing that could be measured |

## Environment

| variable | meaning |
|---|---|
| `FIREDUP_HOST` | the host where no `--host` names one |
| `FIREDUP_SSH` | the OpenSSH client with its first options, such as `ssh -F file`; else `ssh` |
| `XDG_STATE_HOME` | runs, index and fault reports lie in its `firedup`; else `~/.local/state` |
| `XDG_CONFIG_HOME` | your profiles and host settings lie in its `firedup`; else `~/.config` |
| `XDG_CACHE_HOME` | compiled patterns lie in its `firedup`; else `~/.cache` |
| `NO_COLOR`, `FORCE_COLOR`, `TERM=dumb` | as usual |

## Completion

`eval "$(_FIREDUP_COMPLETE=bash_source firedup)"` in bash; else `zsh_source`, `fish_source`.
"""


def list_helps() -> Iterator[tuple[str, str]]:
    """Every command as it is typed, with its help."""
    yield "firedup", render_overview()
    context = click.Context(commands, info_name="firedup", **commands.context_settings)
    for name in commands.list_commands(context):
        found = commands.get_command(context, name)
        if found is not None:
            yield from _helps_of(found, context)


def _helps_of(command: click.Command, parent: click.Context) -> Iterator[tuple[str, str]]:
    context = click.Context(command, parent, info_name=command.name, terminal_width=WIDTH)
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None:
                yield from _helps_of(found, context)


def render_page() -> str:
    """The whole page."""
    parts = [HEAD]
    for path, text in list_helps():
        body = "\n".join(line.rstrip() for line in text.strip().splitlines())
        parts.append(f"## {path}\n\n```text\n{body}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Compare, or write with --write."""
    wanted = render_page()
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
        return 0
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if page == wanted:
        return 0
    difference = difflib.unified_diff(page.split("\n"), wanted.split("\n"), n=0, lineterm="")
    print("\n".join(list(difference)[2:]))
    print(f"{PAGE} differs; python -m tools.write_cli_reference --write mends it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
