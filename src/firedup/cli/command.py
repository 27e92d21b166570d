"""Commands and groups of the program: click's, with an example at the end of their help."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from firedup.cli.overview import HELP

# A long list of options is told in parts; those in none of them stand at the end.
MOST_IN_ONE = 12
SECTIONS = (
    ("Where", ("host", "nodes_file", "nodes", "node", "head", "lost_after_s")),
    (
        "Launch",
        (
            *("name", "cwd", "env", "env_files", "setup", "login", "log", "arms_stacks"),
            *("force", "no_wait"),
        ),
    ),
    ("Compose the command", ("target", "draft", "tp", "port", "bind")),
    (
        "Watch",
        ("pid", "timeout_s", "stage_limits", "on_stall", "until", "token_every_s", "requires"),
    ),
    (
        "Measure",
        (
            *("then", "baseline", "concurrency", "rate", "requests", "max_tokens", "natural"),
            *("categories", "prompts", "seed", "budget_s", "step_cost"),
        ),
    ),
    ("Be let in", ("api_key_env", "cacert", "insecure")),
    ("Tell others", ("hooks", "notify")),
    ("Know the engine", ("engine", "profiles")),
    ("Programs that no profile knows", ("ready_pattern", "fail_pattern", "progress_pattern")),
    ("Show", ("as_json", "format_name", "every", "width", "tail", "no_color")),
)
_RANGE = re.compile(r"\s*\[[\dx<>=]+\]$")
_MOST_COLUMN = 22


class Command(click.Command):
    """`example` is shown as it is, a line for each call of the program.

    `takes_command` ends the options at the first word that is none, since the rest is the command
    of a server with options of its own. `advice` is given to whoever uses an unknown option.
    """

    def __init__(
        self,
        *args: Any,
        example: str = "",
        takes_command: bool = False,
        advice: str = "",
        **rest: Any,
    ) -> None:
        settings = dict(rest.pop("context_settings", None) or {})
        if takes_command:
            settings["allow_interspersed_args"] = False
        # Of its own, since it keeps the names that it was first asked with, whoever asks it.
        settings.setdefault("help_option_names", ["-h", "--help"])
        rest["context_settings"] = settings
        super().__init__(*args, **rest)
        self.example = example
        self.advice = advice

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In one list, or in parts where there are many."""
        records = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                records[param.name] = (record[0], _RANGE.sub("", record[1]))
        if len(records) > MOST_IN_ONE:
            for title, names in SECTIONS:
                if rows := [records.pop(name) for name in names if name in records]:
                    with formatter.section(title):
                        formatter.write_dl(rows, col_max=_MOST_COLUMN)
        with formatter.section("Options"):
            formatter.write_dl(list(records.values()), col_max=_MOST_COLUMN)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """The example."""
        write_example(self.example, formatter)


class Group(click.Group):
    """A group that has an example, and advice for a command that it does not have."""

    def __init__(self, *args: Any, example: str = "", **rest: Any) -> None:
        rest.setdefault("no_args_is_help", False)
        super().__init__(*args, **rest)
        self.example = example

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's
        """The example."""
        write_example(self.example, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with advice when there is no such command."""
        word, known = args[0], self.list_commands(ctx)
        if word in known or ctx.resilient_parsing or word.startswith("-"):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"there is no command {word!r}. {self.advise(word, known)}", ctx)

    def advise(self, word: str, known: list[str]) -> str:
        """What may have been meant by `word`."""
        import difflib

        near = difflib.get_close_matches(word, known, n=1)
        return f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(known)}."


def write_example(example: str, formatter: click.HelpFormatter) -> None:
    """The section that every help ends with."""
    with formatter.section("Example"):
        for line in example.strip().splitlines():
            formatter.write(f"  {line.strip()}\n")


def command(
    name: str, *, example: str, takes_command: bool = False, advice: str = ""
) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function that returns an exit status."""
    return click.command(
        name,
        cls=Command,
        short_help=HELP.get(name),
        example=example,
        takes_command=takes_command,
        advice=advice,
    )
