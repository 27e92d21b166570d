"""`firedup flags`: launch flags that fit a drafter and its target, each with its reason."""

from __future__ import annotations

import click

from firedup.cli import option
from firedup.cli.command import command as make_command


@make_command(
    "flags",
    example="""
    firedup flags ~/models/Kimi-K2.5 ~/models/kimi-k25-eagle3 --engine sglang --tp 8
    firedup flags box:/data/target box:/data/draft --engine vllm --json
    """,
)
@click.argument("target")
@click.argument("draft")
@click.option(
    "--engine", metavar="NAME", help="sglang, vllm or llama-cpp; else all that serve such files."
)
@click.option("--engine-version", "version", metavar="V", help="Its version, such as 0.5.9.")
@click.option("--tp", type=click.IntRange(1, 4096), metavar="N", help="Ranks that share a layer.")
@click.option(
    "--gpu-memory",
    "gpu_gb",
    type=click.FloatRange(1, 10000),
    metavar="GB",
    help="The memory of one GPU, for a memory fraction.",
)
@click.option(
    "--force", "is_forced", is_flag=True, help="Print the flags even where the pair does not fit."
)
@option.host
@option.json
@option.colour
def command(
    *,
    target: str,
    draft: str,
    engine: str | None,
    version: str | None,
    tp: int | None,
    gpu_gb: float | None,
    is_forced: bool,
    host: str | None,
    as_json: bool,
    no_color: bool,
) -> int:
    """Say which launch flags fit a drafter and its target, for each engine, and why.

    TARGET and DRAFT are folders or GGUF files, on another host as HOST:/path; headers and small
    files are read where they lie. Where the pair does not fit, what speaks against it is printed
    in place of flags; the exit status is 1 when it fits in none of the engines asked about.
    `firedup run --engine … --target … --draft …` uses these flags by itself.
    """
    from firedup.cli.fitted import fit_asked
    from firedup.cli.paper import choose_output
    from firedup.view.flags import record_fitted, render_fitted
    from firedup.view.record import render_json

    found = fit_asked(
        target,
        draft,
        engine=engine,
        version=version,
        tp=tp,
        gpu_gb=gpu_gb,
        host=host,
        is_forced=is_forced,
    )
    if as_json:
        click.echo(render_json(record_fitted(target, draft, found)))
    else:
        click.echo(render_fitted(found, choose_output(no_color=no_color)), color=True)
    return 0 if any(one.fits for one in found) else 1
