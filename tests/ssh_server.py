"""A host behind SSH for tests: the real `ssh` client, a server of one's own, a link to cut.

`ssh_box` gives one such host, once with asyncssh and once with the real OpenSSH server;
`ssh_boxes` makes several. All of them are this machine, but with a home, a state folder and a
PATH of their own. The user's configuration is not touched: FIREDUP_SSH names the client with a
file of its own.
"""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil
import pytest

from tests.tcp_proxy import Proxy

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
PRIVILEGE_FOLDER = Path("/run/sshd")
KINDS = ("asyncssh", "sshd")
START_LIMIT = 200  # lines that a server may print before it says that it listens

# What a login does on the host: a poor environment, a word before if a test wants one, a shell.
LOGIN = """#!/bin/sh
folder={folder}
read -r shell < "$folder/shell"
test -e "$folder/before" && . "$folder/before"
cd "$folder/home"
exec env -i HOME="$folder/home" XDG_STATE_HOME="$folder/state" USER={user} LOGNAME={user} \\
  SHELL="$shell" PATH="$folder/bin:/usr/bin:/bin" SSH_CONNECTION="$SSH_CONNECTION" \\
  ${{XDG_SESSION_ID:+XDG_SESSION_ID="$XDG_SESSION_ID"}} "$shell" -c "$SSH_ORIGINAL_COMMAND"
"""

SSHD_CONFIG = """
Port {port}
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
ForceCommand {folder}/login
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
LogLevel VERBOSE
"""

CLIENT_CONFIG = """
Host {name}
  HostName {address}
  Port {port}
  User {user}
  HostKeyAlias {name}
  IdentityFile {folder}/client_key
  IdentitiesOnly yes
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile /dev/null
"""


class Way(Protocol):
    """What lies between client and host, and can be cut."""

    def cut(self) -> None: ...
    def stall(self) -> None: ...
    def heal(self) -> None: ...
    def close(self) -> None: ...


@dataclass
class SshBox:
    """A host called `name` for `--host`, whose link can be cut."""

    name: str
    folder: Path
    config: Path
    server: subprocess.Popen[str]
    way: Way
    kind: str
    _log: list[str] = field(default_factory=list)

    @property
    def proxy(self) -> Proxy:
        """The way to it where that counts bytes and connections."""
        assert isinstance(self.way, Proxy)
        return self.way

    @property
    def home(self) -> Path:
        """The home folder on the host."""
        return self.folder / "home"

    @property
    def state(self) -> Path:
        """XDG_STATE_HOME on the host."""
        return self.folder / "state"

    @property
    def known_hosts(self) -> Path:
        """The file in which the client knows the host's key."""
        return self.folder / "known_hosts"

    def use_shell(self, path: str) -> None:
        """Let `path` be the login shell from the next login on."""
        (self.folder / "shell").write_text(f"{path}\n")

    def before(self, script: str) -> None:
        """Let each later login run these lines of sh first."""
        (self.folder / "before").write_text(script)

    def sessions(self) -> list[psutil.Process]:
        """The server's processes that serve one connection each (none with asyncssh)."""
        if self.kind == "asyncssh":
            return []
        children = psutil.Process(self.server.pid).children(recursive=True)
        return [child for child in children if name_of(child).startswith("sshd")]

    def kill_sessions(self) -> None:
        """Break every connection at the host's end, at once and without a word."""
        if self.kind == "asyncssh":
            self.server.send_signal(signal.SIGUSR1)
        for process in self.sessions():
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue

    def cut(self) -> None:
        """The connections break, and new ones are refused, until `heal`."""
        self.way.cut()

    def stall(self) -> None:
        """No byte flows any more, and nothing is closed, until `heal`."""
        self.way.stall()

    def heal(self) -> None:
        """Let bytes and connections through again."""
        self.way.heal()

    def processes(self) -> list[psutil.Process]:
        """What was started on the host and still runs."""
        return _processes_of(self.state)

    def close(self) -> None:
        """End the server, the way to it, and all that was left running there."""
        self.way.close()
        for process in (*self.sessions(), *self.processes()):
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        self.server.terminate()
        self.server.wait()
        if self.server.stderr is not None:
            self.server.stderr.close()


def name_of(process: psutil.Process) -> str:
    """The name of a process; "" when it has gone since it was listed."""
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


def _processes_of(state: Path) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("XDG_STATE_HOME") == str(state):
                found.append(process)
        except psutil.Error:
            continue
    return found


