"""`firedup run -- docker run …`: the container is the server, not the client that starts it."""

import asyncio
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from workbench import LIMIT_S, Site, free_port, recorded, until

from firedup.core.error import RefusedError
from firedup.core.event import Begun
from firedup.core.model import Ownership, Verdict
from firedup.session.container import take_spec
from firedup.session.order import Order
from firedup.session.restart import restart_run
from firedup.session.stop import stop_run
from firedup.testing.script import End, Http, Script, line

STANDIN = Path(__file__).parent.parent / "standin"
LOADING = Script((line(0, "Load weight begin"),), end=None)


@pytest.fixture(autouse=True)
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-ins first in PATH, their state in a folder of this test."""
    folder = tmp_path / "standin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{STANDIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_FOLDER", str(folder))
    return folder


def inside(standin: Path) -> dict:
    """The state of the one container."""
    (folder,) = (standin / "containers").iterdir()
    return json.loads((folder / "state.json").read_text())


@pytest.mark.parametrize("detach", [(), ("-d",), ("-d", "--rm"), ("--rm",)])
async def test_a_container_is_launched_proved_ready_and_stopped(
    site: Site, standin: Path, detach: tuple[str, ...]
) -> None:
    outside = free_port()
    command = site.serve(site.fake(recorded("s01_success.log")))
    published = ("-p", f"127.0.0.1:{outside}:{site.port}")
    run = await site.launch(("docker", "run", *detach, *published, "sglang:x", *command))

    ready = await site.conclude(run)
    ended = await stop_run(site.agent, site.catalogue, run, say=lambda _: None)

    assert ready.explanation.verdict is Verdict.READY
    assert ready.spec is not None
    assert ready.spec.engine == "sglang"
    assert ready.spec.port == outside
    assert ready.checks.token is True
    assert ready.checks.owner is Ownership.UNKNOWN
    assert run.manifest.argv[:2] == ("docker", "run"), "as it was typed"
    assert ended is not None
    assert (await site.conclude(run)).explanation.verdict is Verdict.STOPPED
    if "--rm" not in detach:
        assert inside(standin)["status"] == "exited"


@pytest.mark.parametrize("detach", [(), ("-d",)])
async def test_the_end_of_the_container_is_the_end_of_the_run(
    site: Site, standin: Path, detach: tuple[str, ...]
) -> None:
    command = site.serve(site.fake(LOADING))
    run = await site.launch(("docker", "run", *detach, "sglang:x", *command))
    snapshots = site.watch(run)
    snapshot = await until(snapshots, lambda s: s.processes)
    own = inside(standin)["pid"]

    (folder,) = (standin / "containers").iterdir()
    (folder / "oom").touch()
    os.kill(own, signal.SIGKILL)
    last = await site.conclude(run)

    assert own in {process.pid for process in snapshot.processes}
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == signal.SIGKILL
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-out-of-memory"


@pytest.mark.parametrize("detach", [(), ("-d",)])
async def test_that_memory_was_the_reason_is_known_of_a_container_that_was_removed(
    site: Site, standin: Path, detach: tuple[str, ...]
) -> None:
    command = site.serve(site.fake(LOADING))
    run = await site.launch(("docker", "run", "--rm", *detach, "sglang:x", *command))
    await until(site.watch(run), lambda s: s.processes and has_reader(standin))
    own = inside(standin)["pid"]
    (folder,) = (standin / "containers").iterdir()
    (folder / "oom").touch()
    os.kill(own, signal.SIGKILL)
    last = await site.conclude(run)

    assert last.exit_signal == signal.SIGKILL
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-out-of-memory"


async def test_that_memory_was_not_the_reason_is_known_too(site: Site, standin: Path) -> None:
    command = site.serve(site.fake(LOADING))
    run = await site.launch(("docker", "run", "--rm", "sglang:x", *command))
    await until(site.watch(run), lambda s: s.processes and has_reader(standin))
    os.kill(inside(standin)["pid"], signal.SIGKILL)
    last = await site.conclude(run)

    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "killed"
    assert json.loads(Path(run.folder, "exit.json").read_text())["oom_killed"] is False


def has_reader(standin: Path) -> bool:
    """Whether somebody waits for the container's status, which goes with it."""
    return any(standin.glob("containers/*/reader.*"))


