"""Agents over the real SSH client: started through any login shell, and every trouble named."""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from firedup.host.address import parse_host
from firedup.host.base import Host, LinkError, OperationError, Trouble
from firedup.host.file import append_file
from firedup.host.link import Agent, open_agent
from firedup.host.ssh import Ssh
from firedup.host.sshsetup import settle
from firedup.view.redact import clean
from tests.ssh_server import Boxes, SshBox, make_key

BOX = parse_host("box")


async def fail(host: Host = BOX, **options: float) -> LinkError:
    """The error with which no agent starts on `host`."""
    with pytest.raises(LinkError) as caught:
        async with open_agent(host, **options):
            pass
    return caught.value


async def test_an_agent_runs_on_the_host_and_not_here(ssh_box: SshBox) -> None:
    async with open_agent(BOX) as agent:
        assert agent.hello["home"] == str(ssh_box.home)
        assert agent.hello["state_folder"] == str(ssh_box.state / "firedup")
        assert (await agent.call("clock"))["boot_id"] == agent.hello["boot_id"]
        assert await agent.call("stat", path=str(ssh_box.folder / "login"))


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh", "fish", "tcsh", "ksh"])
async def test_every_login_shell_starts_the_agent(ssh_boxes: Boxes, shell: str) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    box = ssh_boxes("box")
    box.use_shell(path)
    async with open_agent(BOX) as agent:
        assert agent.hello["home"] == str(box.home)


async def test_what_a_login_shell_prints_is_dropped(ssh_box: SshBox) -> None:
    ssh_box.before("echo 'Welcome to the machine'; echo 'be careful' >&2\n")
    async with open_agent(BOX) as agent:
        assert agent.is_alive


# ---- one connection for all agents -------------------------------------------------------------


async def test_agents_share_one_connection_of_firedups_own(ssh_box: SshBox) -> None:
    async with open_agent(BOX), open_agent(BOX), open_agent(BOX):
        assert ssh_box.proxy.connections == 1
    async with open_agent(BOX):
        assert ssh_box.proxy.connections == 1


async def test_the_shared_connection_lies_where_nobody_else_may_look(ssh_box: SshBox) -> None:
    async with open_agent(BOX):
        folder = Path(os.environ["XDG_RUNTIME_DIR"]) / "firedup"
        assert [path.is_socket() for path in folder.iterdir()] == [True]
        assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_user_who_shares_connections_keeps_doing_so(
    ssh_box: SshBox, tmp_path: Path
) -> None:
    own = Path(os.environ["XDG_RUNTIME_DIR"]) / "own"
    with ssh_box.config.open("a") as text:
        text.write(f"Host *\n  ControlMaster auto\n  ControlPath {own}\n  ControlPersist 5\n")
    async with open_agent(BOX):
        assert own.is_socket()
        assert not (own.parent / "firedup").exists()


async def test_where_no_short_path_is_found_each_agent_has_its_own_connection(
    ssh_box: SshBox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / ("long" * 30)))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("long" * 30)))
    async with open_agent(BOX), open_agent(BOX):
        assert ssh_box.proxy.connections == 2


