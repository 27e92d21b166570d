"""A program on a host that is spoken to over the link."""

from __future__ import annotations

from firedup.host.http import KeySource, encode_source
from firedup.host.link import Agent
from firedup.host.stream import Stream


def talk(agent: Agent, argv: tuple[str, ...], *, key_from: KeySource | None = None) -> Stream:
    """Start `argv` on the host: `write` goes to it, `Data` comes from it; `close` ends it.

    The first line that it reads is the agent's: JSON with the `key` that was found on the host,
    null where there is none. The result is {code, signal, words}, as of a program that pours.
    """
    source = encode_source(key_from) if key_from is not None else None
    return agent.open("talk", argv=list(argv), key_from=source)
