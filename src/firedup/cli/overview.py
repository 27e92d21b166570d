"""All commands with a line each: the page of `firedup --help`, which imports nothing."""

from __future__ import annotations

# The order is that of the page; a name is also that of the module in firedup.cli that has the
# command, imported when it is used.
SECTIONS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Start a server and know how it is",
        (
            ("run", "launch a server and watch it until it is ready or has failed"),
            ("watch", "watch a server that somebody else started, by its log"),
            ("attach", "watch a run again, from where its log was left"),
            ("preflight", "say what speaks against a launch, without launching"),
        ),
    ),
    (
        "Look at what was launched",
        (
            ("ps", "list the runs"),
            ("history", "list earlier starts and their times, or what changed between two"),
            ("logs", "print the log of a run, or follow it"),
            ("stacks", "show what all ranks of a server do now, equal stacks together"),
            ("tunnel", "give other programs here a port that leads to a server"),
            ("explain", "say what a log tells: verdict, stages, cause and remedy"),
        ),
    ),
    (
        "Decide about a drafter",
        (
            ("check", "say whether a drafter fits its target, from files alone"),
            ("flags", "say which launch flags fit a drafter, each with its reason"),
            ("probe", "measure acceptance and speed, against a baseline"),
            ("compare", "hold two measurements against each other"),
            ("speedup", "say what a drafter's figures mean, by arithmetic alone"),
        ),
    ),
    (
        "Change or end it",
        (
            ("restart", "stop a run and launch it again, with changed flags"),
            ("stop", "end servers in the way that suits their engine"),
            ("prune", "delete old run folders"),
        ),
    ),
    (
        "Set up and learn",
        (
            ("host", "check a host, and remember how to launch there"),
            ("demo", "watch a small real engine come up, speculate and fail"),
            ("profile", "check engine profiles, or begin one"),
        ),
    ),
)
COMPLETE = "_FIREDUP_COMPLETE"  # set by a shell that asks for completions
HELP = {name: line for _, commands in SECTIONS for name, line in commands}


def render_overview() -> str:
    """The text of `firedup --help`, in ASCII and at most 79 columns wide."""
    width = max(map(len, HELP)) + 2
    lines = [
        "Usage: firedup COMMAND [options]",
        "",
        "Launch LLM inference servers, tell from evidence how they are, and why.",
    ]
    for title, commands in SECTIONS:
        lines += ["", f"{title}:"]
        lines += [f"  {name:{width}}{line}" for name, line in commands]
    lines += [
        "",
        "Options:",
        "  --version  print the version",
        "  --help     print this page; firedup COMMAND --help says more, by example",
        "",
        "Example:",
        "  firedup run --host box -- vllm serve Qwen/Qwen3-8B --port 8000",
        "",
        "Exit status: 0 ready or fine, 1 crashed or refused, 2 wrong use, 3 host not",
        "reached, 4 stalled, 5 timed out, 6 no conclusion, 70 a fault of firedup itself.",
        'Completion: eval "$(_FIREDUP_COMPLETE=bash_source firedup)", also zsh, fish.',
    ]
    return "\n".join(lines)
