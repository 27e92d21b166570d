"""Finds an interpreter on a host that the client can run with."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath

from firedup.core.error import HostError
from firedup.host.base import LinkError
from firedup.host.link import Agent
from firedup.host.pour import run_short
from firedup.host.process import describe_process
from firedup.probe.farzip import CHECK

_NAMES = tuple(f"python3.{minor}" for minor in (14, 13, 12, 11))


async def find_python(agent: Agent, *, server_pid: int | None = None) -> str | None:
    """The first that is new enough: the agent's own, those of the PATH, that of the server.

    None where none is. LinkError when the link breaks meanwhile.
    """
    if await _fits(agent, agent.host.python):
        return agent.host.python
    names = (*_NAMES, *await _python_of(agent, server_pid))
    fits = await asyncio.gather(*(_fits(agent, name) for name in names))
    return next((name for name, fit in zip(names, fits, strict=True) if fit), None)


async def _python_of(agent: Agent, pid: int | None) -> tuple[str, ...]:
    """The interpreter of the server's process, where it has one and names it in full."""
    if pid is None:
        return ()
    try:
        argv = (await describe_process(agent, pid)).argv
    except LinkError:
        raise
    except HostError:  # it ended just now, which whoever asks it will hear
        return ()
    path = PurePosixPath(argv[0] if argv else "")
    return (str(path),) if path.is_absolute() and path.name.startswith("python") else ()


async def _fits(agent: Agent, python: str) -> bool:
    try:
        return (await run_short(agent, (python, "-I", "-S", "-c", CHECK))).code == 0
    except LinkError:
        raise
    except HostError:  # there is no such program, or it does not answer
        return False
