"""The fake engine's HTTP side: health by time, one text for every prompt, scripted counters."""

from __future__ import annotations

import json
import math
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from firedup.testing.script import Http, Speculation

HEALTH = ("/health", "/v1/health", "/health_generate", "/ping")
GENERATE = ("/v1/completions", "/v1/chat/completions", "/generate", "/completion")


class Counters:
    """Acceptance counters that follow a Speculation exactly, whatever is asked for in between."""

    def __init__(self, speculation: Speculation) -> None:
        self.speculation = speculation
        self.steps = 0
        self.accepted = 0
        self.tokens = 0
        self.by_position = [0] * speculation.proposed

    @property
    def proposed(self) -> int:
        """Tokens drafted so far."""
        return self.steps * self.speculation.proposed

    def generate(self, tokens: int) -> None:
        """Take the verify steps that yield at least `tokens` tokens."""
        wanted = self.tokens + tokens
        while self.tokens < wanted:
            self.steps += 1
            due = math.floor((self.speculation.length - 1) * self.steps + 1e-9)
            accepted = min(due - self.accepted, self.speculation.proposed)
            self.accepted += accepted
            self.tokens += accepted + 1
            for position in range(accepted):
                self.by_position[position] += 1

    def render(self) -> str:
        """Prometheus text in the engine's own names."""
        if self.speculation.dialect == "sglang":
            length = 1 + self.accepted / self.steps if self.steps else 0.0
            return (
                f"sglang:spec_accept_length {length}\nsglang:spec_verify_calls_total {self.steps}\n"
            )
        prefix, label = {
            "vllm": ("vllm:", 'engine="0",model_name="fake"'),
            "llama-cpp": ("llamacpp:", ""),
        }[self.speculation.dialect]
        head = f"{prefix}spec_decode_num_"
        labels = f"{{{label}}}" if label else ""
        rows = [
            f"{head}drafts_total{labels} {self.steps}",
            f"{head}draft_tokens_total{labels} {self.proposed}",
            f"{head}accepted_tokens_total{labels} {self.accepted}",
        ]
        for position, count in enumerate(self.by_position):
            mark = ",".join(part for part in (label, f'position="{position}"') if part)
            rows.append(f"{head}accepted_tokens_per_pos_total{{{mark}}} {count}")
        if self.speculation.dialect == "llama-cpp":
            rows += [
                f"{prefix}tokens_predicted_total {self.tokens}",
                f"{prefix}n_decode_total {self.steps}",
            ]
        return "\n".join(rows) + "\n"


class FakeServer(ThreadingHTTPServer):
    """Listens as soon as it is made; `elapsed_s` is the script's clock."""

    daemon_threads = True

    def __init__(self, http: Http, port: int, elapsed_s: Callable[[], float]) -> None:
        self.http = http
        self.elapsed_s = elapsed_s
        self.counters = Counters(http.speculation) if http.speculation else None
        self.lock = Lock()
        super().__init__((http.host, port), _Handler)

    def status(self) -> int:
        """Answer of the health route at this moment."""
        now = self.elapsed_s()
        passed = [status for at, status in self.http.health if at <= now]
        return passed[-1] if passed else 503

    def metrics(self) -> str:
        """Text of the metrics route."""
        with self.lock:
            return self.counters.render() if self.counters else ""

    def generate(self, tokens: int) -> dict[str, Any]:
        """Generate, and say what SGLang's native route reports about this request alone."""
        facts: dict[str, Any] = {"completion_tokens": tokens, "finish_reason": {"type": "length"}}
        if self.counters is None:
            return facts
        with self.lock:
            counters = self.counters
            steps, accepted = counters.steps, counters.accepted
            counters.generate(tokens)
            steps, accepted = counters.steps - steps, counters.accepted - accepted
            proposed = steps * counters.speculation.proposed
        return facts | {
            "spec_verify_ct": steps,
            "spec_accept_length": tokens / steps,
            "spec_num_correct_drafts": accepted,
            "spec_num_proposed_drafts": proposed,
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keep the log to the script's own words."""

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        if path in HEALTH:
            self._send(self.server.status(), b"")
        elif path == "/metrics":
            self._send(200, self.server.metrics().encode(), "text/plain; version=0.0.4")
        elif path == "/v1/models":
            self._json(200, {"object": "list", "data": [{"id": "fake", "object": "model"}]})
        else:
            self._json(404, {"error": f"no route {path}"})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, key = self.path.split("?")[0], self.server.http.api_key
        if path not in GENERATE:
            self._json(404, {"error": f"no route {path}"})
        elif key is not None and self.headers.get("Authorization") != f"Bearer {key}":
            self._json(401, {"error": "the key is missing or wrong"})
        elif self.server.status() != 200:
            self._json(503, {"error": "not ready"})
        else:
            self._generate(path, json.loads(body or b"{}"))

    def _generate(self, path: str, asked: dict[str, Any]) -> None:
        sampling = asked.get("sampling_params", {})
        tokens = int(
            asked.get("max_tokens")
            or asked.get("n_predict")
            or sampling.get("max_new_tokens")
            or 16
        )
        facts = self.server.generate(tokens)
        text = self.server.http.text * tokens
        usage = {"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1}
        if path == "/generate":
            self._json(200, {"text": text, "meta_info": facts})
        elif path == "/completion":
            self._json(200, {"content": text, "tokens_predicted": tokens})
        elif asked.get("stream"):
            self._stream(tokens, usage)
        elif path == "/v1/completions":
            choice = {"index": 0, "text": text, "finish_reason": "length"}
            self._json(200, {"object": "text_completion", "choices": [choice], "usage": usage})
        else:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": "length"}
            self._json(200, {"object": "chat.completion", "choices": [choice], "usage": usage})

    def _stream(self, tokens: int, usage: dict[str, int]) -> None:
        rows: list[dict[str, Any]] = [
            {"choices": [{"index": 0, "text": self.server.http.text}]} for _ in range(tokens)
        ]
        rows.append({"choices": [], "usage": usage})
        data = "".join(f"data: {json.dumps(row)}\n\n" for row in rows) + "data: [DONE]\n\n"
        self._send(200, data.encode(), "text/event-stream")

    def _json(self, status: int, value: dict[str, Any]) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _send(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