def make_key(path: Path) -> None:
    """A key without a passphrase, and its public half beside it."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)


def why_not(kind: str) -> str | None:
    """Why a server of this kind cannot run here."""
    if shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "the OpenSSH client is not installed"
    if kind != "sshd":
        return None
    if SSHD is None:
        return "the OpenSSH server is not installed"
    if os.getuid() == 0 and not PRIVILEGE_FOLDER.exists():
        try:
            PRIVILEGE_FOLDER.mkdir(mode=0o755)
        except OSError as error:
            return f"sshd needs {PRIVILEGE_FOLDER}: {error.strerror}"
    return None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def start_box(kind: str, name: str, folder: Path, config: Path) -> SshBox:
    """Start a host and add it to the client's configuration at `config`."""
    prepare_host(name, folder)
    port = free_port()
    server = _start_server(kind, folder, port)
    proxy = Proxy(port)
    add_to_config(config, name, folder, proxy.port)
    return SshBox(name, folder, config, server, proxy, kind)


def prepare_host(name: str, folder: Path) -> None:
    """The folders, keys and login of a host called `name`."""
    for part in ("home", "state", "bin"):
        (folder / part).mkdir(parents=True)
    make_key(folder / "host_key")
    make_key(folder / "client_key")
    shutil.copy(folder / "client_key.pub", folder / "authorized_keys")
    (folder / "bin" / "python3").symlink_to(os.path.realpath(sys.executable))
    (folder / "shell").write_text("/bin/sh\n")
    user = shlex.quote(getpass.getuser())
    login = folder / "login"
    login.write_text(LOGIN.format(folder=shlex.quote(str(folder)), user=user))
    login.chmod(0o755)
    key_type, key, *_ = (folder / "host_key.pub").read_text().split()
    (folder / "known_hosts").write_text(f"{name} {key_type} {key}\n")


def add_to_config(
    config: Path, name: str, folder: Path, port: int, address: str = "127.0.0.1"
) -> None:
    """Let the client know the host `name`."""
    words = {"name": name, "folder": folder, "user": getpass.getuser()}
    with config.open("a") as text:
        text.write(CLIENT_CONFIG.format(**words, port=port, address=address))


def sshd_command(folder: Path, port: int, address: str = "127.0.0.1") -> list[str]:
    """The real server for a host, in the foreground."""
    config = folder / "sshd_config"
    config.write_text(SSHD_CONFIG.format(port=port, folder=folder, address=address))
    return [str(SSHD), "-f", str(config), "-D", "-e"]


def _start_server(kind: str, folder: Path, port: int) -> subprocess.Popen[str]:
    if kind == "sshd":
        command = sshd_command(folder, port)
    else:
        stand_in = str(Path(__file__).parent / "ssh_stand_in.py")
        command = [sys.executable, stand_in, str(port), str(folder)]
    log = folder / "server.log"
    with log.open("w") as stderr:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, text=True
        )
    await_listening(server, log)
    return server


def await_listening(server: subprocess.Popen[str], log: Path) -> None:
    """Wait until a server says so; RuntimeError when it ends before."""
    while "listening on" not in log.read_text():
        try:
            server.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise RuntimeError(f"the test's SSH server ended: {log.read_text()}")


Boxes = Callable[..., SshBox]


@pytest.fixture
def ssh_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The client's configuration, which FIREDUP_SSH names; control sockets lie apart."""
    config = tmp_path / "ssh_config"
    config.touch()
    # A socket's path may have about 100 bytes, which a test's own folder exceeds.
    sockets = tempfile.mkdtemp(prefix="fu-", dir="/tmp")
    monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
    monkeypatch.setenv("FIREDUP_SSH", shlex.join(["ssh", "-F", str(config)]))
    yield config
    shutil.rmtree(sockets, ignore_errors=True)


@pytest.fixture
def ssh_boxes(ssh_config: Path, tmp_path: Path) -> Iterator[Boxes]:
    """Makes hosts: `ssh_boxes("box", kind="sshd")`; the kind is asyncssh unless it is said."""
    made: list[SshBox] = []

    def make(name: str = "box", kind: str = "asyncssh") -> SshBox:
        if (reason := why_not(kind)) is not None:
            pytest.skip(reason)
        made.append(start_box(kind, name, tmp_path / f"host-{name}", ssh_config))
        return made[-1]

    yield make
    with ExitStack() as closing:  # one that cannot be closed does not keep the others open
        for box in made:
            closing.callback(box.close)


@pytest.fixture(params=KINDS)
def ssh_box(request: pytest.FixtureRequest, ssh_boxes: Boxes) -> SshBox:
    """The host "box", once with each kind of server."""
    return ssh_boxes("box", kind=request.param)


@pytest.fixture
def sshd_box(ssh_boxes: Boxes) -> SshBox:
    """The host "box" with the real OpenSSH server; skipped where that is not installed."""
    return ssh_boxes("box", kind="sshd")
