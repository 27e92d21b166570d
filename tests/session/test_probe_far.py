"""Servers on hosts behind SSH are asked by a client there, or through a tunnel, which is said."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest
from workbench import LIMIT_S, Knowledge, Site, free_port

from firedup.core.error import HostError, UsageError
from firedup.core.measure.completion import Generation
from firedup.core.measure.measured import Load
from firedup.core.measure.prompt import Message, Prompt
from firedup.core.measure.truth import check_truth
from firedup.host.address import parse_host
from firedup.host.link import open_agent
from firedup.probe.key import ApiKey
from firedup.session.probing import Plan, measure
from firedup.session.registry import Run
from firedup.session.side import Opening, open_side
from tests.ssh_server import Boxes, SshBox

# Streams as SGLang does. With the file "hold" an answer begins and waits until that is gone.
SERVER = """
    import json, pathlib, sys, time
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    FOLDER = pathlib.Path(__file__).parent
    KEY = sys.argv[sys.argv.index("--api-key") + 1] if "--api-key" in sys.argv else None

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            if KEY is not None and self.headers["Authorization"] != "Bearer " + KEY:
                self.send_error(401)
            elif self.path == "/v1/models":
                self.say({"data": [{"id": "m", "owned_by": "sglang"}]})
            elif self.path == "/server_info":
                self.say({"version": "0.5.9", "model_path": "org/model"})
            else:
                self.send_error(404)

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            many = asked["sampling_params"]["max_new_tokens"]
            for number in range(1, many + 1):
                meta = {"completion_tokens": number, "prompt_tokens": 4}
                if number == many:
                    meta.update(spec_verify_ct=many // 2, finish_reason={"type": "length"})
                line = json.dumps({"text": "x" * number, "meta_info": meta})
                self.wfile.write(("data: " + line + "\\n\\n").encode())
                (FOLDER / "begun").touch()
                while (FOLDER / "hold").exists():
                    time.sleep(0.01)
            self.wfile.write(b"data: [DONE]\\n\\n")
            self.close_connection = True

        def say(self, value):
            body = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
"""
GENERATION = Generation(max_tokens=8)
OLD = sorted(
    path
    for minor in (10, 9, 8, 6)
    for path in (Path.home() / ".pyenv/versions").glob(f"3.{minor}.*/bin/python")
)


class Remote(Site):
    """A site on a host behind SSH."""

    box: SshBox

    async def start(self, *flags: str) -> Run:
        """Launch the server, and wait until it listens."""
        run = await self.launch(self.serve(self.program(SERVER), *flags))
        await self.wait_listening()
        return run

    async def start_old(self) -> Run:
        """The same on a host where no Python is new enough for the client."""
        folder = self.box.folder / "bin"
        # The test machine's own folders of programs are on the PATH too, and have newer ones.
        for name in ("python3", "python3.11", "python3.12", "python3.13", "python3.14"):
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(OLD[0])
        server = self.program(SERVER)
        script = Path(server).with_name("wrapped")
        shutil.move(server, script)
        Path(server).write_text(f'#!/bin/sh\n{OLD[0]} {script} "$@"\n')
        Path(server).chmod(0o755)
        run = await self.launch(self.serve(server))
        await self.wait_listening()
        return run

    async def wait_listening(self) -> None:
        """Until the server takes connections."""
        async with asyncio.timeout(LIMIT_S):
            while True:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return
                await asyncio.sleep(0.02)

    def far_sides(self) -> list[psutil.Process]:
        """The clients that run on the host."""
        return [one for one in self.box.processes() if "firedup.probe.far" in _command(one)]


def _command(process: psutil.Process) -> str:
    with contextlib.suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""


@pytest.fixture(params=["asyncssh", "sshd"])
async def remote(
    request: pytest.FixtureRequest, ssh_boxes: Boxes, knowledge: Knowledge, tmp_path: Path
) -> AsyncIterator[Remote]:
    box = ssh_boxes("box", kind=request.param)
    async with open_agent(parse_host("box")) as agent:
        place = Remote(agent, knowledge, tmp_path / "bin", free_port())
        place.box = box
        yield place


def make_plan(*ids: str) -> Plan:
    prompts = tuple(
        Prompt(one, "code", (Message("user", f"question {one}"),), "built-in") for one in ids
    )
    return Plan((Load(2),), (prompts,), (), GENERATION, visits=(1,))


async def test_a_run_on_another_host_is_measured_there(remote: Remote) -> None:
    run = await remote.start()
    said: list[str] = []
    opening = Opening("box", say=said.append)
    async with open_side(run.label.id, "candidate", opening, GENERATION) as opened:
        conditions = opened.side.conditions
        begun = remote.far_sides()
        async for arms in measure([opened.side], make_plan("a", "b", "c", "d")):
            (arm,) = arms
    async with asyncio.timeout(LIMIT_S):
        while remote.far_sides():
            await asyncio.sleep(0.02)

    assert said == []
    assert (conditions.client, conditions.engine, conditions.host) == ("host", "sglang", "box")
    assert opened.url == f"http://127.0.0.1:{remote.port}"
    assert len(begun) == 1
    requests = arm.cells[0].requests
    assert sorted(one.prompt for one in requests) == ["a", "b", "c", "d"]
    assert {(one.error, one.tokens, one.events, one.text) for one in requests} == {
        (None, 8, 8, "x" * 8)
    }


@pytest.mark.parametrize("remote", ["asyncssh"], indirect=True)
async def test_an_address_is_asked_from_the_host_that_is_named(remote: Remote) -> None:
    await remote.start()
    url = f"http://127.0.0.1:{remote.port}"
    async with open_side(url, "candidate", Opening("box"), GENERATION) as opened:
        conditions = opened.side.conditions
        begun = remote.far_sides()
        async for arms in measure([opened.side], make_plan("a", "b")):
            (arm,) = arms

    assert (conditions.client, opened.host, opened.url) == ("host", "box", url)
    assert len(begun) == 1
    assert [one.error for one in arm.cells[0].requests] == [None, None]


async def test_the_key_in_the_servers_command_is_found_on_the_host(remote: Remote) -> None:
    run = await remote.start("--api-key", "sk-of-the-host")
    async with open_side(run.label.id, "candidate", Opening("box"), GENERATION) as opened:
        far_side = " ".join(map(_command, remote.far_sides()))
        async for arms in measure([opened.side], make_plan("a", "b")):
            (arm,) = arms

    assert opened.side.conditions.client == "host"
    assert [one.error for one in arm.cells[0].requests] == [None, None]
    assert "sk-of-the-host" not in far_side
    wrong = Opening("box", ApiKey("sk-wrong"))
    with pytest.raises(UsageError, match="refused the API key"):
        async with open_side(run.label.id, "candidate", wrong, GENERATION):
            pass


@pytest.mark.skipif(not OLD, reason="no Python older than 3.11 here")
@pytest.mark.parametrize("remote", ["sshd"], indirect=True)
async def test_without_a_new_python_it_is_a_tunnel_and_that_is_said(remote: Remote) -> None:
    run = await remote.start_old()
    url = f"http://127.0.0.1:{remote.port}"
    for word in (run.label.id, url):
        said: list[str] = []
        opening = Opening("box", say=said.append)
        async with open_side(word, "candidate", opening, GENERATION) as opened:
            begun = remote.far_sides()
            async for arms in measure([opened.side], make_plan("a", "b")):
                (arm,) = arms

        assert opened.side.conditions.client == "tunnel"
        assert (opened.host, opened.url, begun) == ("box", url, [])
        (why,) = said
        assert why.startswith("box has no Python 3.11 or later for the client; ")
        assert why.endswith("asked through a tunnel, and times include its delay")
        assert [one.error for one in arm.cells[0].requests] == [None, None]
        assert "through-tunnel" in [one.id for one in check_truth(arm)]


@pytest.mark.skipif(not OLD, reason="no Python older than 3.11 here")
@pytest.mark.parametrize("remote", ["sshd"], indirect=True)
async def test_a_tunnel_to_an_address_outlives_its_link_and_says_where_nobody_listens(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.linked.FIRST_PAUSE_S", 0.02)
    await remote.start_old()
    said: list[str] = []
    opening = Opening("box", say=said.append)
    url = f"http://127.0.0.1:{remote.port}"
    async with open_side(url, "candidate", opening, GENERATION) as opened:
        remote.box.cut()
        remote.box.heal()
        async with asyncio.timeout(LIMIT_S):
            while "the link is up again" not in said:
                await asyncio.sleep(0.02)
        async for arms in measure([opened.side], make_plan("a", "b")):
            (arm,) = arms
    del said[:]
    port = free_port()
    with pytest.raises(HostError, match=f"nobody answers at http://127.0.0.1:{port}"):
        async with open_side(f"127.0.0.1:{port}", "candidate", opening, GENERATION):
            pass

    assert [one.error for one in arm.cells[0].requests] == [None, None]
    assert said[1:] == [f"nothing listens at 127.0.0.1 port {port}"]


async def test_a_link_that_breaks_ends_what_is_under_way_and_the_rest_goes_over_the_next(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.linked.FIRST_PAUSE_S", 0.02)
    run = await remote.start()
    (remote.folder / "hold").touch()
    said: list[str] = []
    opening = Opening("box", say=said.append)
    async with open_side(run.label.id, "candidate", opening, GENERATION) as opened:
        rounds = measure([opened.side], make_plan("a", "b", "c", "d"))
        asking = asyncio.ensure_future(anext(rounds))
        async with asyncio.timeout(LIMIT_S):
            while not (remote.folder / "begun").exists():
                await asyncio.sleep(0.02)
            before = remote.far_sides()
            remote.box.cut()
            remote.box.heal()
            while any(one.is_running() for one in before):
                await asyncio.sleep(0.02)
            (remote.folder / "hold").unlink()
            (arm,) = await asking
        await rounds.aclose()

    errors = [one.error for one in arm.cells[0].requests]
    assert len(errors) == 4
    assert None in errors
    assert any(error is not None for error in errors)
    assert [text.partition(":")[0] for text in said] == [
        "the link is down",
        "the link is up again",
    ]
