"""`firedup speedup`: the arithmetic of speculative decoding, from figures alone."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command
from firedup.cli.figure import Figure

# As the core has them, which is not loaded for a help.
_SPEED, _LENGTH = Figure(0.001, 1e7), Figure(1, 1000)


@make_command(
    "speedup",
    example="""
    firedup speedup --baseline 82 --speed 52 --accept 1.5 --what-if accept=3.2
    """,
)
@click.option(
    "--baseline",
    type=_SPEED,
    required=True,
    metavar="TOK/S",
    help="Tokens a second of one stream without a drafter.",
)
@click.option("--speed", type=_SPEED, metavar="TOK/S", help="The same with the drafter.")
@click.option(
    "--accept", type=_LENGTH, metavar="LENGTH", help="Acceptance length, the bonus token counted."
)
@click.option("--step", metavar="TIME", help="Time of a step: 28.8ms or 0.0288s.")
@click.option(
    "--draft-tokens", type=click.IntRange(1, 999), metavar="K", help="Tokens that a step drafts."
)
@click.option(
    "--what-if",
    "assumptions",
    multiple=True,
    metavar="K=V",
    help="accept=3.2 or speed=60 at this step cost, or step=20ms; may be repeated.",
)
@option.json
def command(
    *,
    baseline: float,
    speed: float | None,
    accept: float | None,
    step: str | None,
    draft_tokens: int | None,
    assumptions: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what a drafter's figures mean: step cost, break-even, and what would change them.

    Two of --speed, --accept and --step tell the third. Nothing is measured.
    """
    from firedup.core.error import UsageError
    from firedup.core.measure.speedup import assume, parse_step, solve
    from firedup.view.record import render_json
    from firedup.view.speedup import record_speedup, render_speedup

    try:
        found = solve(
            baseline,
            speed=speed,
            acceptance_length=accept,
            step_s=None if step is None else parse_step(step),
            draft_tokens=draft_tokens,
        )
        assumed = [(text.strip(), assume(found, text)) for text in assumptions]
    except ValueError as error:
        raise UsageError(
            str(error),
            todo="Such as: --speed 52 --accept 1.5 --what-if accept=3.2 --what-if step=20ms",
        ) from None
    if as_json:
        click.echo(render_json(record_speedup(found, assumed)))
    else:
        click.echo("\n".join(render_speedup(found, assumed)))
    return 0
