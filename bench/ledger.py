"""A server that speculates by the dice and writes down all that it did; a process of its own.

    python -m bench.ledger [--engine vllm|sglang] [--ranks 2] [--pause-ms 4] [--restart-after N]

Prints its port as the first line of its output. Each step of an answer accepts some of the five
draft tokens, so that an event brings one to six; the counters of `/metrics` are those of as many
ranks as there are, and one of them begins anew after `--restart-after` answers. `/ledger` has every
answer as it was given: tokens, steps, accepted tokens, and when its first and last event were
written, by the monotonic clock. An answer's text begins with its number.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from dataclasses import asdict, dataclass, field

SHARES = (0.75, 0.6, 0.5, 0.45, 0.4)  # of a draft token, given that the one before was accepted
WORD, PROMPT_TOKENS, MODEL = "ab ", 12, "ledger"


@dataclass(slots=True)
class Entry:
    """One answer as it was given."""

    number: int
    rank: int
    tokens: int = 0
    events: int = 0
    steps: int = 0
    accepted: int = 0
    positions: list[int] = field(default_factory=lambda: [0] * len(SHARES))
    first_ns: int = 0
    last_ns: int = 0


@dataclass(slots=True)
class Rank:
    """The counters of one engine since `born`."""

    born: float
    generated: int = 0
    steps: int = 0
    accepted: int = 0
    positions: list[int] = field(default_factory=lambda: [0] * len(SHARES))


class Ledger:
    """The server's books, and how it throws the dice."""

    def __init__(self, asked: argparse.Namespace) -> None:
        self.engine: str = asked.engine
        self.pause_s: float = asked.pause_ms / 1000
        self.restart_after: int | None = asked.restart_after
        self.dice = random.Random(asked.seed)
        self.ranks = [Rank(time.time() - 100) for _ in range(asked.ranks)]
        self.entries: list[Entry] = []
        self.done = 0

    def begin(self) -> Entry:
        """The page for a new answer; ranks take turns."""
        entry = Entry(len(self.entries), len(self.entries) % len(self.ranks))
        self.entries.append(entry)
        return entry

    def step(self, entry: Entry, wanted: int) -> int:
        """Throw for one step and book it; how many tokens it gives.

        As real engines do, the last step books what it accepted beyond the tokens that are sent.
        """
        rank = self.ranks[entry.rank]
        accepted = 0
        while accepted < len(SHARES) and self.dice.random() < SHARES[accepted]:
            accepted += 1
        for page in (entry, rank):
            page.steps += 1
            page.accepted += accepted
            for place in range(accepted):
                page.positions[place] += 1
        return min(accepted + 1, wanted - entry.tokens)

    def give(self, entry: Entry, tokens: int) -> None:
        """Book tokens that are sent now."""
        now_ns = time.monotonic_ns()
        entry.first_ns = entry.first_ns or now_ns
        entry.last_ns = now_ns
        entry.tokens += tokens
        entry.events += 1
        self.ranks[entry.rank].generated += tokens

    def end(self) -> None:
        """Book the end of an answer; the last rank may restart now."""
        self.done += 1
        if self.done == self.restart_after:
            self.ranks[-1] = Rank(time.time())

    def metrics(self) -> str:
        """The counters as vLLM writes them."""
        lines = []
        for number, rank in enumerate(self.ranks):
            labels = f'engine="{number}",model_name="{MODEL}"'
            for name, value in (
                ("generation_tokens", rank.generated),
                ("spec_decode_num_drafts", rank.steps),
                ("spec_decode_num_draft_tokens", rank.steps * len(SHARES)),
                ("spec_decode_num_accepted_tokens", rank.accepted),
            ):
                lines.append(f"vllm:{name}_total{{{labels}}} {value}.0")
                lines.append(f"vllm:{name}_created{{{labels}}} {rank.born}")
            for place, value in enumerate(rank.positions):
                name = "vllm:spec_decode_num_accepted_tokens_per_pos"
                lines.append(f'{name}_total{{{labels},position="{place}"}} {value}.0')
                lines.append(f'{name}_created{{{labels},position="{place}"}} {rank.born}')
        return "\n".join(lines) + "\n"

    def read(self, path: str) -> tuple[str, str]:
        """Status and body of a route that does not generate."""
        routes = {
            "/v1/models": json.dumps({"data": [{"id": MODEL, "owned_by": self.engine}]}),
            "/ledger": json.dumps([asdict(entry) for entry in self.entries]),
        }
        if self.engine == "vllm":
            routes |= {"/version": '{"version": "0.32.0"}', "/metrics": self.metrics()}
        else:
            info: dict[str, object] = {"version": "0.5.23", "model_path": MODEL}
            info |= {"speculative_algorithm": "EAGLE3", "speculative_num_steps": len(SHARES)}
            routes["/server_info"] = json.dumps(info)
        return ("200 OK", routes[path]) if path in routes else ("404 Not Found", "{}")

    def event(self, entry: Entry, tokens: int, *, is_last: bool) -> bytes:
        """An event as the engine writes it, the text of SGLang being all text so far."""
        text = f"{entry.number}: " if entry.events == 1 else ""
        if self.engine == "vllm":
            choice = {"index": 0, "text": text + WORD * tokens}
            choice["finish_reason"] = "length" if is_last else None
            usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": entry.tokens}
            return _data({"choices": [choice], "usage": usage})
        meta: dict[str, object] = {"prompt_tokens": PROMPT_TOKENS, "finish_reason": None}
        meta["completion_tokens"] = entry.tokens
        if is_last:
            reached = [entry.steps, *entry.positions, 0]
            meta |= {
                "finish_reason": {"type": "length", "length": entry.tokens},
                "spec_verify_ct": entry.steps,
                "spec_num_correct_drafts": entry.accepted,
                "spec_num_proposed_drafts": entry.steps * len(SHARES),
                "spec_correct_drafts_histogram": [
                    reached[n] - reached[n + 1] for n in range(len(SHARES) + 1)
                ],
            }
        return _data({"text": f"{entry.number}: {WORD * entry.tokens}", "meta_info": meta})


