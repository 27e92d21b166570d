"""One question to a server, as bytes to send, with what is known of it beforehand."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.core.measure.completion import Generation, build_body
from firedup.core.measure.prompt import Prompt
from firedup.probe.key import ApiKey
from firedup.probe.url import ServerUrl


@dataclass(frozen=True, slots=True)
class Call:
    """A request to the route `path`.

    `due_ns`: when it was to be sent by the monotonic clock; an open loop counts waiting for the
    client as waiting. `keeps_gaps`: the time between tokens is wanted too, where it can be known.
    `at_most`: of all that say so, so many are under way at a time; a client on the server's host
    sees to it, since more may have been handed to it.
    """

    path: str
    body: bytes
    prompt: str = ""
    category: str = ""
    due_ns: int | None = None
    is_warm_up: bool = False
    block: int = 0
    keeps_gaps: bool = False
    turn: int = 1
    at_most: int | None = None


def make_call(
    path: str,
    model: str | None,
    prompt: Prompt,
    generation: Generation,
    *,
    due_ns: int | None = None,
    is_warm_up: bool = False,
    block: int = 0,
    keeps_gaps: bool = False,
    turn: int = 1,
    at_most: int | None = None,
) -> Call:
    """The call that asks the route `path` for the answer to `prompt`."""
    body = build_body(path, model, prompt.messages, prompt.text, generation)
    return Call(
        path,
        body.encode(),
        prompt.id,
        prompt.category,
        due_ns,
        is_warm_up,
        block,
        keeps_gaps,
        turn,
        at_most,
    )


def make_head(url: ServerUrl, method: str, path: str, size: int, key: ApiKey | None) -> bytes:
    """The head of an HTTP request whose body has `size` bytes; compression is not asked for."""
    lines = [
        f"{method} {url.prefix}{path} HTTP/1.1",
        f"Host: {url.authority}",
        "User-Agent: firedup",
        "Accept: text/event-stream, application/json, */*;q=0.5",
        "Accept-Encoding: identity",
    ]
    if size or method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {size}"]
    if key is not None:
        lines.append(f"Authorization: {key.header()}")
    return "\r\n".join([*lines, "", ""]).encode("ascii")
