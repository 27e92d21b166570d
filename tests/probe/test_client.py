"""The client against real sockets that say what servers say, and what broken ones do."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import pytest
from speaker import (
    DONE,
    END,
    STREAM,
    Speaker,
    answer,
    chunk,
    closing,
    event,
    saying,
    speak,
    usage,
)

from firedup.core.measure.completion import Generation
from firedup.core.measure.measured import Request
from firedup.core.measure.prompt import single
from firedup.probe.call import Call, make_call
from firedup.probe.client import Client, Limits
from firedup.probe.key import ApiKey
from firedup.probe.url import parse_url

ROUTE = "/v1/completions"
CALL = Call(ROUTE, b"{}", "chat/one", "chat")
WHOLE = STREAM + b"".join(
    map(chunk, [event("a"), event("b", "length"), usage(2), DONE]),
)
WHOLE += END


@pytest.fixture(params=["httptools", "own"])
def has_own_parser(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "own")


async def ask(speaker: Speaker, call: Call = CALL, **how: Any) -> Request:
    async with Client(parse_url(speaker.url), **how) as client:
        return await client.complete(call)


async def test_a_streamed_answer_is_measured(has_own_parser: bool) -> None:
    async with speak(saying(WHOLE)) as speaker:
        request = await ask(speaker, has_own_parser=has_own_parser)

    assert (request.prompt, request.category) == ("chat/one", "chat")
    assert (request.text, request.tokens, request.events) == ("ab", 2, 2)
    assert (request.finish, request.prompt_tokens, request.error) == ("length", 5, None)
    assert request.first_ns is not None
    assert request.last_ns is not None
    assert request.begun_ns < request.first_ns <= request.last_ns


async def test_bytes_that_come_one_by_one_give_the_same(has_own_parser: bool) -> None:
    async with speak(saying(*(WHOLE[i : i + 1] for i in range(len(WHOLE))))) as speaker:
        request = await ask(speaker, has_own_parser=has_own_parser)

    assert (request.text, request.tokens, request.events) == ("ab", 2, 2)


async def test_a_request_is_plain_http_with_its_key_and_asks_for_no_compression() -> None:
    call = make_call(ROUTE, "m", single("p", "chat", "Hi", "x"), Generation(4, streams=True))
    async with speak(saying(WHOLE)) as speaker:
        await ask(speaker, call, key=ApiKey("sk-1"))

    head = speaker.heads[0].split("\r\n")
    assert head[0] == f"POST {ROUTE} HTTP/1.1"
    assert f"Host: 127.0.0.1:{speaker.port}" in head
    assert "Authorization: Bearer sk-1" in head
    assert "Accept-Encoding: identity" in head
    assert json.loads(speaker.bodies[0])["prompt"] == "Hi"


async def test_the_standard_library_alone_is_enough_on_a_far_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("firedup.probe.chunk", "httptools", "msgspec"):
        monkeypatch.setitem(sys.modules, name, None)  # makes importing it fail
    async with speak(saying(WHOLE)) as speaker:
        request = await ask(speaker, has_own_parser=True)

    assert (request.text, request.tokens, request.events, request.error) == ("ab", 2, 2, None)


async def test_a_connection_serves_one_request_after_the_other(has_own_parser: bool) -> None:
    async with (
        speak(saying(WHOLE)) as speaker,
        Client(parse_url(speaker.url), has_own_parser=has_own_parser) as client,
    ):
        for _ in range(3):
            assert (await client.complete(CALL)).error is None

    assert speaker.connections == 1


async def test_as_many_connections_are_kept_as_there_were_requests_at_once() -> None:
    async with speak(saying(WHOLE)) as speaker, Client(parse_url(speaker.url)) as client:
        await client.open(3)
        for _ in range(2):
            found = await asyncio.gather(*(client.complete(CALL) for _ in range(4)))
            assert [one.error for one in found] == [None] * 4

    assert speaker.connections == 4


async def test_a_chunk_that_is_none_after_a_good_one_is_an_error_of_its_request(
    has_own_parser: bool,
) -> None:
    async with speak(saying(STREAM + chunk(event("a")) + b"ZZZ\r\n")) as speaker:
        request = await ask(speaker, has_own_parser=has_own_parser)

    assert request.error is not None
    assert "no HTTP/1.1" in request.error


async def test_what_timed_out_is_not_asked_again() -> None:
    """Though the connection had answered before: the server is still at work on it."""
    limits = Limits(first_s=0.05)
    async with (
        speak(saying(WHOLE), saying(b"")) as speaker,
        Client(parse_url(speaker.url), limits=limits) as client,
    ):
        first = await client.complete(CALL)
        second = await client.complete(CALL)

    assert first.error is None
    assert second.error is not None
    assert "no text within 0.05 s" in second.error
    assert len(speaker.heads) == 2


async def test_a_connection_that_went_stale_is_replaced_without_a_word() -> None:
    async with (
        speak(closing(WHOLE), saying(WHOLE)) as speaker,
        Client(parse_url(speaker.url)) as client,
    ):
        first = await client.complete(CALL)
        second = await client.complete(CALL)

    assert (first.error, second.error) == (None, None)
    assert speaker.connections == 2


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n", "ab"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n", "ab"),
    ],
)
async def test_an_answer_may_end_with_its_connection(
    said: bytes, text: str, has_own_parser: bool
) -> None:
    async with speak(closing(said, event("a"), event("b", "stop"), usage(2), DONE)) as speaker:
        request = await ask(speaker, has_own_parser=has_own_parser)

    assert (request.text, request.tokens, request.error) == (text, 2, None)


async def test_an_answer_that_does_not_stream_is_accepted_without_a_first_token() -> None:
    choice = {"text": "ab", "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], "usage": {"completion_tokens": 2}}).encode()
    async with speak(saying(answer(body))) as speaker:
        request = await ask(speaker)

    assert (request.text, request.tokens, request.finish) == ("ab", 2, "stop")
    assert request.ttft_s is None
    assert request.last_ns is not None


BAD = b'{"error": {"message": "the key sk-secret is wrong"}}'


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (saying(answer(BAD, "401 Unauthorized")), "answered 401: the key … is wrong (is the API"),
        (saying(answer(b'{"detail":"busy"}', "503 Busy")), "/v1/completions answered 503: busy"),
        (saying(answer(b"", "500 Internal Server Error")), "/v1/completions answered 500"),
        (
            saying(answer(b"", "307 Temporary Redirect", "Location: https://x.example/v1?k=1")),
            "answered 307, a redirection to https://x.example/v1, which is not followed",
        ),
        (saying(answer(b'{"error": "no model"}')), "answered 200, but no completion: no model"),
        (saying(answer(b"zip", "200 OK", "Content-Encoding: gzip")), "is compressed (gzip)"),
        (closing(), "the server closed the connection"),
        (closing(STREAM, chunk(event("a"))), "closed the connection (after 1 piece)"),
        (closing(answer(b'{"choi' + b" " * 90)[:-60]), "after 36 bytes of the answer"),
        (saying(b"SSH-2.0-OpenSSH_9.6\r\n"), "it begins with 'SSH-2.0"),
        (saying(STREAM + b"zz\r\n"), "the answer is no HTTP/1.1"),
    ],
)
async def test_what_goes_wrong_stands_in_the_request_and_the_key_does_not(
    said: Any, error: str, has_own_parser: bool
) -> None:
    async with speak(said) as speaker:
        request = await ask(speaker, key=ApiKey("sk-secret"), has_own_parser=has_own_parser)

    assert error in (request.error or "")
    assert "sk-secret" not in repr(request)


async def test_one_failed_request_does_not_disturb_the_next() -> None:
    async with (
        speak(saying(answer(BAD, "500 Oh")), saying(WHOLE)) as speaker,
        Client(parse_url(speaker.url)) as client,
    ):
        failed, good = await client.complete(CALL), await client.complete(CALL)

    assert failed.error is not None
    assert good.error is None
    assert speaker.connections == 1


@pytest.mark.parametrize(
    ("parts", "limits", "error"),
    [
        ((b"",), Limits(first_s=0.05), "no text within 0.05 s"),
        ((STREAM, chunk(b": ping\n\n")), Limits(first_s=0.05), "no text within 0.05 s"),
        ((STREAM, chunk(event("a"))), Limits(gap_s=0.05), "no more text for 0.05 s (after 1 piece"),
        ((STREAM, chunk(event("a"))), Limits(whole_s=0.05), "not complete within 0.05 s"),
    ],
)
async def test_waiting_has_limits_and_the_connection_is_closed_then(
    parts: tuple[bytes, ...], limits: Limits, error: str
) -> None:
    async with speak(saying(*parts)) as speaker:
        request = await ask(speaker, limits=limits)
        await asyncio.wait_for(speaker.lost.wait(), 60)

    assert error in (request.error or "")


async def test_a_stream_that_only_lacks_its_very_end_is_complete() -> None:
    async with speak(saying(WHOLE.removesuffix(END))) as speaker:
        request = await ask(speaker, limits=Limits(gap_s=0.05))

    assert (request.error, request.text) == (None, "ab")


async def test_a_cancelled_request_closes_its_connection() -> None:
    async with speak(saying(STREAM, chunk(event("a")))) as speaker:
        async with Client(parse_url(speaker.url)) as client:
            task = asyncio.create_task(client.complete(CALL))
            while not speaker.bodies:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await asyncio.wait_for(speaker.lost.wait(), 60)


async def test_a_server_that_is_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with Client(parse_url(f"http://127.0.0.1:{port}")) as client:
        request = await client.complete(CALL)

    assert request.error == f"no connection to 127.0.0.1:{port}: Connection refused"


async def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with speak(saying(WHOLE)) as speaker:
        assert (await ask(speaker)).error is None


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
async def test_ipv6_addresses_stand_in_brackets() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with (
        speak(saying(WHOLE), host="::1") as speaker,
        Client(parse_url(f"http://[::1]:{speaker.port}")) as client,
    ):
        assert (await client.complete(CALL)).error is None

    assert f"Host: [::1]:{speaker.port}" in speaker.heads[0]


async def test_other_routes_are_fetched_as_they_are() -> None:
    async with (
        speak(saying(answer(b'{"a": 1}')), saying(answer(b"", "404 Not Found"))) as speaker,
        Client(parse_url(f"{speaker.url}/base/v1")) as client,
    ):
        found, missing = await client.fetch("/metrics"), await client.fetch("/x")

    assert (found.status, found.json, found.error) == (200, {"a": 1}, None)
    assert (missing.status, missing.json, missing.error) == (404, None, "/x answered 404")
    assert speaker.heads[0].startswith("GET /base/metrics HTTP/1.1\r\n")


async def test_a_request_that_is_late_by_the_client_is_late_by_its_due_time() -> None:
    async with speak(saying(WHOLE)) as speaker:
        request = await ask(speaker, Call(ROUTE, b"{}", due_ns=5))

    assert request.begun_ns == 5
