"""A restart never costs a living server for a typing error, and keeps the form of its flags."""

import sys

import pytest
from workbench import Site

from firedup.core.error import RefusedError
from firedup.session.launch import launch
from firedup.session.order import Order
from firedup.session.registry import find_run
from firedup.session.restart import change_command, restart_run
from firedup.session.stop import stop_run

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
