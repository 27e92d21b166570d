"""The client on the server's host: what it measures, what it is told, and how it ends."""

from __future__ import annotations

import ast
import asyncio
import io
import json
import sys
import zipfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns

import psutil
import pytest
from speaker import (
    DONE,
    END,
    STREAM,
    Answer,
    Speaker,
    answer,
    chunk,
    closing,
    event,
    saying,
    speak,
    usage,
)

from firedup.core.error import FiredupError, HostError
from firedup.core.measure.measured import Request
from firedup.host.base import Host, local_host
from firedup.host.http import KeySource
from firedup.host.link import Agent, open_agent
from firedup.probe import farclient
from firedup.probe.call import Call
from firedup.probe.client import Client
from firedup.probe.farclient import FarClient
from firedup.probe.farpython import find_python
from firedup.probe.farzip import far_program
from firedup.probe.key import ApiKey
from firedup.probe.url import parse_url

LIMIT_S = 100.0
CALL = Call("/v1/completions", b'{"prompt": "one"}', "one", "code", block=3, turn=2)
WHOLE = (
    STREAM,
    *(chunk(event(text)) for text in ("a", "b")),
    chunk(event("c", "stop")),
    chunk(usage(3)),
    chunk(DONE),
    END,
)
PYENV = Path.home() / ".pyenv/versions"


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    async with open_agent(local_host()) as opened:
        yield opened


class Far(FarClient):
    """A far client with the task that serves it."""

    serving: asyncio.Task[None]


@asynccontextmanager
async def far(
    agent: Agent, url: str, *, python: str = sys.executable, **keys: object
) -> AsyncIterator[Far]:
    client = Far(parse_url(url), **keys)  # type: ignore[arg-type]  # of several types
    client.serving = asyncio.ensure_future(client.serve(agent, python))
    rising = asyncio.ensure_future(client.up.wait())
    try:
        async with asyncio.timeout(LIMIT_S):
            await asyncio.wait((client.serving, rising), return_when=asyncio.FIRST_COMPLETED)
            if client.serving.done():
                client.serving.result()
            yield client
    finally:
        rising.cancel()
        client.serving.cancel()
        with suppress(asyncio.CancelledError, FiredupError):
            await client.serving


def far_process(agent: Agent) -> psutil.Process:
    """The far side's process: the agent's child."""
    (child,) = psutil.Process(agent.hello["pid"]).children()
    return child


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT_S):
        while not is_so():
            await asyncio.sleep(0.02)


def holding() -> tuple[Answer, asyncio.Event]:
    """A stream that begins and does not go on, and when it has begun."""
    begun = asyncio.Event()

    async def hold(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM + chunk(event("a")))
        await writer.drain()
        begun.set()

    return hold, begun


async def test_a_stream_is_measured_on_the_host_as_it_is_here(agent: Agent) -> None:
    before_ns = monotonic_ns()
    async with speak(saying(*WHOLE)) as speaker:
        async with far(agent, speaker.url) as client:
            there = await client.complete(CALL)
        async with Client(parse_url(speaker.url)) as near:
            here = await near.complete(CALL)

    def untimed(request: Request) -> Request:
        nothing = dict.fromkeys(
            (
                *("begun_ns", "first_ns", "last_ns", "longest_gap_ns", "gap_at_ns", "arrivals"),
                *("first_events", "first_tokens"),  # how many came at once
            ),
            0,
        )
        return replace(request, **nothing)

    assert untimed(there) == untimed(here)
    assert (there.text, there.tokens, there.events, there.block, there.turn) == ("abc", 3, 3, 3, 2)
    assert there.first_ns is not None
    assert there.last_ns is not None
    assert before_ns < there.begun_ns <= there.first_ns <= there.last_ns < monotonic_ns()
    assert speaker.bodies == [CALL.body] * 2


async def test_other_routes_are_asked_too(agent: Agent) -> None:
    body = bytes(range(256))
    answers = saying(answer(body)), saying(answer(b'{"error": "no"}', "404 Not Found"))
    async with speak(*answers) as speaker, far(agent, speaker.url) as client:
        good = await client.fetch("/metrics")
        bad = await client.fetch("/nothing", method="POST", body=b"\x00\xff")

    assert (good.status, good.body, good.error) == (200, body, None)
    assert (bad.status, bad.error) == (404, "/nothing answered 404: no")
    assert speaker.bodies == [b"", b"\x00\xff"]


