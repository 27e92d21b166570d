"""What a program prints on a host: all of it at once, or as it comes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from firedup.core.error import HostError
from firedup.host.base import LinkError, OperationError, Trouble
from firedup.host.frame import Data
from firedup.host.link import Agent
from firedup.host.stream import Stream

SHORT_S = 30.0
_LIMIT_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Output:
    """What a program printed and how it ended; `code` is None when a signal ended it."""

    code: int | None
    out: bytes
    words: str


def pour(agent: Agent, argv: tuple[str, ...], *, merges: bool = False) -> Stream:
    """A stream of `Data` with what `argv` prints on the host; `close` it to end the program.

    Its result is {code, signal, words}. With `merges` standard error is part of the data.
    """
    return agent.open("pour", argv=list(argv), merges=merges)


async def run_short(agent: Agent, argv: tuple[str, ...], *, timeout_s: float = SHORT_S) -> Output:
    """Runs a program that soon ends.

    HostError when it does not end, OperationError "not-found" when there is none of that name.
    """
    stream = pour(agent, argv)
    out = bytearray()
    try:
        async with asyncio.timeout(timeout_s):
            async for message in stream:
                if isinstance(message, Data) and len(out) < _LIMIT_BYTES:
                    out += message.data
    except TimeoutError as error:
        what = f"{agent.host.name}: {argv[0]} did not answer within {timeout_s:g} s"
        raise HostError(what, where=" ".join(argv[:3])) from error
    finally:
        stream.close()
    result = stream.result or {}
    return Output(result.get("code"), bytes(out), str(result.get("words", "")).strip())


async def ask_client(agent: Agent, argv: tuple[str, ...], *, todo: str) -> Output:
    """As `run_short`, of a client such as docker; LinkError with `todo` where there is none."""
    try:
        return await run_short(agent, argv)
    except OperationError as error:
        if not is_missing(error):
            raise
        what = f"{argv[0]} is not installed on {agent.host.name}"
        raise LinkError(Trouble.NO_CLIENT, what, todo=todo) from error


def is_missing(error: OperationError) -> bool:
    """Whether a program could not be run because the host has none of its name."""
    return error.code == "not-found"
