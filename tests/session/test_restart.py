"""A restart never costs a living server for a typing error, and keeps the form of its flags."""

import asyncio
import socket
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from test_preflight_host import make_environment
from workbench import Site

from firedup.cli.launch import launch_whole
from firedup.core.error import RefusedError
from firedup.core.model import Finding
from firedup.host.base import LinkError, Trouble
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.registry import Run, find_run, list_runs
from firedup.session.restart import change_command, restart_run
from firedup.session.stop import stop_run

SLEEP = "import time; time.sleep(600)"
STUBBORN = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(600)"
LISTEN = (
    "import socket, sys, time\n"
    "listener = socket.create_server(('127.0.0.1', int(sys.argv[2])))\n"
    "print('listening', flush=True)\n"
    "time.sleep(600)\n"
)


async def test_what_is_doomed_is_refused_before_the_living_server_is_stopped(site: Site) -> None:
    run = await launch(site.agent, site.catalogue, Order(("sleep", "600"), name="r"))

    with pytest.raises(RefusedError, match="does not exist"):
        await restart_run(
            site.agent, site.catalogue, run, ["--model", "/no/such.gguf"], say=lambda _: None
        )

    assert (await find_run(site.agent, "r")).is_alive


async def test_its_own_port_is_no_reason_against_a_restart(site: Site) -> None:
    argv = (sys.executable, "-c", LISTEN, "--port", str(site.port))
    run = await launch(site.agent, site.catalogue, Order(argv, name="r"))

    again, changes = await restart_run(site.agent, site.catalogue, run, [], say=lambda _: None)

    assert changes == ()
    assert again.is_alive
    assert not (await find_run(site.agent, run.label.id)).is_alive
    await stop_run(site.agent, site.catalogue, again, say=lambda _: None)


async def test_who_leaves_a_restart_that_launches_is_told_of_the_new_server(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    old = await launch(site.agent, site.catalogue, Order(("sleep", "600"), name="r"))
    is_launching = asyncio.Event()

    async def whole(launching: Coroutine[Any, Any, Run]) -> Run:
        is_launching.set()
        return await launch_whole(launching, ["local"])

    restart = asyncio.ensure_future(
        restart_run(site.agent, site.catalogue, old, [], say=lambda _: None, whole=whole)
    )
    await is_launching.wait()
    restart.cancel()
    with pytest.raises(asyncio.CancelledError):
        await restart

    again = await find_run(site.agent, "r")
    assert again.is_alive
    assert again.label.id != old.label.id
    assert "The server goes on. Watch it: firedup attach r" in capsys.readouterr().err


async def test_who_leaves_the_wait_for_the_port_is_told_that_the_old_server_is_stopped(
    site: Site,
) -> None:
    said: list[str] = []
    waits = asyncio.Event()

    def say(text: str) -> None:
        said.append(text)
        if text.startswith("waiting for port"):
            waits.set()

    with socket.create_server(("127.0.0.1", site.port)):
        argv = (sys.executable, "-c", SLEEP, "--port", str(site.port))
        order = Order(argv, name="r", force=True)
        run = await launch(site.agent, site.catalogue, order)
        changed = ["A=b c", "--tp", "4"]
        restart = asyncio.ensure_future(
            restart_run(site.agent, site.catalogue, run, changed, say=say, force=True)
        )
        await waits.wait()
        restart.cancel()
        with pytest.raises(asyncio.CancelledError):
            await restart

    assert said[-1] == (
        "r is stopped, and nothing was launched in its place. "
        "Launch it: firedup restart r -- 'A=b c' --tp 4"
    )
    assert [r.is_alive for r in await list_runs(site.agent)] == [False]


async def test_a_launch_that_fails_after_the_stop_says_that_the_old_server_is_stopped(
    site: Site,
) -> None:
    run = await launch(site.agent, site.catalogue, Order(("sleep", "600"), name="r"))
    said: list[str] = []

    async def whole(launching: Coroutine[Any, Any, Run]) -> Run:
        launching.close()
        raise RefusedError("refused to launch")

    with pytest.raises(RefusedError):
        await restart_run(site.agent, site.catalogue, run, [], say=said.append, whole=whole)

    assert said[-1].endswith(f"Launch it: firedup restart {run.label.id}")


async def test_a_restart_leaves_out_checks_and_tells_what_is_no_reason_to_refuse(
    site: Site, tmp_path: Path
) -> None:
    program = make_environment(tmp_path / "venv", {"sglang": ("0.5.9", [])})
    program.write_text(f"{program.read_text()}import time\ntime.sleep(600)\n")
    argv = (str(program), "serve", "--model-path", "org/model", "--port", str(site.port))
    run = await launch(site.agent, site.catalogue, Order(argv, name="r"))
    changed, told = ["--model-path", "/no/such/model"], list[Finding]()

    async def restart(*skips: str) -> Run:
        new, _ = await restart_run(
            *(site.agent, site.catalogue, run, changed),
            say=lambda _: None,
            skips=skips,
            heed=told.append,
        )
        return new

    with pytest.raises(RefusedError, match="does not exist"):
        await restart()
    assert (await find_run(site.agent, run.label.id)).is_alive  # nothing was stopped for that
    assert (await restart("checkpoints")).is_alive
    assert [finding.id for finding in told] == ["soft-watchdog-off"]


async def test_who_leaves_a_stop_is_told_that_the_server_may_end_yet(site: Site) -> None:
    argv = (sys.executable, "-c", STUBBORN)
    run = await launch(site.agent, site.catalogue, Order(argv, name="r"))
    said: list[str] = []
    is_asked = asyncio.Event()

    def say(text: str) -> None:
        said.append(text)
        is_asked.set()

    stop = asyncio.ensure_future(stop_run(site.agent, site.catalogue, run, say=say, grace_s=600))
    await is_asked.wait()
    stop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stop

    assert said[-1] == "r was asked to end and may still do so. See to it: firedup stop r"


async def test_a_link_that_breaks_while_it_launches_leaves_a_doubt_that_is_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut = LinkError(Trouble.LINK_DOWN, "the line was cut")
    is_cut, has_begun = asyncio.Event(), asyncio.Event()

    async def launching() -> Run:
        has_begun.set()
        await is_cut.wait()
        raise cut

    doubt = "not known here: firedup ps --all --host box"
    left = asyncio.ensure_future(launch_whole(launching(), ["box"]))
    await has_begun.wait()
    left.cancel()
    is_cut.set()
    with pytest.raises(asyncio.CancelledError):
        await left
    assert doubt in capsys.readouterr().err

    with pytest.raises(LinkError, match=doubt):
        await launch_whole(launching(), ["box"])


@pytest.mark.parametrize(
    ("argv", "changed", "expected"),
    [
        (("s", "--port", "1"), ["--port=2"], ("s", "--port", "2")),
        (("s", "--port=1"), ["--port", "2"], ("s", "--port=2")),
        (("s",), ["--port=2"], ("s", "--port=2")),
        (("s", "-v"), ["--port", "2"], ("s", "-v", "--port", "2")),
    ],
)
def test_the_form_of_a_flag_is_kept(
    argv: tuple[str, ...], changed: list[str], expected: tuple[str, ...]
) -> None:
    assert change_command({}, argv, changed)[1] == expected