async def test_many_long_prompts_at_once_get_each_its_own_answer(agent: Agent) -> None:
    async def echo(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        told = json.loads(speaker.bodies[-1])["name"]
        parts = (STREAM, chunk(event(told, "stop")), chunk(usage(1)), chunk(DONE), END)
        await saying(*parts)(speaker, writer)

    calls = [
        Call(
            "/v1/completions", json.dumps({"name": f"{n}", "prompt": "x" * 90_000}).encode(), f"{n}"
        )
        for n in range(24)
    ]
    async with speak(echo) as speaker, far(agent, speaker.url) as client:
        done = await asyncio.gather(*map(client.complete, calls))

    assert [(one.prompt, one.text, one.error) for one in done] == [
        (call.prompt, call.prompt, None) for call in calls
    ]


async def test_requests_that_wait_on_the_host_are_asked_in_turn_and_not_at_once(
    agent: Agent,
) -> None:
    under_way = most = 0

    async def count(speaker: Speaker, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await saying(*WHOLE[:-1])(speaker, writer)
        for _ in range(20):  # so that others would be seen
            await asyncio.sleep(0)
        under_way -= 1
        await saying(WHOLE[-1])(speaker, writer)

    calls = [replace(CALL, prompt=f"{n}", at_most=2) for n in range(8)]
    async with speak(count) as speaker, far(agent, speaker.url) as client:
        done = await asyncio.gather(*map(client.complete, calls))

    assert [one.error for one in done] == [None] * 8
    assert most == 2
    begun = [one.begun_ns for one in done[2:]]
    assert begun == sorted(begun)


async def test_what_goes_wrong_with_a_request_stands_in_it(agent: Agent) -> None:
    async with speak(closing(STREAM, chunk(event("a")))) as speaker, far(agent, speaker.url) as one:
        broken = await one.complete(CALL)
    async with far(agent, speaker.url) as client:
        refused = await client.complete(CALL)

    assert broken.error is not None
    assert "after 1 piece" in broken.error
    assert refused.error is not None
    assert "no connection to 127.0.0.1" in refused.error


async def test_a_request_that_is_cancelled_here_is_cancelled_there(agent: Agent) -> None:
    hold, begun = holding()
    async with speak(hold) as speaker, far(agent, speaker.url) as client:
        asking = asyncio.ensure_future(client.complete(CALL))
        await begun.wait()
        asking.cancel()
        await asyncio.wait((asking,))
        await speaker.lost.wait()

        assert asking.cancelled()
        assert client.up.is_set()


async def test_a_request_that_was_due_earlier_counts_from_then_without_the_link(
    agent: Agent,
) -> None:
    late_ns = 5_000_000_000
    async with speak(saying(*WHOLE)) as speaker, far(agent, speaker.url) as client:
        asked_ns = monotonic_ns()
        late = await client.complete(replace(CALL, due_ns=asked_ns - late_ns))

    assert late.ttft_s is not None
    assert late.ttft_s >= 5.0
    assert late.begun_ns >= asked_ns - late_ns


async def test_a_key_of_the_host_is_used_there_and_shown_to_nobody_else(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("sk-only-there\n")
    source = KeySource(file=str(tmp_path / "key"))
    refusal = answer(b'{"error": "no sk-only-there"}', "401 Unauthorized")
    hold, begun = holding()
    async with (
        speak(saying(refusal), hold) as speaker,
        far(agent, speaker.url, key_from=source) as client,
    ):
        refused = await client.complete(CALL)
        asking = asyncio.ensure_future(client.complete(CALL))
        await begun.wait()
        process = far_process(agent)
        shown = [*process.cmdline(), *process.environ().values()]
        asking.cancel()
        await asyncio.wait((asking,))

    assert all("Authorization: Bearer sk-only-there" in head for head in speaker.heads)
    assert refused.error is not None
    assert "no …" in refused.error
    assert "sk-only-there" not in " ".join((repr(refused), repr(vars(client)), *shown))


async def test_a_key_from_here_goes_through_the_pipe_and_before_one_of_the_host(
    agent: Agent, tmp_path: Path
) -> None:
    source = KeySource(file=str(tmp_path / "no-such-file"))
    hold, begun = holding()
    async with (
        speak(hold) as speaker,
        far(agent, speaker.url, key=ApiKey("sk-from-here"), key_from=source) as client,
    ):
        asking = asyncio.ensure_future(client.complete(CALL))
        await begun.wait()
        process = far_process(agent)
        shown = [*process.cmdline(), *process.environ().values()]
        asking.cancel()
        await asyncio.wait((asking,))

    assert "Authorization: Bearer sk-from-here" in speaker.heads[0]
    assert "sk-from-here" not in " ".join(shown)


async def test_a_key_that_no_header_may_hold_is_said_without_it(
    agent: Agent, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("sk with spaces\n")
    source = KeySource(file=str(tmp_path / "key"))
    with pytest.raises(FiredupError) as caught:
        async with far(agent, "http://127.0.0.1:9", key_from=source):
            pass

    assert "holds characters that no header may hold" in caught.value.what
    assert "spaces" not in str(caught.value)


async def test_no_file_of_the_host_ever_holds_the_program(agent: Agent) -> None:
    async with speak(saying(*WHOLE)) as speaker, far(agent, speaker.url) as client:
        await client.complete(CALL)
        opened = [one.path for one in far_process(agent).open_files()]

    assert [path for path in opened if "memfd" not in path] == []


async def test_the_death_of_the_far_side_ends_what_is_under_way_and_says_so(agent: Agent) -> None:
    hold, begun = holding()
    async with speak(hold) as speaker, far(agent, speaker.url) as client:
        asking = asyncio.ensure_future(client.complete(CALL))
        await begun.wait()
        far_process(agent).kill()
        request = await asking
        with pytest.raises(HostError):
            await client.serving
        client.give_up("the client on local ended")
        later = await client.complete(CALL)
        fetched = await client.fetch("/metrics")

    assert request.error == later.error == fetched.error == "the client on local ended"
    assert (request.prompt, request.category, request.block, request.turn) == ("one", "code", 3, 2)


async def test_the_far_side_ends_with_a_broken_link_and_goes_on_over_the_next_one(
    agent: Agent,
) -> None:
    hold, begun = holding()
    async with (
        speak(hold, saying(answer(b"")), saying(*WHOLE)) as speaker,
        open_agent(local_host()) as doomed,
        far(doomed, speaker.url) as client,
    ):
        asking = asyncio.ensure_future(client.complete(replace(CALL, at_most=1)))
        await begun.wait()
        behind = asyncio.ensure_future(client.complete(replace(CALL, at_most=1)))
        await client.fetch("/")  # what was told before is there too by now
        process = far_process(doomed)
        psutil.Process(doomed.hello["pid"]).kill()
        broken = await asking
        later = asyncio.ensure_future(client.complete(CALL))  # for the next link
        await until(lambda: not process.is_running())
        await speaker.lost.wait()
        again = asyncio.ensure_future(client.serve(agent, sys.executable))
        after = await asyncio.gather(later, behind)
        again.cancel()
        with suppress(asyncio.CancelledError):
            await again

    assert broken.error is not None
    assert [(one.text, one.error) for one in after] == [("abc", None)] * 2


async def test_a_request_without_any_link_is_given_up_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(farclient, "LINK_WAIT_S", 0.01)
    client = FarClient(parse_url("http://127.0.0.1:9"))

    assert (await client.complete(CALL)).error == "there is no link to the host"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
async def test_each_python_from_3_11_on_runs_it(version: str) -> None:
    found = sorted(PYENV.glob(f"{version}.*/bin/python"))
    if not found:
        pytest.skip(f"no Python {version} here")
    host = Host("box", python=str(found[0]))
    async with speak(saying(*WHOLE)) as speaker, open_agent(host) as there:
        python = await find_python(there)
        assert python == host.python
        async with far(there, speaker.url, python=python) as client:
            request = await client.complete(CALL)

    assert (request.text, request.tokens, request.error) == ("abc", 3, None)


async def test_an_old_interpreter_is_passed_over_for_one_of_the_path_or_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = sorted(path for minor in (10, 9, 8, 6) for path in PYENV.glob(f"3.{minor}.*/bin/python"))
    if not old:
        pytest.skip("no Python older than 3.11 here")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}")
    async with open_agent(Host("box", python=str(old[0]))) as there:
        none = await find_python(there)
        sleeper = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "import time; time.sleep(1000)"
        )
        try:
            of_server = await find_python(there, server_pid=sleeper.pid)
        finally:
            sleeper.kill()
            await sleeper.wait()
        gone = await find_python(there, server_pid=sleeper.pid)
        (tmp_path / "bin" / "python3.12").symlink_to(sys.executable)
        of_path = await find_python(there)

    assert (none, of_server, gone, of_path) == (None, sys.executable, None, "python3.12")


def test_the_program_needs_the_standard_library_alone() -> None:
    with zipfile.ZipFile(io.BytesIO(far_program())) as archive:
        sources = {name: archive.read(name) for name in archive.namelist()}
    imported = set()
    for source in sources.values():
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                imported.add(node.module.partition(".")[0])

    assert "firedup/probe/far.py" in sources
    assert "firedup/probe/client.py" in sources
    assert imported <= sys.stdlib_module_names | {"firedup"}
    assert not any(name.startswith(("firedup/host", "firedup/session")) for name in sources)
