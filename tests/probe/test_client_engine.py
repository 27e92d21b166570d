"""The client beside a real llama.cpp server: what the scripted ones stand for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.util import find_spec

import pytest
from port import free_port

from firedup.core.measure.completion import Generation
from firedup.core.measure.prompt import single
from firedup.demo.engine import engine_command
from firedup.demo.model import TARGET, TRAINED, model_path
from firedup.probe.call import Call, make_call
from firedup.probe.client import Client, Limits
from firedup.probe.url import parse_url

pytestmark = [
    pytest.mark.engine,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="firedup[demo] is not installed"),
]
PROMPT = single("code/close", "code", "def close(self):\n", "a test")
TOKENS = 24
LIMITS = Limits(first_s=120, gap_s=120)  # the machine may have other work


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A client of a server with a drafter, which is up."""
    port = free_port()
    argv = engine_command(
        *("-m", str(model_path(TARGET)), "-md", str(model_path(TRAINED))),
        *("--spec-type", str(TRAINED.speculation), "-t", "1", "-c", "512", "--port", str(port)),
    )
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(*argv, stdout=quiet, stderr=quiet)
    try:
        async with Client(parse_url(f"http://127.0.0.1:{port}"), limits=LIMITS) as client:
            while (await client.fetch("/health")).status != 200:
                assert process.returncode is None
                await asyncio.sleep(0)
            yield client
    finally:
        process.kill()
        await process.wait()


@pytest.mark.parametrize("route", ["/v1/completions", "/v1/chat/completions", "/completion"])
async def test_a_real_stream_is_counted_as_the_server_counts_it(client: Client, route: str) -> None:
    how = Generation(TOKENS, streams=True, ignores_eos=True, engine="llama-cpp")

    first = await client.complete(make_call(route, None, PROMPT, how, keeps_gaps=True))
    again = await client.complete(make_call(route, None, PROMPT, how, keeps_gaps=True))

    for request in (first, again):
        assert request.error is None
        assert request.tokens == TOKENS
        assert request.finish in ("length", "limit")
        assert request.events <= TOKENS
        assert request.first_tokens is not None
        assert request.gaps_ns is not None
        assert TOKENS - request.first_tokens <= len(request.gaps_ns) < TOKENS
        assert request.begun_ns < (request.first_ns or 0) <= (request.last_ns or 0)
    assert first.text == again.text


async def test_a_real_answer_that_does_not_stream_has_the_same_text(client: Client) -> None:
    def call(*, streams: bool) -> Call:
        how = Generation(TOKENS, streams=streams, ignores_eos=True, engine="llama-cpp")
        return make_call("/v1/completions", None, PROMPT, how)

    streamed = await client.complete(call(streams=True))
    whole = await client.complete(call(streams=False))

    assert (whole.text, whole.tokens) == (streamed.text, streamed.tokens)
    assert whole.ttft_s is None


async def test_a_real_server_refuses_in_words_and_goes_on(client: Client) -> None:
    refused = await client.complete(Call("/v1/completions", b'{"stream": true}'))
    missing = await client.complete(Call("/v2/nothing", b"{}"))
    how = Generation(4, streams=True)
    good = await client.complete(make_call("/v1/completions", None, PROMPT, how))

    assert (refused.error or "").startswith("/v1/completions answered 400: ")
    assert (missing.error or "").startswith("/v2/nothing answered 404")
    assert (good.error, good.tokens) == (None, 4)
