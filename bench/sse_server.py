"""A server of streamed completions whose every answer is known, for benches; a process of its own.

    python -m bench.sse_server [--tokens-per-event 1] [--pause-ms 0]

Prints its port as the first line of its output. It answers POST on any path with as many tokens as
`max_tokens` says, in OpenAI's form of the route. All streams under way get their next event in
turn, as those of an engine's batch do, and then comes a pause; without one each event is still a
write of its own. GET /ledger lists for each answer when its first and its last event were written
(by the monotonic clock, which processes share) and how many tokens it had.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import dataclass, field

PROMPT_TOKENS = 12
WORDS = (" quick", " brown", " fox", " jumps", " over", " the", " lazy", " dog")


@dataclass(slots=True)
class Stream:
    """One answer under way."""

    transport: asyncio.Transport
    is_chat: bool
    wanted: int
    sent: int = 0
    first_ns: int = 0
    last_ns: int = 0


@dataclass(slots=True)
class Engine:
    """Sends each stream its next event, in turn."""

    tokens_per_event: int
    events_per_write: int
    pause_s: float
    streams: list[Stream] = field(default_factory=list)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    ledger: list[tuple[int, int, int]] = field(default_factory=list)

    async def run(self) -> None:
        """Until the process ends."""
        while True:
            if not self.streams:
                self.wake.clear()
                await self.wake.wait()
            for stream in self.streams:
                self.advance(stream)
            self.streams = [one for one in self.streams if one.sent < one.wanted]
            await asyncio.sleep(self.pause_s)

    def advance(self, stream: Stream) -> None:
        """Send the next events of a stream, or its end."""
        if stream.transport.is_closing():
            stream.sent = stream.wanted
            return
        # A client that is slower than this is waited for, not served from memory.
        if stream.transport.get_write_buffer_size() > 1 << 16:
            return
        parts = []
        for _ in range(self.events_per_write):
            tokens = min(self.tokens_per_event, stream.wanted - stream.sent)
            text = "".join(WORDS[(stream.sent + i) % len(WORDS)] for i in range(tokens))
            stream.sent += tokens
            parts.append(chunk(event(stream, text)))
            if stream.sent == stream.wanted:
                parts += [chunk(usage(stream)), chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"]
                break
        stream.last_ns = time.monotonic_ns()
        stream.first_ns = stream.first_ns or stream.last_ns
        stream.transport.write(b"".join(parts))
        if stream.sent == stream.wanted:
            self.ledger.append((stream.first_ns, stream.last_ns, stream.sent))


# As vLLM writes them, with the time of writing among the fields; text and finish come last.
HEAD = (
    b'data: {"id":"cmpl-8a9d6b1a2f7c4d6e8a9d6b1a2f7c4d6e","object":"text_completion",'
    b'"created":1764463246,"model":"bench","choices":'
)
PLAIN = HEAD + b'[{"index":0,"text":"%b","logprobs":null,"finish_reason":%b}]}\n\n'
CHAT = HEAD + b'[{"index":0,"delta":{"content":"%b"},"logprobs":null,"finish_reason":%b}]}\n\n'
USAGE = HEAD + b'[],"usage":{"prompt_tokens":%d,"completion_tokens":%d}}\n\n'


def event(stream: Stream, text: str) -> bytes:
    """An event with text; the last one says why it is the last."""
    finish = b'"length"' if stream.sent == stream.wanted else b"null"
    form = CHAT if stream.is_chat else PLAIN
    return form % (text.encode(), finish)


def usage(stream: Stream) -> bytes:
    """The event with the usage alone."""
    return USAGE % (PROMPT_TOKENS, stream.sent)


def chunk(data: bytes) -> bytes:
    """`data` as a chunk of HTTP/1.1."""
    return b"%x\r\n%b\r\n" % (len(data), data)


JSON_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Connection(asyncio.Protocol):
    """Reads requests and gives them to the engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.rest = b""
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Take requests apart: clients of a bench send well-formed ones."""
        self.rest += data
        while b"\r\n\r\n" in self.rest:
            head, _, body = self.rest.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            headers = dict(line.lower().split(": ", 1) for line in lines[1:])
            if headers.get("transfer-encoding") == "chunked":
                if b"0\r\n\r\n" not in body:
                    return
                body, _, self.rest = body.partition(b"0\r\n\r\n")
                self.answer(lines[0], b"".join(body.split(b"\r\n")[1::2]))
                continue
            size = int(headers.get("content-length", "0"))
            if len(body) < size:
                return
            self.rest = body[size:]
            self.answer(lines[0], body[:size])

    def answer(self, line: str, body: bytes) -> None:
        """Begin a stream, or say what models there are to who asks."""
        assert self.transport is not None
        if line.startswith("GET"):
            listing = {"object": "list", "data": [{"id": "bench"}]}
            listed = json.dumps(self.engine.ledger if "/ledger" in line else listing).encode()
            self.transport.write(JSON_HEAD % len(listed) + listed)
            return
        if not body:
            self.transport.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        asked = json.loads(body)
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        wanted = asked.get("max_tokens") or asked.get("max_completion_tokens") or 16
        self.engine.streams.append(Stream(self.transport, "/chat/" in line, int(wanted)))
        self.engine.wake.set()


async def serve(tokens_per_event: int, events_per_write: int, pause_s: float) -> None:
    """Serve until the process is ended."""
    engine = Engine(tokens_per_event, events_per_write, pause_s)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(engine), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await engine.run()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens-per-event", type=int, default=1)
    parser.add_argument("--events-per-write", type=int, default=1)
    parser.add_argument("--pause-ms", type=float, default=0)
    asked = parser.parse_args()
    asyncio.run(serve(asked.tokens_per_event, asked.events_per_write, asked.pause_ms / 1000))
