"""Watches over SSH whose link breaks, stalls, stays away or leads to a host that was rebooted."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest
from workbench import Knowledge, Site, free_port, last_of, story, until

from firedup.core.event import LinkChanged
from firedup.core.model import Snapshot, State, Verdict
from firedup.host.address import parse_host
from firedup.host.beat import Beat
from firedup.host.link import open_agent
from firedup.session.attend import watch_log
from firedup.session.registry import Run, find_run
from firedup.session.watching import Watching
from firedup.store.event import EventReader, LogRange
from tests.ssh_server import Boxes, SshBox

# Speaks when it is told to: at the file "more" it goes on, and ends with a fault.
TALKER = """
    import pathlib, sys, time
    print("INFO: Load weight begin. avail mem=10 GB", flush=True)
    print("Loading safetensors checkpoint shards:   0% Completed | 0/8", flush=True)
    while not pathlib.Path(FOLDER, "more").exists():
        time.sleep(0.01)
    for number in range(3000):
        print("line", number, flush=True)
    print("Capture cuda graph begin. This can take up to several minutes.", flush=True)
    while not pathlib.Path(FOLDER, "end").exists():
        time.sleep(0.01)
    raise RuntimeError("the drafter does not fit")
"""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firedup.session.linked.FIRST_PAUSE_S", 0.02)
    monkeypatch.setattr("firedup.session.linked.MOST_PAUSE_S", 0.1)


class Remote(Site):
    """A site on a host behind SSH."""

    box: SshBox

    async def talk(self) -> Run:
        """Launch the talker; `say` lets it go on."""
        program = self.program(TALKER.replace("FOLDER", repr(str(self.folder))))
        return await self.launch(self.serve(program))

    def say(self, word: str) -> None:
        (self.folder / word).touch()

    def events(self, run: Run) -> list[object]:
        """What is recorded in the run folder."""
        reader = EventReader()
        return [*reader.feed(Path(run.folder, "events.jsonl").read_bytes()), *reader.close()]


@pytest.fixture(params=["asyncssh", "sshd"])
async def remote(
    request: pytest.FixtureRequest, ssh_boxes: Boxes, knowledge: Knowledge, tmp_path: Path
) -> AsyncIterator[Remote]:
    box = ssh_boxes("box", kind=request.param)
    async with open_agent(parse_host("box")) as agent:
        place = Remote(agent, knowledge, tmp_path / "bin", free_port())
        place.box = box
        yield place
        for watch in place.watches:
            await watch.aclose()


def is_loading(snapshot: Snapshot) -> bool:
    return snapshot.explanation.verdict is Verdict.LOADING and snapshot.log_size > 60


def is_down(snapshot: Snapshot) -> bool:
    return snapshot.link is not None


def is_up(snapshot: Snapshot) -> bool:
    return snapshot.link is None


def kill_clients(box: SshBox) -> None:
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.name() == "ssh":
                child.kill()


def kill_master(box: SshBox) -> None:
    folder = os.environ["XDG_RUNTIME_DIR"]
    for process in psutil.process_iter():
        try:
            if process.name() == "ssh" and folder in " ".join(process.cmdline()):
                process.kill()
        except psutil.Error:
            continue


def kill_agent(box: SshBox) -> None:
    for process in box.processes():
        with contextlib.suppress(psutil.NoSuchProcess):
            if process.cmdline()[-1:] == ["serve"]:
                process.kill()


def cut_and_heal(box: SshBox) -> None:
    box.cut()
    box.heal()


BREAKS = [cut_and_heal, SshBox.kill_sessions, kill_clients, kill_master, kill_agent]


@pytest.mark.parametrize("break_link", BREAKS, ids=lambda act: act.__name__)
async def test_a_watch_goes_on_at_the_exact_byte_whatever_broke_the_link(
    remote: Remote, break_link: Callable[[SshBox], None]
) -> None:
    run = await remote.talk()
    watch = remote.watch(run, until="exit")
    await until(watch, is_loading)
    servers = [p.pid for p in remote.box.processes() if "serve" in p.cmdline()[2:3]]
    break_link(remote.box)
    remote.say("more")
    await until(watch, is_down)
    await until(watch, lambda s: is_up(s) and s.explanation.stage == "graph-capture")
    break_link(remote.box)
    remote.say("end")
    last = await last_of(watch)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert "the drafter does not fit" in last.explanation.cause.line
    assert len(servers) == 1
    ranges = [e for e in remote.events(run) if isinstance(e, LogRange)]
    ends = [0, *(r.offset + r.length for r in ranges)]
    assert [r.offset for r in ranges] == ends[:-1]  # nothing twice, nothing left out
    assert ends[-1] == Path(run.log).stat().st_size

    async with open_agent(parse_host("box")) as agent:
        again = await last_of(remote.watch(await find_run(agent, run.label.id), agent))
    assert story(again.explanation) == story(last.explanation)


async def test_while_the_link_is_down_the_servers_state_is_unknown_and_not_judged(
    remote: Remote,
) -> None:
    run = await remote.talk()
    watch = remote.watch(run, tick_s=0.05)
    before = await until(watch, is_loading)
    remote.box.cut()
    down = await until(watch, is_down)
    later = await until(watch, lambda s: s.link and s.link.trouble == "unreached")

    assert down.state is later.state is State.UNREACHED
    assert down.link is not None
    assert later.link is not None
    assert down.link.trouble == "link-down"
    assert "refused" in later.link.detail
    assert later.link.down_s > down.link.down_s
    assert later.now_ns == down.now_ns  # the host's time stands still
    assert later.explanation.verdict is before.explanation.verdict is Verdict.LOADING
    assert later.link.as_of_ns is not None
    assert later.wall_ns is not None
    assert later.link.as_of_ns < later.wall_ns

    remote.box.heal()
    assert (await until(watch, is_up)).now_ns >= down.now_ns


async def test_a_link_that_swallows_everything_is_noticed(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firedup.host.link.BEAT", Beat(0.2, 2.0))
    run = await remote.talk()
    async with open_agent(parse_host("box")) as agent:
        watch = remote.watch(run, agent)
        await until(watch, is_loading)
        remote.box.proxy.stall_present()
        down = await until(watch, is_down)
        remote.say("more")
        up = await until(watch, lambda s: is_up(s) and s.explanation.stage == "graph-capture")
        await watch.aclose()

    assert down.link is not None
    assert "no sign of life" in down.link.detail
    assert down.link.down_s >= 2.0
    assert up.explanation.verdict is Verdict.LOADING


async def test_a_host_that_stays_away_is_lost_and_not_crashed(remote: Remote) -> None:
    run = await remote.talk()
    watch = remote.watch(run, lost_after_s=0.5)
    await until(watch, is_loading)
    remote.box.cut()
    last = await last_of(watch)

    assert last.explanation.verdict is Verdict.LOST
    assert "the host was not reached for 0.5 s" in last.explanation.notes


async def test_a_limit_that_ends_while_the_link_is_down_is_no_timeout(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    monkeypatch.setattr("firedup.session.watch.time.monotonic", lambda: now_s)
    run = await remote.talk()
    watch = remote.watch(run, timeout_s=100, tick_s=0.05)
    await until(watch, is_loading)
    remote.box.cut()
    await until(watch, is_down)
    now_s = 101.0
    last = await last_of(watch)

    assert last.explanation.verdict is Verdict.LOST
    assert "the link was down after 100 s, the limit" in last.explanation.notes


async def test_what_came_while_the_link_was_down_has_the_time_of_its_arrival(
    remote: Remote,
) -> None:
    run = await remote.talk()
    watch = remote.watch(run)
    await until(watch, is_loading)
    size = Path(run.log).stat().st_size
    remote.box.cut()
    await until(watch, is_down)
    remote.say("more")
    async for _ in watch:  # the keeper notes the size of the log each second
        samples = Path(run.folder, "samples.jsonl").read_text()
        if samples.count('"log_size"') and _last_size(samples) > 10_000:
            break
    remote.box.heal()
    await until(watch, lambda s: is_up(s) and s.explanation.stage == "graph-capture")
    remote.say("end")
    await last_of(watch)

    events = remote.events(run)
    up_ns = next(e.at_ns for e in events if isinstance(e, LinkChanged) and e.is_up)
    late = [e for e in events if isinstance(e, LogRange) and e.offset + e.length > size]
    assert late[0].at_ns < up_ns


def _last_size(samples: str) -> int:
    return int(samples.rpartition('"log_size"')[2].strip(": ").split(",")[0].split("}")[0])


@pytest.fixture
def reboot(tmp_path: Path) -> Callable[[SshBox], None]:
    """Lets a host look started again: the next logins see another boot id."""
    own = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"])]
    other = tmp_path / "boot_id"
    other.write_text("00000000-1111-2222-3333-444444444444\n")
    mount = f"mount --bind {other} /proc/sys/kernel/random/boot_id"
    if not shutil.which("unshare") or subprocess.run([*own, "sh", "-c", mount]).returncode:
        pytest.skip("this user may make no mount namespace")

    def act(box: SshBox) -> None:
        login = box.folder / "login"
        box.before(
            'if test -z "$REBOOTED"; then export REBOOTED=1\n'
            f"exec {' '.join(own)} sh -c '{mount} && exec {login}'; fi\n"
        )
        cut_and_heal(box)

    return act


async def test_a_host_that_was_started_again_ended_its_servers(
    remote: Remote, reboot: Callable[[SshBox], None]
) -> None:
    run = await remote.talk()
    watch = remote.watch(run)
    before = await until(watch, is_loading)
    reboot(remote.box)
    last = await last_of(watch)

    assert last.explanation.verdict is Verdict.CRASHED
    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-restarted"
    assert "the host was started again" in last.explanation.cause.line
    assert last.now_ns - before.now_ns < 60 * 10**9  # the new boot's clock says nothing of it


async def test_a_watched_log_ended_with_its_host(
    remote: Remote, reboot: Callable[[SshBox], None], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    remote.program(TALKER.replace("FOLDER", repr(str(remote.folder))))
    with log.open("w") as stdout:
        server = subprocess.Popen(remote.serve(str(remote.folder / "sglang")), stdout=stdout)
    try:
        watch = watch_log(
            remote.agent, remote.catalogue, remote.matcher, str(log), Watching(until="exit")
        )
        remote.watches.append(watch)
        await until(watch, lambda s: is_loading(s) and s.processes)
        reboot(remote.box)
        last = await last_of(watch)
    finally:
        server.kill()
        server.wait()

    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-restarted"


async def test_a_run_of_the_boot_before_ended_with_the_host(
    remote: Remote, reboot: Callable[[SshBox], None]
) -> None:
    run = await remote.talk()
    await until(remote.watch(run), is_loading)
    await remote.watches[0].aclose()
    reboot(remote.box)
    async with open_agent(parse_host("box")) as agent:
        last = await last_of(remote.watch(await find_run(agent, run.label.id), agent))

    assert last.explanation.cause is not None
    assert last.explanation.cause.failure == "host-restarted"
    assert last.elapsed_s >= 0
