"""Other clients of streamed completions, installed into environments that are thrown away."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.measure import measure

STREAMS, TOKENS = 32, 400
# The difference of two runs leaves out what importing and starting cost.
FEW, MANY = 32, 416


@dataclass(frozen=True, slots=True)
class Peer:
    """What to install, and the command that sends `{requests}` requests to `{port}`."""

    packages: tuple[str, ...]
    argv: tuple[str, ...]


PEERS = {
    "guidellm": Peer(
        ("guidellm",),
        (
            *("guidellm", "benchmark", "run", "--target", "http://127.0.0.1:{port}"),
            *("--model", "bench", "--processor", "{tokenizer}", "--profile", "concurrent"),
            *("--rate", "{streams}", "--max-requests", "{requests}", "--disable-console"),
            *("--data", "prompt_tokens=12,output_tokens={tokens}", "--output-dir", "{folder}"),
        ),
    ),
    "aiperf": Peer(
        ("aiperf",),
        (
            *("aiperf", "profile", "--url", "http://127.0.0.1:{port}", "-m", "bench"),
            *("--endpoint-type", "completions", "--streaming", "--tokenizer", "{tokenizer}"),
            *("--concurrency", "{streams}", "--request-count", "{requests}", "--ui", "none"),
            *("--isl", "12", "--osl", "{tokens}", "--artifact-dir", "{folder}"),
        ),
    ),
    "vllm": Peer(
        ("vllm",),
        (
            *("vllm", "bench", "serve", "--backend", "openai", "--port", "{port}"),
            *("--model", "bench", "--tokenizer", "{tokenizer}", "--dataset-name", "random"),
            *("--random-input-len", "12", "--random-output-len", "{tokens}", "--ignore-eos"),
            *("--num-prompts", "{requests}", "--max-concurrency", "{streams}"),
        ),
    ),
    "sglang": Peer(
        ("sglang",),
        (
            *("python", "-m", "sglang.bench_serving", "--backend", "vllm", "--port", "{port}"),
            *("--model", "bench", "--tokenizer", "{tokenizer}", "--dataset-name", "random"),
            *("--random-input-len", "12", "--random-output-len", "{tokens}"),
            *("--random-range-ratio", "1", "--num-prompts", "{requests}"),
            *("--max-concurrency", "{streams}"),
        ),
    ),
}


def measure_peer(name: str, port: int, tokenizer: str) -> float | None:
    """CPU µs per event of the peer at 32 streams; None when it cannot be installed or run."""
    peer = PEERS[name]
    with tempfile.TemporaryDirectory() as folder:
        binaries = Path(folder) / "venv/bin"
        try:
            subprocess.run([sys.executable, "-m", "venv", str(binaries.parent)], check=True)
            pip = [str(binaries / "python"), "-m", "pip", "install", "-q", *peer.packages]
            subprocess.run(pip, check=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"{name} cannot be installed: {problem}", file=sys.stderr)
            return None
        spent = []
        for requests in (FEW, MANY):
            values = {"port": port, "tokenizer": tokenizer, "streams": STREAMS, "tokens": TOKENS}
            words = [word.format(requests=requests, folder=folder, **values) for word in peer.argv]
            cost = measure([str(binaries / words[0]), *words[1:]])
            if cost.status != 0:
                print(f"{name} ended with status {cost.status}", file=sys.stderr)
                return None
            spent.append(cost.cpu_s)
    return round((spent[1] - spent[0]) / ((MANY - FEW) * TOKENS) * 1e6, 1)
