"""Other clients of streamed completions, each in an environment of its own, beside ours."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measure import measure
from firedup.core.error import FiredupError
from firedup.demo.vllm_home import install

TOKENS = 400
# The difference of two runs leaves out what importing and starting cost. That is 5 to 30 s of CPU,
# and differs by a second from run to run: so many events that this is a small part of them.
MORE = 1152


@dataclass(frozen=True, slots=True)
class Peer:
    """What pip is told, call by call, and the command that sends `{requests}` requests."""

    installs: tuple[str, ...]
    argv: tuple[str, ...]


_GUIDELLM_BACKEND = (
    "kind=openai_http,model=bench,request_format=/v1/completions,target=http://127.0.0.1:{port}"
)
# What its client imports; all that SGLang itself asks for is many GB of CUDA.
_SGLANG_NEEDS = (
    "aiohttp datasets fastapi ipython msgspec numpy orjson pillow psutil pybase64 pyzmq requests"
    " scipy torch torchvision tqdm transformers uvicorn uvloop"
)
_SGLANG_ALONE = (
    "sglang apache-tvm-ffi anthropic blobfile compressed-tensors dill distro docstring-parser"
    " easydict einops gguf interegular jiter jsonschema llguidance loguru nvidia-ml-py openai"
    " openai-harmony outlines outlines_core partial_json_parser prometheus-client py-spy"
    " python-multipart sentencepiece setproctitle tiktoken triton watchfiles xgrammar xxhash"
    " zstandard"
)
PEERS = {
    "guidellm": Peer(
        ("guidellm",),
        (
            *("guidellm", "run", "--disable-console", "--backend", _GUIDELLM_BACKEND),
            *("--profile", "kind=concurrent,streams={streams}"),
            *("--constraint", "kind=max_requests,count={requests}"),
            *("--tokenizer", "kind=huggingface_auto,model={tokenizer}"),
            *("--data", "kind=synthetic_text,prompt_tokens=12,output_tokens={tokens}"),
            *("--output", "kind=json,path={folder}/guidellm.json"),
        ),
    ),
    "aiperf": Peer(
        ("aiperf",),
        (
            *("aiperf", "profile", "--url", "http://127.0.0.1:{port}", "-m", "bench"),
            *("--endpoint-type", "completions", "--streaming", "--tokenizer", "{tokenizer}"),
            *("--concurrency", "{streams}", "--request-count", "{requests}", "--ui", "none"),
            *("--isl", "12", "--osl", "{tokens}", "--artifact-dir", "{folder}/aiperf-results"),
        ),
    ),
    # The build for CPUs, with what it needs, as firedup's demo has it.
    "vllm": Peer(
        (),
        (
            *("vllm", "bench", "serve", "--backend", "openai", "--port", "{port}"),
            *("--model", "bench", "--tokenizer", "{tokenizer}", "--dataset-name", "random"),
            *("--random-input-len", "12", "--random-output-len", "{tokens}", "--ignore-eos"),
            *("--num-prompts", "{requests}", "--max-concurrency", "{streams}"),
        ),
    ),
    "sglang": Peer(
        (_SGLANG_NEEDS, f"--no-deps {_SGLANG_ALONE}"),
        (
            # Its client of /v1/completions breaks at an event without a choice, such as the usage.
            *("python", "-m", "sglang.bench_serving", "--backend", "vllm-chat"),
            *("--host", "127.0.0.1", "--port", "{port}", "--dataset-name", "random-ids"),
            *("--model", "{tokenizer}", "--tokenizer", "{tokenizer}"),
            *("--random-input-len", "12", "--random-output-len", "{tokens}"),
            *("--random-range-ratio", "1", "--num-prompts", "{requests}"),
            *("--max-concurrency", "{streams}"),
        ),
    ),
}  # fmt: skip


def prepare_peer(name: str, home: Path) -> Path | None:
    """The folder with the peer's programs, below `home`, made if need be; None if it cannot be."""
    folder = home / name
    if name == "vllm":
        try:
            install({"XDG_DATA_HOME": str(home)}, lambda said: print(said, file=sys.stderr))
        except FiredupError as problem:
            print(f"vllm cannot be installed: {problem.what}", file=sys.stderr)
            return None
        return home / "firedup/vllm/bin"
    if not folder.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
            for words in PEERS[name].installs:
                pip = [str(folder / "bin/python"), "-m", "pip", "install", "-q", *words.split()]
                subprocess.run(pip, check=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            print(f"{name} cannot be installed: {problem}", file=sys.stderr)
            return None
    return folder / "bin"


def measure_peer(
    name: str, programs: Path, port: int, tokenizer: Path, streams: int
) -> float | None:
    """CPU µs per event of the peer, its own processes included.

    None when it does not run, or when starting it took more the first time than all the rest.
    """
    spent = []
    for requests in (streams, streams + MORE):
        values = {"port": port, "tokenizer": tokenizer, "streams": streams, "tokens": TOKENS}
        folder = programs.parent
        words = [
            word.format(requests=requests, folder=folder, **values) for word in PEERS[name].argv
        ]
        cost = measure([str(programs / words[0]), *words[1:]], cwd=folder)  # results lie there
        if cost.status != 0:
            print(f"{name} ended with status {cost.status}", file=sys.stderr)
            return None
        spent.append(cost.cpu_s)
    cost_us = (spent[1] - spent[0]) / (MORE * TOKENS) * 1e6
    return round(cost_us, 1) if cost_us > 0 else None
