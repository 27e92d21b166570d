"""The command of `firedup run`: as it was given, or composed from an engine and its models."""

from __future__ import annotations

from collections.abc import Sequence

import click

from firedup.core.error import UsageError
from firedup.core.fitted import Fitted
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
    host: str | None = None,
) -> tuple[Pairs, tuple[str, ...]]:
    """Environment and argv of the launch; a composed command is shown on standard error.

    Where the models can be read on `host`, the flags for the drafter are those that fit the two.
    """
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
    fitted = fit_models(engine, target, draft, tp, host) if draft is not None else None
    argv = compose_command(
        catalogue,
        engine,
        target=target,
        draft=draft,
        speculation=fitted.words if fitted else None,
        tensor_parallel=tp,
        host=bind,
        port=port,
        extra=extra[:-1],
    )
    from firedup.view.redact import render_argv

    given = {name for name, _ in env}
    env = (*env, *((k, v) for k, v in (fitted.variables if fitted else ()) if k not in given))
    words = (*(f"{name}={value}" for name, value in env), *argv)
    click.echo(f"firedup: {render_argv(words)}", err=True)
    return env, argv


def fit_models(
    engine: str, target: str, draft: str, tp: int | None, host: str | None
) -> Fitted | None:
    """Flags for these models; None for an engine of which no drafters are known.

    Models that lie in no folder yet, such as those of a hub, get what fits an EAGLE-3 drafter.
    """
    from firedup.cli.drive import run_async
    from firedup.core.error import FiredupError
    from firedup.drafter.flags import Wish, fit_kind
    from firedup.drafter.known import engine_named
    from firedup.drafter.pair import Question, open_case

    if engine_named(engine) is None:
        return None
    wish = Wish(draft, tp)

    async def read() -> Fitted:
        async with open_case(target, draft, Question(engine), host=host) as (case, _):
            kind = case.draft_facts.kind
            return fit_kind(engine, kind if kind != "unknown" else "eagle3", wish, case)

    if all(word.startswith(("/", "~", "./", "../")) for word in (target, draft)):
        try:
            return run_async(read())
        except FiredupError:  # the checks before the launch say it, and say it better
            pass
    return fit_kind(engine, "eagle3", wish)


def _without_dashes(words: Sequence[str]) -> Sequence[str]:
    """`words` without a -- that stands between environment and command."""
    at = next((i for i, word in enumerate(words) if word.startswith("-") or "=" not in word), None)
    return (*words[:at], *words[at + 1 :]) if at is not None and words[at] == "--" else words
