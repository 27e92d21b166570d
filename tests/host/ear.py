"""Who is told of events in tests: a small real HTTP server, and a server whose moods are known."""

import asyncio
import json
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from firedup.host.manifest import Limits, Recipe, Route, Sign

LIMIT_S = 40.0


@dataclass
class Ear:
    """Takes what is posted to `url`. It answers with `answers` in turn, then with 204."""

    answers: list[int] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    port: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?token=planted-secret"

    @property
    def events(self) -> list[str]:
        return [told["event"] for told in self.told]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer):
            await self._take(reader, writer)
        self._news.set()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next(
            int(line.split(":")[1])
            for line in head.splitlines()
            if line.lower().startswith("content-length:")
        )
        self.told.append(json.loads(await reader.readexactly(length)))
        self.heads.append(head)
        status = self.answers.pop(0) if self.answers else 204
        writer.write(f"HTTP/1.1 {status} Said\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()

    async def hear(self, event: str) -> dict[str, Any]:
        """What is told of `event`, once it is."""
        async with asyncio.timeout(LIMIT_S):
            while event not in self.events:
                self._news.clear()
                await self._news.wait()
        return self.told[self.events.index(event)]

    async def hear_times(self, count: int) -> None:
        """Returns when so many posts came."""
        async with asyncio.timeout(LIMIT_S):
            while len(self.told) < count:
                self._news.clear()
                await self._news.wait()


LIMITS = Limits(
    cpu_share=0.02, read_bytes=4 << 20, growth_bytes=16 << 20, patience_s=600.0, frozen_s=600.0
)


def recipe(port: int | None = None, **changes: Any) -> Recipe:
    """How a keeper judges the server below, without patience where that is asked."""
    given: dict[str, Any] = {
        "ready": (Sign("fired up", ("fired up",)),),
        "stop": (Sign("SIGTERM received"),),
        "bind": "127.0.0.1",
        "address": "127.0.0.1",
        "port": port,
        "health": "/health",
        "token": (Route("/v1/completions", json.dumps({"model": "m", "prompt": "x"})),),
        "token_s": 30.0,
        "limits": LIMITS,
        "causes": {"11": "segmentation-fault", "port": "port-in-use", "oom": "oom"},
        "grace_s": 600.0,
        "health_pauses_s": (0.0, 0.0),
        "token_pauses_s": (0.0, 0.0),
        "post_pauses_s": (0.0, 0.0),
    }
    return Recipe(**(given | changes))


# argv: its port, a folder, its mood. What it is asked is written to FOLDER/asked, a line each.
# It answers the health route and generates when FOLDER/healthy and FOLDER/generous are there.
SERVER = r"""
import http.server, json, os, sys, time
port, folder, mood = int(sys.argv[1]), sys.argv[2], sys.argv[3]
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def note(self, text):
        with open(os.path.join(folder, "asked"), "a") as file: file.write(text + "\n")
    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        self.note(self.path)
        self.answer(200 if os.path.exists(os.path.join(folder, "healthy")) else 503, {})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.note(self.path + " " + str(self.headers.get("Authorization")))
        if mood == "hangs": time.sleep(1000)
        if not os.path.exists(os.path.join(folder, "generous")):
            return self.answer(500, {"error": "no tokens today"})
        usage = {"completion_tokens": 1}
        self.answer(200, {"choices": [{"text": " red"}], "usage": usage})
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
if mood != "mute": print("The server is fired up!", flush=True)
server.serve_forever()
"""