@pytest.mark.parametrize("way", ["-e", "--env", "-e NAME", "--env-file", "compose"])
async def test_a_key_that_only_the_container_has_is_found_on_the_host(
    site: Site, tmp_path: Path, way: str
) -> None:
    command, outside = keyed(site), free_port()
    file = tmp_path / "keys.env"
    file.write_text("# keys\nLLAMA_API_KEY=rosebud\n")
    published = ("-p", f"127.0.0.1:{outside}:{site.port}", "llama.cpp:x", *command)
    words: dict[str, tuple[str, ...]] = {
        "-e": ("-e", "LLAMA_API_KEY=rosebud"),
        "--env": ("--env", "LLAMA_API_KEY=rosebud"),
        "-e NAME": ("-e", "LLAMA_API_KEY"),
        "--env-file": ("--env-file", str(file)),
    }
    if way == "compose":
        service = {
            "image": "llama.cpp",
            "command": list(command),
            "environment": {"LLAMA_API_KEY": "rosebud"},
            "ports": [f"{outside}:{site.port}"],
        }
        (tmp_path / "compose.yaml").write_text(json.dumps({"services": {"llm": service}}))
        argv = ("docker", "compose", "-f", str(tmp_path / "compose.yaml"), "up")
    else:
        argv = ("docker", "run", "-d", *words[way], *published)
    env = (("LLAMA_API_KEY", "rosebud"),) if way == "-e NAME" else ()
    run = await site.launch(argv, env=env)

    # The first request may come before it is noted which container it is.
    ready = await until(site.watch(run, until="exit"), lambda s: s.checks.token)
    await stop_run(site.agent, site.catalogue, run, say=lambda _: None)

    assert ready.checks.token is True
    if way in ("--env-file", "compose"):
        assert "rosebud" not in Path(run.folder, "manifest.json").read_text()


def keyed(site: Site) -> tuple[str, ...]:
    """The command of a server that answers nobody without the key "rosebud"."""
    text = "0.00.300.000 I main: server is listening on http://127.0.0.1:@PORT@"
    lines = (line(0, "0.00.010.000 I main: loading model"), line(0, text))
    http = Http(open_s=0, health=((0, 200),), api_key="rosebud")
    program = site.fake(Script(lines, http), "llama-server")
    return (program, "-m", "x.gguf", "--port", str(site.port))


async def test_the_status_of_a_server_that_ends_by_itself_is_the_runs(site: Site) -> None:
    command = site.serve(site.fake(Script((line(0, "no such model"),), end=End(0.1, code=3))))
    run = await site.launch(("docker", "run", "-d", "sglang:x", *command))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_code == 3


async def test_an_image_that_is_not_there_ends_the_run_with_the_words_of_the_client(
    site: Site,
) -> None:
    run = await site.launch(("docker", "run", "-d", "nosuch/image", "serve"))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_code == 125
    assert "pull access denied" in Path(run.log).read_text()


@pytest.mark.parametrize("detach", [(), ("-d",)])
async def test_a_program_that_is_not_in_the_image_ends_the_run_at_once(
    site: Site, detach: tuple[str, ...]
) -> None:
    run = await site.launch(("docker", "run", *detach, "img", "nosuch-program"))

    last = await site.conclude(run)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_code == 127


async def test_what_lies_in_the_run_folder_is_for_its_owner_alone(site: Site) -> None:
    run = await site.launch(("docker", "run", "-d", "img", "true"))
    await site.conclude(run)

    modes = {path.name: path.stat().st_mode & 0o777 for path in Path(run.folder).iterdir()}

    assert set(modes.values()) == {0o600}
    assert {"container.id", "container.json"} <= set(modes)


