"""A server that answers with the very bytes that a test wants, over real sockets."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DONE = b"data: [DONE]\n\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(text: str, finish: str | None = None, **more: object) -> bytes:
    value = {"choices": [{"index": 0, "text": text, "finish_reason": finish}], **more}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def usage(tokens: int) -> bytes:
    value = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": tokens}}
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def answer(
    body: bytes, status: str = "200 OK", *more: str, kind: str = "application/json"
) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *more]
    return "\r\n".join([*lines, "", ""]).encode() + body


@dataclass
class Speaker:
    """What came in: the head and body of each request, and how many connections there were."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    connections: int = 0
    lost: asyncio.Event = field(default_factory=asyncio.Event)  # a client closed its connection

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


Answer = Callable[[Speaker, asyncio.StreamWriter], Awaitable[None]]


def saying(*parts: bytes) -> Answer:
    """Write these parts, each one a write of its own."""

    async def answer(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)

    return answer


def closing(*parts: bytes) -> Answer:
    """The same, and then close the connection."""

    async def answer(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(parts))
        await writer.drain()
        writer.close()

    return answer


@asynccontextmanager
async def speak(
    *answers: Answer, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Speaker]:
    """Serve the answers in turn, the last one for ever; a closed connection is not waited for."""
    speaker = Speaker()
    talks: list[tuple[asyncio.Task[None] | None, asyncio.StreamWriter]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        speaker.connections += 1
        talks.append((asyncio.current_task(), writer))
        try:
            while not writer.is_closing():
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                fields = dict(
                    line.lower().split(": ", 1) for line in head.strip().split("\r\n")[1:]
                )
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                speaker.heads.append(head)
                speaker.bodies.append(body)
                say = answers[min(len(speaker.heads), len(answers)) - 1]
                await say(speaker, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            speaker.lost.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, host, 0, ssl=tls)
    speaker.port = server.sockets[0].getsockname()[1]
    try:
        yield speaker
    finally:
        server.close()
        for _, writer in talks:
            writer.transport.abort()
        await asyncio.gather(*(task for task, _ in talks if task is not None))