async def test_a_dead_shared_connection_does_not_stop_the_next_agent(
    ssh_box: SshBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_agent(BOX):
        pass
    ssh_box.proxy.stall_present()
    monkeypatch.setattr("firedup.host.link.SHARED_START_S", 1.0)
    async with open_agent(BOX) as agent:
        assert agent.is_alive
        assert ssh_box.proxy.connections == 2


async def test_who_leaves_a_broken_link_leaves_the_connection_that_others_have_made_since(
    ssh_box: SshBox,
) -> None:
    async with open_agent(BOX) as early:
        ssh_box.kill_sessions()
        assert (await ended(early)).trouble is Trouble.LINK_DOWN
        late = open_agent(BOX)
        agent = await late.__aenter__()
    try:
        assert (await agent.call("clock"))["boot_id"] == agent.hello["boot_id"]
    finally:
        await late.__aexit__(None, None, None)


async def test_the_users_forwardings_are_not_asked_for(ssh_box: SshBox) -> None:
    taken = ssh_box.proxy.port  # a port that cannot be listened on any more
    with ssh_box.config.open("a") as text:
        text.write(f"Host *\n  LocalForward {taken} localhost:1\n  ExitOnForwardFailure yes\n")
        text.write("  ForwardAgent yes\n  RequestTTY force\n  RemoteCommand tmux attach\n")
        text.write("  PermitLocalCommand yes\n  LocalCommand touch /no/such/folder/file\n")
    async with open_agent(BOX) as agent:
        assert agent.is_alive


async def test_what_the_user_set_for_signs_of_life_stays(ssh_box: SshBox) -> None:
    assert "ServerAliveInterval=5" in (await settle(BOX)).hops[0].options
    with ssh_box.config.open("a") as text:
        text.write("Host *\n  ServerAliveInterval 20\n  ConnectTimeout 3\n  LogLevel QUIET\n")
    options = (await settle(BOX)).hops[0].options

    assert not [o for o in options if o.startswith(("ServerAlive", "ConnectTimeout"))]
    assert "LogLevel=ERROR" in options


async def test_jump_hosts_of_the_users_configuration_work(ssh_boxes: Boxes) -> None:
    jump, box = ssh_boxes("jump", kind="sshd"), ssh_boxes("box")
    with box.config.open("a") as text:
        text.write("Host box\n  ProxyJump jump\n")
    async with open_agent(BOX) as agent:
        assert agent.hello["home"] == str(box.home)
        assert jump.proxy.connections == 1


async def test_a_second_hop_over_ssh_is_made_on_the_first_host(ssh_boxes: Boxes) -> None:
    first, second = ssh_boxes("first"), ssh_boxes("second")
    (first.home / ".ssh").mkdir()
    wrapper = first.folder / "bin" / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {first.config} "$@"\n')
    wrapper.chmod(0o755)
    async with open_agent(parse_host("ssh:first,ssh:second")) as agent:
        assert agent.hello["home"] == str(second.home)
        assert second.processes()


# ---- troubles ----------------------------------------------------------------------------------


async def test_an_unknown_key_is_shown_and_not_accepted(ssh_box: SshBox) -> None:
    ssh_box.known_hosts.write_text("")
    error = await fail()

    key = subprocess.run(
        ["ssh-keygen", "-lf", ssh_box.folder / "host_key.pub"], capture_output=True, text=True
    ).stdout.split()[1]
    assert error.trouble is Trouble.UNKNOWN_KEY
    assert error.what == "box: its host key is unknown here"
    assert key in str(error)
    assert f"decide once with: ssh -F {ssh_box.config} box" in str(error)
    assert ssh_box.known_hosts.read_text() == ""


async def test_a_changed_key_is_refused(ssh_box: SshBox) -> None:
    make_key(ssh_box.folder / "other")
    kind, key, _ = (ssh_box.folder / "other.pub").read_text().split()
    ssh_box.known_hosts.write_text(f"box {kind} {key}\n")
    error = await fail()

    assert error.trouble is Trouble.CHANGED_KEY
    assert error.what == "box: its host key is not the known one"
    assert "ssh-keygen -R box" in str(error)


async def test_a_host_that_wants_a_password_is_told_apart(ssh_box: SshBox) -> None:
    make_key(ssh_box.folder / "other")
    shutil.copy(ssh_box.folder / "other.pub", ssh_box.folder / "authorized_keys")
    error = await fail()

    assert error.trouble is Trouble.NEEDS_ANSWER
    assert f"ssh-copy-id -F {ssh_box.config} box" in str(error)
    assert error.what == "box: the login needs a password or another key"
    assert error.todo is not None
    assert clean(error.todo) == error.todo  # nothing in it is taken for a secret


def test_a_key_is_copied_the_way_that_the_client_goes() -> None:
    client = ("/opt/ssh", "-F", "my conf", "-p2222", "-J", "jump", "-l", "me", "-v")
    told = Ssh("box", client=client).explain(255, "me@box: Permission denied (publickey).")

    assert told is not None
    options = "-F 'my conf' -p 2222 -o ProxyJump=jump -o User=me"
    assert f"ssh-copy-id {options} box. " in told[1]


async def test_a_key_with_a_passphrase_is_not_asked_for(ssh_box: SshBox) -> None:
    key = ssh_box.folder / "client_key"
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "a secret", "-f", key], check=True)
    error = await fail()

    assert error.trouble is Trouble.NEEDS_ANSWER
    assert "ssh-add" in str(error)


async def test_a_key_that_others_may_read_is_named(ssh_box: SshBox) -> None:
    key = ssh_box.folder / "client_key"
    key.chmod(0o644)
    error = await fail()

    assert error.trouble is Trouble.NEEDS_ANSWER
    assert f"chmod 600 {key}" in str(error)


async def test_a_refused_connection_is_told_apart(ssh_box: SshBox) -> None:
    ssh_box.cut()
    error = await fail()

    assert error.trouble is Trouble.UNREACHED
    assert "no SSH server listens" in str(error)
    assert error.what == "box: not reached"


async def test_an_unknown_name_is_told_apart(ssh_config: Path) -> None:
    error = await fail(parse_host("no-such-host.invalid"))

    assert error.trouble is Trouble.UNREACHED
    assert "give no-such-host.invalid a HostName" in str(error)


async def test_a_host_that_swallows_everything_is_given_up_in_time(ssh_box: SshBox) -> None:
    with ssh_box.config.open("a") as text:
        text.write("Host *\n  ConnectTimeout 1\n")
    ssh_box.stall()
    error = await fail()

    assert error.trouble is Trouble.UNREACHED
    assert "does not answer" in str(error)


