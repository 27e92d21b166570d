"""Builds the launch command of an engine from target, drafter and a few numbers. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence

from firedup.core.error import UsageError
from firedup.profile.problem import nearest
from firedup.profile.schema import Catalogue


def compose_command(
    catalogue: Catalogue,
    engine: str,
    *,
    target: str,
    draft: str | None = None,
    speculation: Sequence[str] | None = None,
    tensor_parallel: int | None = None,
    host: str | None = None,
    port: int | None = None,
    extra: Sequence[str] = (),
) -> tuple[str, ...]:
    """The words of `firedup run --engine …`; `extra` words of the user come last, so they win.

    `speculation` are flags that fit the drafter, in place of those of the engine's profile.
    Raises UsageError for an engine that is not known or that cannot do what is asked.
    """
    profile = catalogue.profile(engine)
    if profile is None or not profile.compose.command:
        known = [p.engine for p in catalogue.profiles if p.compose.command]
        near = nearest(engine, known)
        raise UsageError(
            f'no profile says how to start the engine "{engine}"',
            evidence=f"engines with a composed command: {', '.join(known) or 'none'}",
            todo=f'Did you mean "{near}"?' if near else "Give the whole command after --.",
        )
    parts = profile.compose
    words = [*_fill(parts.command, target=target), *_fill(parts.target, target=target)]
    options: tuple[tuple[str, tuple[str, ...], str | int | None], ...] = (
        ("draft", parts.draft if speculation is None else tuple(speculation), draft),
        ("tp", parts.tensor_parallel, tensor_parallel),
        ("host", parts.bind, host),
        ("port", parts.port, port),
    )
    for name, template, value in options:
        if value is None:
            continue
        if not template:
            raise UsageError(
                f"{profile.title} has no setting for --{name}",
                todo="Leave it out, or give the whole command after --.",
            )
        is_ready = name == "draft" and speculation is not None
        words += template if is_ready else _fill(template, **{name: str(value)})
    return (*words, *extra)


def _fill(template: Sequence[str], **values: str) -> list[str]:
    """`{name}` replaced letter for letter; inside a JSON word the value is written as JSON."""
    words = []
    for word in template:
        is_json = word.startswith(('{"', "["))
        for name, value in values.items():
            shown = json.dumps(value)[1:-1] if is_json else value
            word = word.replace(f"{{{name}}}", shown)  # noqa: PLW2901 - filled step by step
        words.append(word)
    return words
