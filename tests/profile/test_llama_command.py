"""Commands that start llama.cpp's server, read and composed by its profile."""

from __future__ import annotations

import shlex

import pytest
from compiled import builtin_catalogue

from firedup.core.model import ServerSpec
from firedup.profile.command import read_command
from firedup.profile.compose import compose_command

CATALOGUE = builtin_catalogue()


def read(command: str, **env: str) -> ServerSpec:
    return read_command(shlex.split(command), env, CATALOGUE)


@pytest.mark.parametrize(
    "program",
    [
        "llama-server",
        "/opt/llama.cpp/build/bin/llama-server",
        "llama-server-vulkan",
        "python3 -m firedup.demo.engine",
    ],
)
def test_a_server_is_recognised_however_it_is_started(program: str) -> None:
    spec = read(f"{program} -m /m/t.gguf --port 8085 -c 4096")
    assert (spec.engine, spec.model, spec.port) == ("llama-cpp", "/m/t.gguf", 8085)
    assert (spec.bind, spec.purpose) == ("127.0.0.1", "generate")
    assert not spec.asks_for_speculation


def test_the_port_is_8080_when_none_is_given() -> None:
    assert read("llama-server -m /m/t.gguf").port == 8080


@pytest.mark.parametrize("flag", ["-md", "--model-draft", "--spec-draft-model"])
def test_the_drafter_is_found_in_every_spelling(flag: str) -> None:
    spec = read(f"llama-server -m /m/t.gguf {flag} /m/d.gguf --spec-type draft-eagle3")
    assert (spec.draft, spec.algorithm) == ("/m/d.gguf", "draft-eagle3")


@pytest.mark.parametrize("flag", ["--embedding", "--embeddings", "--reranking"])
def test_an_embedding_server_is_asked_for_no_token(flag: str) -> None:
    spec = read(f"llama-server {flag} -m /m/t.gguf")
    assert (spec.purpose, spec.model) == ("embedding", "/m/t.gguf")


@pytest.mark.parametrize(("level", "is_hidden"), [("1", True), ("3", False), ("4", False)])
def test_a_low_verbosity_hides_the_ready_line(level: str, is_hidden: bool) -> None:
    assert read(f"llama-server -m /m/t.gguf -lv {level}").hides_ready_line is is_hidden


def test_a_key_is_seen_in_the_command_and_in_the_environment() -> None:
    assert read("llama-server -m /m/t.gguf --api-key k").has_api_key
    assert read("llama-server -m /m/t.gguf", LLAMA_API_KEY="k").has_api_key


def test_a_composed_command_reads_as_what_was_asked() -> None:
    words = compose_command(
        CATALOGUE, "llama-cpp", target="/m/t.gguf", draft="/m/d.gguf", host="0.0.0.0", port=8085
    )
    spec = read_command(words, {}, CATALOGUE)
    assert (spec.model, spec.draft, spec.algorithm) == ("/m/t.gguf", "/m/d.gguf", "draft-eagle3")
    assert (spec.bind, spec.port) == ("0.0.0.0", 8085)