async def test_a_broken_jump_host_is_told_apart(ssh_boxes: Boxes) -> None:
    jump, box = ssh_boxes("jump", kind="sshd"), ssh_boxes("box")
    with box.config.open("a") as text:
        text.write("Host box\n  ProxyJump jump\n")
    box.cut()
    behind = await fail()
    jump.cut()
    before = await fail()

    assert behind.trouble is before.trouble is Trouble.UNREACHED
    assert "jump host was reached, but not the host behind it" in str(behind)
    assert "At a jump host: " in str(before)


async def test_a_missing_client_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIREDUP_SSH", "/no/such/ssh")
    error = await fail()

    assert error.trouble is Trouble.NO_CLIENT
    assert "FIREDUP_SSH" in str(error)


async def test_a_faulty_configuration_is_shown(ssh_box: SshBox) -> None:
    with ssh_box.config.open("a") as text:
        text.write("Colour blue\n")
    error = await fail()

    assert error.trouble is Trouble.OTHER
    assert "colour" in str(error).lower()


async def test_a_missing_interpreter_is_told_apart(ssh_box: SshBox) -> None:
    error = await fail(replace(BOX, python="python3.99"))

    assert error.trouble is Trouble.NO_PYTHON
    assert error.what == "box: no Python that the agent can run with"
    assert "--python" in str(error)


async def test_an_interpreter_that_is_too_old_is_told_apart(ssh_box: SshBox) -> None:
    old = ssh_box.folder / "bin" / "python2"
    old.write_text(
        "#!/bin/sh\necho 'firedup needs Python 3.6 or newer; there is 2.7' >&2; exit 1\n"
    )
    old.chmod(0o755)
    error = await fail(replace(BOX, python="python2"))

    assert error.trouble is Trouble.NO_PYTHON
    assert "--python" in str(error)


async def test_a_full_disk_at_login_is_told_apart(ssh_box: SshBox) -> None:
    ssh_box.before("echo 'sh: cannot create temp file: No space left on device' >&2; exit 2\n")
    error = await fail()

    assert error.trouble is Trouble.DISK_FULL
    assert error.what == "box: its disk is full"
    assert "df -h" in str(error)


async def test_a_disk_that_is_full_later_is_an_answer_and_no_trouble(ssh_box: SshBox) -> None:
    async with open_agent(BOX) as agent:
        with pytest.raises(OperationError) as caught:
            await append_file(agent, "/dev/full", b"one line too many")

    assert caught.value.code == "no-space"
    assert "df -h" in str(caught.value)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo 'This account is currently not available.'; exit 1\n", "lets no program run"),
        ("echo 'see you'; exit 0\n", "start files may exit"),
        ("exec yes\n", "talks, but not as the agent"),
    ],
)
async def test_a_login_shell_that_runs_nothing_is_told_apart(
    ssh_box: SshBox, script: str, words: str
) -> None:
    ssh_box.before(script)
    error = await fail()

    assert error.trouble is Trouble.OTHER
    assert words in str(error)


async def test_a_login_that_hangs_is_given_up_in_time(ssh_box: SshBox) -> None:
    ssh_box.before("echo 'hold on'; exec sleep 100\n")
    error = await fail(start_timeout_s=5.0)

    assert error.trouble is Trouble.OTHER
    assert "hold on" in str(error)


# ---- ends --------------------------------------------------------------------------------------


async def ended(agent: Agent) -> LinkError:
    with pytest.raises(LinkError) as caught:
        async for _ in agent.open("follow", path="/nowhere/log"):
            pass
    return caught.value


@pytest.mark.parametrize(
    "break_link",
    [SshBox.cut, SshBox.kill_sessions],
    ids=["cut", "sessions killed"],
)
async def test_a_link_that_breaks_is_told_from_an_agent_that_dies(
    ssh_box: SshBox, break_link: Callable[[SshBox], None]
) -> None:
    async with open_agent(BOX) as agent:
        break_link(ssh_box)
        assert (await ended(agent)).trouble is Trouble.LINK_DOWN


async def test_an_agent_that_dies_is_told_from_a_link_that_breaks(ssh_box: SshBox) -> None:
    async with open_agent(BOX) as agent:
        os.kill(agent.hello["pid"], signal.SIGKILL)
        assert (await ended(agent)).trouble is Trouble.AGENT_DIED


async def test_a_client_that_is_killed_counts_as_a_broken_link(ssh_box: SshBox) -> None:
    async with open_agent(BOX) as agent:
        for child in psutil.Process().children():
            if "serve" in child.cmdline()[-1]:
                child.kill()
        assert (await ended(agent)).trouble is Trouble.LINK_DOWN
