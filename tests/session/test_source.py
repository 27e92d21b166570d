"""Servers whose log a container engine keeps: stand-ins for its client run local processes.

The stand-ins are in tests/standin; tests/host/test_real_clients.py holds firedup's words against
the real clients where those are installed.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from workbench import Site, free_port, last_of, recorded, until

from firedup.core.error import HostError, UsageError
from firedup.core.model import Ownership, Snapshot, Stage, Verdict
from firedup.host.base import LinkError, Trouble
from firedup.host.kubernetes import Pod
from firedup.host.link import Agent
from firedup.host.podlog import read_pod
from firedup.host.pour import Output, run_short
from firedup.host.source import parse_source
from firedup.session.source import watch_source
from firedup.session.watch import Watching
from firedup.testing.script import End, Http, Script, line

STANDIN = Path(__file__).parent.parent / "standin"
Docker = Callable[..., str]
WatchSource = Callable[..., AsyncIterator[Snapshot]]


@pytest.fixture(autouse=True)
def standin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-ins first in PATH, their state in a folder of this test."""
    folder = tmp_path / "standin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{STANDIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STANDIN_FOLDER", str(folder))
    return folder


@pytest.fixture
def docker(standin: Path, state: Path) -> Docker:
    def call(*words: str, program: str = "docker", check: bool = True) -> str:
        done = subprocess.run([program, *words], capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    return call


@pytest.fixture
def watch(site: Site) -> WatchSource:
    def begin(text: str, **how: Any) -> AsyncIterator[Snapshot]:
        source = parse_source(text)
        assert source is not None
        watching = Watching(**{"timeout_s": 60, **how})
        snapshots = watch_source(site.agent, site.catalogue, site.matcher, source, watching)
        site.watches.append(snapshots)
        return snapshots

    return begin


async def test_a_container_is_watched_until_it_is_proved_ready(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    outside = free_port()
    program = site.fake(recorded("s01_success.log"))
    published = ("-p", f"127.0.0.1:{outside}:{site.port}")
    docker("run", "-d", "--name", "sgl", *published, "sglang:x", *site.serve(program))

    last = await last_of(watch("docker:sgl"))

    assert last.explanation.verdict is Verdict.READY
    assert last.explanation.engine == "sglang"
    assert last.spec is not None
    assert last.spec.port == outside
    assert last.checks.health == 200
    assert last.checks.token is True
    assert last.checks.owner is Ownership.UNKNOWN  # docker-proxy has the port
    assert any("lines are known again" in note for note in last.explanation.notes)


async def test_the_stamps_of_the_tool_are_no_part_of_the_log(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    program = site.fake(recorded("s01_success.log"))
    host = ("--network", "host")
    docker("run", "-d", "--name", "sgl", *host, "sglang:x", *site.serve(program))

    last = await last_of(watch("docker:sgl"))

    spans = {span.stage for span in last.explanation.stages}
    assert Stage.LOAD_WEIGHTS in spans
    assert last.last_line is not None
    assert not last.last_line.text.startswith("20")
    assert last.checks.owner is Ownership.YES  # its own socket, in the host's network


async def test_a_container_that_the_kernel_killed_for_memory_is_said_to_be_that(
    site: Site, docker: Docker, watch: WatchSource, standin: Path
) -> None:
    program = site.fake(Script((line(0, "Load weight begin"),), end=None))
    docker("run", "-d", "--name", "sgl", "sglang:x", *site.serve(program))
    snapshots = watch("docker:sgl")
    await until(snapshots, lambda s: s.processes)  # seen from outside
    (folder,) = (standin / "containers").iterdir()
    (folder / "oom").touch()
    os.kill(snapshot_pid(folder), signal.SIGKILL)

    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == signal.SIGKILL
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-out-of-memory"


def snapshot_pid(folder: Path) -> int:
    import json

    return int(json.loads((folder / "state.json").read_text())["pid"])


async def test_a_container_that_has_ended_is_explained_at_once(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    program = site.fake(Script((line(0, "ValueError: no such model"),), end=End(0.1, code=3)))
    docker("run", "--name", "sgl", "sglang:x", *site.serve(program), check=False)

    last = await last_of(watch("docker:sgl"))

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_code == 3


async def test_last_words_that_could_not_be_read_in_time_are_said_to_be_missing(
    site: Site, docker: Docker, watch: WatchSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.spout.LAST_READ_S", 0.0)
    program = site.fake(Script((line(0, "Load weight begin"),), end=None))
    docker("run", "-d", "--name", "sgl", "sglang:x", *site.serve(program))
    snapshots = watch("docker:sgl")
    await until(snapshots, lambda s: s.processes)
    docker("kill", "-s", "SEGV", "sgl")

    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.CRASHED
    missing = [note for note in last.explanation.notes if "last lines may be missing" in note]
    assert missing == ["the log's end was not read within 0 s: its last lines may be missing"]


async def test_the_status_of_a_container_that_is_removed_is_known(
    site: Site, docker: Docker, watch: WatchSource, standin: Path
) -> None:
    program = site.fake(Script((line(0, "Load weight begin"),), end=None))
    docker("run", "-d", "--rm", "--name", "sgl", "sglang:x", *site.serve(program))
    snapshots = watch("docker:sgl")
    await until(snapshots, lambda _: [*standin.glob("containers/*/reader.*")])
    docker("kill", "-s", "SEGV", "sgl")

    last = await last_of(snapshots)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == signal.SIGSEGV


@pytest.mark.parametrize(
    ("program", "was_memory", "cause"),
    [
        ("docker", True, "host-out-of-memory"),
        ("docker", False, "killed"),
        ("podman", True, "killed"),  # it keeps no such events
    ],
)
async def test_why_a_container_that_was_removed_was_killed_is_asked_of_past_events(
    site: Site,
    docker: Docker,
    watch: WatchSource,
    standin: Path,
    program: str,
    was_memory: bool,
    cause: str,
) -> None:
    server = site.fake(Script((line(0, "Load weight begin"),), end=None))
    words = ("run", "-d", "--rm", "--name", "sgl", "sglang:x", *site.serve(server))
    docker(*words, program=program)
    snapshots = watch(f"{program}:sgl")
    await until(snapshots, lambda _: [*standin.glob("containers/*/reader.*")])
    (folder,) = (standin / "containers").iterdir()
    if was_memory:
        (folder / "oom").touch()
    os.kill(snapshot_pid(folder), signal.SIGKILL)

    last = await last_of(snapshots)

    assert last.exit_signal == signal.SIGKILL
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == cause
    has_doubt = any("cannot be known" in note for note in last.explanation.notes)
    assert has_doubt == (program == "podman")


async def test_a_key_that_only_the_container_has_is_found_by_its_engine(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    text = "0.00.300.000 I main: server is listening on http://127.0.0.1:@PORT@"
    http = Http(open_s=0, health=((0, 200),), api_key="rosebud")
    program = site.fake(Script((line(0, text),), http), "llama-server")
    outside = free_port()
    published = ("-p", f"127.0.0.1:{outside}:{site.port}", "-e", "LLAMA_API_KEY=rosebud")
    command = (program, "-m", "x.gguf", "--port", str(site.port))
    docker("run", "-d", "--name", "lc", *published, "llama.cpp:x", *command)

    last = await last_of(watch("docker:lc"))

    assert last.checks.token is True
    assert last.explanation.verdict is Verdict.READY


async def test_a_container_that_is_not_there_is_a_mistake_of_the_user(
    docker: Docker, watch: WatchSource
) -> None:
    for program in ("docker", "podman"):
        with pytest.raises(UsageError, match="no container nobody") as caught:
            await last_of(watch(f"{program}:nobody"))

        assert f"{program} ps --all" in str(caught.value)


@pytest.mark.parametrize(
    ("trouble", "kind", "advice"),
    [
        ("denied", Trouble.OTHER, "group docker"),
        ("no-daemon", Trouble.UNREACHED, "systemctl start docker"),
    ],
)
async def test_an_engine_that_cannot_be_asked_is_told_from_a_missing_container(
    site: Site,
    watch: WatchSource,
    monkeypatch: pytest.MonkeyPatch,
    trouble: str,
    kind: Trouble,
    advice: str,
) -> None:
    from firedup.host.base import local_host
    from firedup.host.link import open_agent

    monkeypatch.setenv("STANDIN_TROUBLE", trouble)
    source = parse_source("docker:x")
    assert source is not None
    async with open_agent(local_host()) as agent:
        with pytest.raises(LinkError) as caught:
            await source.look(agent)

    assert caught.value.trouble is kind
    assert advice in str(caught.value)


@pytest.mark.parametrize("answer", ["", "Emulate Docker CLI using podman.", "[]", '{"id": "1f'])
async def test_an_answer_of_the_engine_that_cannot_be_read_is_an_error_in_words(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    async def run(*_: object) -> Output:
        return Output(0, answer.encode(), "")

    monkeypatch.setattr("firedup.host.pour.run_short", run)
    source = parse_source("docker:sgl")
    assert source is not None

    with pytest.raises(LinkError, match="answered about docker:sgl cannot be read") as caught:
        await source.look(agent)

    assert (answer or "it said nothing") in str(caught.value)


@pytest.mark.parametrize(
    "told", ["", "map[phase:Running]\n\nmain\n", '{"phase": "Running"}\n\nmain\tx\t[serve -v]\t\n']
)
def test_an_answer_of_the_cluster_that_cannot_be_read_is_an_error_in_words(told: str) -> None:
    with pytest.raises(LinkError, match=r"answered about k8s:.*sgl-0 cannot be read"):
        read_pod(told, Pod("sgl-0"))


async def test_an_engine_that_answers_no_more_for_a_while_is_no_broken_link(
    site: Site, docker: Docker, watch: WatchSource, standin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.session.look.LOOK_S", 0.1)
    monkeypatch.setattr("firedup.host.pour.run_short", slow_when(standin / "slow"))
    program = site.fake(Script((line(0, "Load weight begin"),), end=None))
    docker("run", "-d", "--name", "sgl", "sglang:x", *site.serve(program))
    snapshots = watch("docker:sgl")
    await until(snapshots, lambda s: s.processes)
    (standin / "slow").touch()

    def is_noted(snapshot: Snapshot) -> bool:
        return "docker did not answer" in snapshot.explanation.notes

    noted = await until(snapshots, is_noted)
    (standin / "slow").unlink()
    docker("kill", "-s", "SEGV", "sgl")
    last = await last_of(snapshots)

    assert noted.link is None
    assert noted.explanation.verdict is Verdict.LOADING
    assert last.explanation.verdict is Verdict.CRASHED


def slow_when(sign: Path) -> Callable[..., Any]:
    """`run_short` that gives up while there is a file `sign`."""

    async def run(agent: Agent, argv: tuple[str, ...]) -> Output:
        if sign.exists():
            raise HostError("docker did not answer")
        return await run_short(agent, argv)

    return run


async def test_no_line_is_lost_or_doubled_when_the_client_of_the_engine_dies(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    import psutil

    body = """
    import pathlib, time
    for number in range(400):
        print(f"Load weight begin {number:03}", flush=True)
        time.sleep(0.005)
        while number in (99, 199, 299) and not pathlib.Path(FOLDER, f"go-{number}").exists():
            time.sleep(0.01)
    print("x" * 40000 + "END", flush=True)
    """
    body = body.replace("FOLDER", repr(str(site.folder)))
    docker("run", "-d", "--name", "sgl", "sglang:x", *site.serve(site.program(body)))
    snapshots = watch("docker:sgl", tail_lines=1000)
    killed = 0

    def kill_reader(snapshot: Snapshot) -> bool:
        nonlocal killed
        if len(snapshot.tail) > 100 * killed + 20 and killed < 3:
            (site.folder / f"go-{100 * killed + 99}").touch()  # lines come while it dies
            killed += 1
            for process in psutil.process_iter():
                try:
                    words = process.cmdline()
                    ours = process.environ().get("STANDIN_FOLDER")
                except psutil.Error:
                    continue
                if "logs" in words and ours == os.environ["STANDIN_FOLDER"]:
                    process.kill()
        return snapshot.is_final

    last = await until(snapshots, kill_reader)
    await asyncio.sleep(0)

    numbers = [text.rpartition(" ")[2] for text in last.tail if "begin" in text]
    assert killed == 3
    assert numbers == [f"{number:03}" for number in range(400)]


def make_pod(standin: Path, word: str, containers: dict[str, str] | str) -> None:
    import json

    (standin / "pods.json").write_text(json.dumps({word: containers}))


async def test_a_pod_is_asked_from_inside(
    site: Site, docker: Docker, watch: WatchSource, standin: Path
) -> None:
    program = site.fake(recorded("s01_success.log"))
    docker("run", "-d", "--name", "k8s_sgl", "sglang:x", *site.serve(program))
    make_pod(standin, "llm/sgl-0", {"server": "k8s_sgl"})

    last = await last_of(watch("k8s:llm/sgl-0"))

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.token is True
    assert last.explanation.engine == "sglang"


async def test_the_key_of_a_pod_is_found_inside(
    site: Site,
    docker: Docker,
    watch: WatchSource,
    standin: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "0.00.300.000 I main: server is listening on http://127.0.0.1:@PORT@"
    http = Http(open_s=0, health=((0, 200),), api_key="rosebud")
    program = site.fake(Script((line(0, text),), http), "llama-server")
    env = ("-e", "LLAMA_API_KEY=rosebud")
    command = (program, "-m", "x.gguf", "--port", str(site.port))
    docker("run", "-d", "--name", "k8s_lc", *env, "llama.cpp:x", *command)
    make_pod(standin, "llm/lc-0", {"server": "k8s_lc"})
    (folder,) = (standin / "containers").iterdir()
    # The stand-in's pod has no process numbers of its own, in which its first would be 1.
    monkeypatch.setattr("firedup.session.reach.INSIDE", snapshot_pid(folder))

    last = await last_of(watch("k8s:llm/lc-0"))

    assert last.checks.token is True
    assert last.explanation.verdict is Verdict.READY


async def test_without_python_in_the_pod_the_log_is_believed_and_that_is_said(
    site: Site, docker: Docker, watch: WatchSource, standin: Path
) -> None:
    import json

    program = site.fake(recorded("s01_success.log"))
    docker("run", "-d", "--name", "k8s_sgl", "sglang:x", *site.serve(program))
    (folder,) = (standin / "containers").iterdir()
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps({**state, "lacks": ["python3"]}))
    make_pod(standin, "llm/sgl-0", {"server": "k8s_sgl"})

    last = await last_of(watch("k8s:llm/sgl-0:server"))

    assert last.explanation.verdict is Verdict.READY
    assert last.checks.token is None
    assert any("not asked" in note for note in last.explanation.notes)


async def test_a_pod_that_was_killed_for_memory_is_said_to_be_that(
    site: Site, docker: Docker, watch: WatchSource, standin: Path
) -> None:
    program = site.fake(Script((line(0, "Load weight begin"),), end=None))
    docker("run", "-d", "--name", "k8s_sgl", "sglang:x", *site.serve(program))
    make_pod(standin, "llm/sgl-0", {"server": "k8s_sgl"})
    snapshots = watch("k8s:llm/sgl-0")
    await until(snapshots, lambda s: s.last_line is not None)
    (folder,) = (standin / "containers").iterdir()
    (folder / "oom").touch()
    docker("kill", "k8s_sgl")

    last = await last_of(snapshots)

    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-out-of-memory"


async def test_a_pod_that_waits_for_its_image_is_said_to_wait(
    watch: WatchSource, standin: Path
) -> None:
    make_pod(standin, "llm/sgl-0", "ImagePullBackOff")

    snapshot = await until(watch("k8s:llm/sgl-0"), lambda s: s.explanation.notes)
    again = await until(
        watch("k8s:llm/sgl-0"),
        lambda s: any("ImagePullBackOff" in note for note in s.explanation.notes),
    )

    assert snapshot.explanation.verdict is not Verdict.CRASHED
    assert again.explanation.verdict is not Verdict.CRASHED


async def test_a_pod_or_container_that_is_not_there_is_named(
    docker: Docker, watch: WatchSource, standin: Path
) -> None:
    docker("run", "-d", "--name", "x", "img", "sleep", "60")
    make_pod(standin, "llm/sgl-0", {"server": "x"})

    with pytest.raises(UsageError, match="no pod"):
        await last_of(watch("k8s:llm/other"))
    with pytest.raises(UsageError, match="no container sidecar"):
        await last_of(watch("k8s:llm/sgl-0:sidecar"))


async def test_a_unit_is_watched_through_its_journal(
    site: Site, docker: Docker, watch: WatchSource
) -> None:
    program = site.fake(recorded("s01_success.log"))
    docker("run", "-d", "--name", "sglang.service", "unit", *site.serve(program))
    ready = await last_of(watch("journal:sglang.service"))
    ending = watch("journal:sglang.service", until="exit")
    await until(ending, lambda s: s.processes)
    docker("kill", "-s", "ABRT", "sglang.service")

    last = await last_of(ending)

    assert ready.explanation.verdict is Verdict.READY
    assert ready.checks.owner is Ownership.YES
    assert last.explanation.verdict is Verdict.CRASHED
    assert last.exit_signal == signal.SIGABRT


async def test_a_unit_that_is_not_there_is_named(docker: Docker, watch: WatchSource) -> None:
    with pytest.raises(UsageError, match=r"no unit nobody\.service"):
        await last_of(watch("journal:nobody.service"))