def _data(value: object) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


async def _answer(ledger: Ledger, body: dict[str, object], writer: asyncio.StreamWriter) -> None:
    """Stream one answer; the first token comes with the prefill, without a draft."""
    sampling = body.get("sampling_params")
    table = sampling if isinstance(sampling, dict) else body
    wanted = int(str(table.get("max_new_tokens") or table.get("max_tokens") or 16))
    entry = ledger.begin()
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
    writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
    tokens = 1
    while True:
        await asyncio.sleep(ledger.pause_s)
        ledger.give(entry, tokens)
        is_last = entry.tokens >= wanted
        if is_last:
            ledger.end()
        data = ledger.event(entry, tokens, is_last=is_last)
        if is_last:
            data += b"data: [DONE]\n\n"
        writer.write(b"%x\r\n%b\r\n" % (len(data), data) + (b"0\r\n\r\n" if is_last else b""))
        await writer.drain()
        if is_last:
            return
        tokens = ledger.step(entry, wanted)


async def _connected(
    ledger: Ledger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            method, path = head.split(" ", 2)[:2]
            size = next(
                (int(line[16:]) for line in head.split("\r\n") if line[:15] == "content-length:"), 0
            )
            body = await reader.readexactly(size)
            if method == "post":
                await _answer(ledger, json.loads(body), writer)
                continue
            status, text = ledger.read(path)
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def serve(asked: argparse.Namespace) -> None:
    """Serve until the process is ended."""
    ledger = Ledger(asked)
    server = await asyncio.start_server(lambda r, w: _connected(ledger, r, w), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", choices=("vllm", "sglang"), default="vllm")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--pause-ms", type=float, default=4.0)
    parser.add_argument("--restart-after", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asyncio.run(serve(parser.parse_args()))
