"""Which of a run's hooks failed, as the host's hooks.log tells."""

from __future__ import annotations

import re

from firedup.host.base import OperationError
from firedup.host.file import read_file, stat_file
from firedup.host.link import Agent
from firedup.session.registry import Run

# Commands may print much into the same file; what failed last stands at its end.
TAIL_BYTES = 64 * 1024
_FAILURE = re.compile(r"(\S+Z) firedup: (command \d+ of --on .*|--notify.*)")
_TRY = re.compile(r"(?:answered (\d+) )?\(try (\d+) of (\d+)\)$")
# Answers after which another try is of use.
_PASSING = (408, 425, 429)


async def fetch_hook_failures(agent: Agent, run: Run) -> tuple[str, ...]:
    """A sentence for each hook of `run` that failed for good, the oldest first."""
    if not run.manifest.hooks and not run.manifest.notify:
        return ()
    path = f"{run.folder}/hooks.log"
    facts = await stat_file(agent, path)
    if facts is None or not facts.size:
        return ()
    try:
        text = await read_file(agent, path, offset=max(0, facts.size - TAIL_BYTES))
    except OperationError:  # deleted meanwhile
        return ()
    return read_hook_failures(text)


def read_hook_failures(text: bytes) -> tuple[str, ...]:
    """The same of the text of a hooks.log: what was tried again is no failure yet."""
    found = (_FAILURE.fullmatch(line) for line in text.decode("utf-8", "replace").splitlines())
    return tuple(f"{m[2]} ({m[1]})" for m in found if m and _is_final(m[2]))


def _is_final(told: str) -> bool:
    tried = _TRY.search(told)
    if tried is None or tried[2] == tried[3]:
        return True
    return tried[1] is not None and int(tried[1]) < 500 and int(tried[1]) not in _PASSING
