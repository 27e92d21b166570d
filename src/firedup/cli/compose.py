"""The command of `firedup run`: as it was given, or composed from an engine and its models."""

from __future__ import annotations

from collections.abc import Sequence

import click

from firedup.core.error import UsageError
from firedup.profile.compose import compose_command
from firedup.profile.schema import Catalogue

Pairs = tuple[tuple[str, str], ...]


def read_command(
    words: Sequence[str],
    catalogue: Catalogue,
    *,
    engine: str | None,
    target: str | None,
    draft: str | None,
    tp: int | None,
    port: int | None,
    bind: str | None,
) -> tuple[Pairs, tuple[str, ...]]:
    """Environment and argv of the launch; a composed command is shown on standard error."""
    from firedup.session.order import parse_words

    words = _without_dashes(words)
    if target is None:
        options = {"--draft": draft, "--tp": tp, "--port": port, "--bind": bind}
        if stray := [name for name, value in options.items() if value is not None]:
            raise UsageError(
                f"{stray[0]} composes a command, and that needs --engine and --target",
                todo="Options of your own command stand after it: firedup run -- COMMAND …",
            )
        return parse_words(words)
    if engine is None:
        raise UsageError(
            "--target composes a command, and that needs --engine",
            todo=f"Name one: {', '.join(sorted(catalogue.engines))}",
        )
    env, extra = parse_words([*words, ""])  # there may be no word at all
    argv = compose_command(
        catalogue,
        engine,
        target=target,
        draft=draft,
        tensor_parallel=tp,
        host=bind,
        port=port,
        extra=extra[:-1],
    )
    from firedup.view.redact import render_argv

    words = (*(f"{name}={value}" for name, value in env), *argv)
    click.echo(f"firedup: {render_argv(words)}", err=True)
    return env, argv


def _without_dashes(words: Sequence[str]) -> Sequence[str]:
    """`words` without a -- that stands between environment and command."""
    at = next((i for i, word in enumerate(words) if word.startswith("-") or "=" not in word), None)
    return (*words[:at], *words[at + 1 :]) if at is not None and words[at] == "--" else words
