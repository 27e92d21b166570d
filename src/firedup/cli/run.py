"""`firedup run`: launch a server and watch it to a verdict."""

from __future__ import annotations

from typing import Any

import click

from firedup.cli import asking, checks, nodeoption, option, place, stalling
from firedup.cli.command import command as make_command
from firedup.cli.notify import Address

HOOK_EVENTS = ("ready", "crashed", "stalled", "exited")


@make_command(
    "run",
    takes_command=True,
    example="""
    firedup run --name kimi -- CUDA_VISIBLE_DEVICES=0,1 vllm serve Qwen/Qwen3-8B --port 8000
    firedup run --host box --setup '. sgl/bin/activate' -- sglang serve --model-path /models/K2
    firedup run --engine sglang --target /models/K2 --draft /models/K2-eagle3 --tp 8
    """,
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@click.option(
    "--name", metavar="NAME", help="A label for the run; else one is made from the command."
)
@place.options
@click.option("--log", metavar="PATH", help="Where its output goes; else into the run folder.")
@option.timeout
@stalling.stage_limits
@stalling.on_stall
@stalling.arm_stacks
@option.until
@stalling.token_every
@click.option(
    "--on",
    "hooks",
    nargs=2,
    multiple=True,
    type=(click.Choice(HOOK_EVENTS), str),
    metavar="EVENT CMD",
    help="A shell command to run on the host when it is ready, crashed, stalled or exited, whether"
    " somebody watches or not; may be repeated.",
)
@click.option(
    "--notify",
    multiple=True,
    type=Address(),
    metavar="URL",
    help="An address that gets a JSON object by POST, from the host, on each of these events.",
)
@option.no_wait
@click.option("--force", is_flag=True, help="Launch even when the checks say it is doomed.")
@checks.skips
@option.requires
@option.lost_after
@option.engine
@click.option(
    "--target", metavar="MODEL", help="The target model; with --engine it makes the command."
)
@click.option("--draft", metavar="MODEL", help="The draft model.")
@click.option(
    "--tp", type=click.IntRange(1), metavar="N", help="Tensor parallelism: how many GPUs."
)
@click.option(
    "--port", type=click.IntRange(1, 65535), metavar="N", help="The port that it listens on."
)
@click.option("--bind", metavar="ADDRESS", help="The address that it listens on.")
@option.host
@nodeoption.nodes_file
@nodeoption.nodes
@click.option(
    "--then",
    type=click.Choice(["probe"]),
    help="What to do with it once it is ready: measure it, as firedup probe does.",
)
@click.option("--baseline", metavar="URL|RUN", help="Of --then probe: what it is measured against.")
@click.option("--concurrency", metavar="N,…", help="Of --then probe: how many requests at a time.")
@asking.requests
@asking.max_tokens
@click.option(
    "--budget", "budget_s", type=option.Duration(least_s=1), metavar="TIME", help="Of --then probe."
)
@option.profiles
@option.showing
def command(**given: Any) -> int:
    """Launch a server detached from this terminal and watch it until it is ready or has failed.

    COMMAND is executed as it is, not parsed by a shell; words K=V before it are environment. Before
    the launch the program, the ports and the paths are checked. With --engine and --target the
    command is composed, and words after -- are added to it. Ctrl-C leaves the server running.
    With --host all paths are those of the host; what firedup host remembers of it is used where no
    option says otherwise. With --nodes or --node one run has a server on each of several hosts, and
    {rank}, {nnodes} and {head} in the command are filled in.
    """
    if any(given[word] is not None for word in ("then", *asking.OF_PROBE)):
        from firedup.cli.then import check_then

        check_then(given, is_on_nodes=nodeoption.asks_for_nodes(given))
    if nodeoption.asks_for_nodes(given):
        stalling.refuse_stop_of_nodes(given)
        from firedup.cli.nodes import launch_nodes_and_watch

        return launch_nodes_and_watch(given)
    from firedup.cli.launch import launch_and_watch

    return launch_and_watch(given)