# Stands for a full disk: the container's facts cannot be written under their name.
BLOCKED = 'mkdir "$XDG_STATE_HOME/firedup/runs/$FIREDUP_RUN/container.json"'


async def test_the_exit_status_counts_where_the_facts_cannot_be_written(site: Site) -> None:
    run = await site.launch(("docker", "run", "img", "sh", "-c", "exit 3"), setup=BLOCKED)

    last = await site.conclude(run)

    assert last.exit_code == 3
    assert "Traceback" not in Path(run.log).read_text()


async def test_a_container_is_seen_as_soon_as_its_facts_can_be_written(
    site: Site, standin: Path
) -> None:
    run = await site.launch(("docker", "run", "-d", "img", "sleep", "600"), setup=BLOCKED)
    snapshots = site.watch(run)
    await until(snapshots, lambda _: (standin / "containers").is_dir())
    Path(run.folder, "container.json").rmdir()

    snapshot = await until(snapshots, lambda s: s.processes)

    assert inside(standin)["pid"] in {process.pid for process in snapshot.processes}


async def test_a_container_with_a_name_can_be_restarted(site: Site, standin: Path) -> None:
    command = site.serve(site.fake(recorded("s01_success.log")))
    host = ("--network", "host", "--name", "sgl")
    run = await site.launch(("docker", "run", "-d", *host, "sglang:x", *command))
    ready = await site.conclude(run)
    again, _ = await restart_run(site.agent, site.catalogue, run, (), say=lambda _: None)

    assert ready.checks.owner is Ownership.YES, "its own socket in the host's network"
    assert (await site.conclude(again)).explanation.verdict is Verdict.READY
    assert inside(standin)["name"] == "sgl", "the old one is gone"


async def test_a_terminal_is_refused_before_the_launch(site: Site) -> None:
    with pytest.raises(RefusedError, match="terminal") as caught:
        await site.launch(("docker", "run", "-it", "sglang:x", "sglang", "serve"))

    assert "Leave out -it." in str(caught.value)


async def test_a_composed_server_that_is_asked_already_is_not_looked_for_over_a_new_link(
    site: Site,
) -> None:
    run = await site.launch(site.serve(site.fake(LOADING)))
    asked = SimpleNamespace(prober=object())

    async with asyncio.timeout(LIMIT_S):  # without a container it would look for ever
        await take_spec(site.agent, asked, site.catalogue, run, Begun(0, 0, run.spec))


async def test_a_composed_server_is_found_among_its_services(
    site: Site, tmp_path: Path, standin: Path
) -> None:
    command = site.serve(site.fake(recorded("s01_success.log")))
    outside = free_port()
    services = {
        "ui": {"image": "open-webui", "command": ["sleep", "300"]},
        "llm": {
            "image": "lmsysorg/sglang",
            "command": list(command),
            "ports": [f"{outside}:{site.port}"],
        },
    }
    file = tmp_path / "compose.yaml"
    file.write_text(json.dumps({"services": services}))
    run = await site.launch(("docker", "compose", "-f", str(file), "up"))

    ready = await until(site.watch(run, until="exit"), lambda s: s.checks.token and s.checks.log)
    ended = await stop_run(site.agent, site.catalogue, run, say=lambda _: None)

    assert ready.spec is not None
    assert ready.spec.port == outside
    assert ready.explanation.engine == "sglang"
    assert ended is not None


async def test_an_order_as_it_was_typed_is_kept(site: Site) -> None:
    command = ("docker", "run", "--name", "x", "sglang:x", *site.serve(site.fake(LOADING)))

    run = await site.launch(Order(command).argv)
    await stop_run(site.agent, site.catalogue, run, say=lambda _: None)

    assert run.manifest.argv == command
    assert run.manifest.container is not None
    assert run.manifest.container.name == "x"
