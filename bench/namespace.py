"""A host behind SSH in a network namespace of its own, with a cable that can be pulled."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.ssh_server import (
    SshBox,
    add_to_config,
    await_listening,
    prepare_host,
    sshd_command,
    why_not,
)

KIND = "namespace"
PORT = 22
NEAR, FAR = "169.254.77.1", "169.254.77.2"  # link-local: nobody else's


@dataclass(frozen=True, slots=True)
class Cable:
    """A pair of interfaces: `near` is here, `far` in the namespace of process `pid`."""

    near: str
    far: str
    pid: int

    def cut(self) -> None:
        """Pull it out here: nothing can be sent any more, and whoever tries is told."""
        _ip("link", "set", self.near, "down")

    def stall(self) -> None:
        """Pull it out there: what is sent vanishes without a word."""
        self.there("link", "set", self.far, "down")

    def heal(self) -> None:
        """Put both ends in again."""
        _ip("link", "set", self.near, "up")
        self.there("link", "set", self.far, "up")

    def close(self) -> None:
        """Take it away; it goes with the namespace, too."""
        _ip("link", "delete", self.near, check=False)

    def there(self, *words: str) -> None:
        """`ip` within the namespace."""
        subprocess.run(["nsenter", "-t", str(self.pid), "-n", "ip", *words], check=True)


def why_no_namespace() -> str | None:
    """Why there can be no such host here."""
    if (reason := why_not("sshd")) is not None:
        return reason
    missing = [name for name in ("unshare", "nsenter", "ip") if shutil.which(name) is None]
    if missing:
        return f"{missing[0]} is not installed"
    if os.getuid() != 0:
        return "only root can make an interface"
    tried = ["unshare", "-n", "ip", "link", "add", "type", "veth"]
    if subprocess.run(tried, capture_output=True, check=False).returncode:
        return "this machine allows no network namespace"
    return None


def start_far_box(name: str, folder: Path, config: Path) -> SshBox:
    """Start a host in a new namespace and add it to the client's configuration at `config`."""
    prepare_host(name, folder)
    log = folder / "server.log"
    # The server waits for the cable, whose far end needs the namespace to be there.
    wait = ["unshare", "-n", "sh", "-c", 'echo made; read -r go; exec "$@"', "sh"]
    with log.open("w") as errors:
        server = subprocess.Popen(
            [*wait, *sshd_command(folder, PORT, FAR)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdout.readline()
    cable = Cable(f"fu{server.pid % 100000}n", f"fu{server.pid % 100000}f", server.pid)
    _ip("link", "add", cable.near, "type", "veth", "peer", cable.far, "netns", str(server.pid))
    _ip("address", "add", f"{NEAR}/30", "dev", cable.near)
    cable.there("address", "add", f"{FAR}/30", "dev", cable.far)
    cable.there("link", "set", "lo", "up")
    cable.heal()
    server.stdin.write("go\n")
    server.stdin.close()
    server.stdout.close()
    await_listening(server, log)
    add_to_config(config, name, folder, PORT, FAR)
    return SshBox(name, folder, config, server, cable, KIND)


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=not check)
