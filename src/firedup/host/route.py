"""Where a host really is, as OpenSSH reads the user's configuration."""

from __future__ import annotations

from firedup.host.base import Host
from firedup.host.command import run_there
from firedup.host.ssh import Ssh
from firedup.host.sshsetup import settle

ASK_S = 10.0
_HERE = Host("local")


async def read_route(host: Host) -> str | None:
    """The way to `host` in words, such as "root@203.0.113.7 port 22 through jump → docker:x".

    None for this machine. Nothing is connected to.
    """
    if host.is_local:
        return None
    words = [hop.word for hop in host.hops]
    first = (await settle(host)).hops[0]
    if isinstance(first, Ssh):
        said = await run_there(_HERE, (*first.client, "-G", "--", first.destination), limit_s=ASK_S)
        words[0] = _render(said.out) or words[0]
    return " → ".join(words)


def _render(said: str) -> str:
    facts = dict(line.split(" ", 1) for line in said.splitlines() if " " in line)
    name = facts.get("hostname")
    if name is None:
        return ""
    jump = facts.get("proxyjump", "none")
    command = facts.get("proxycommand", "none")
    through = f" through {jump}" if jump != "none" else ""
    through = through or (" through a proxy command" if command != "none" else "")
    return f"{facts.get('user', '')}@{name} port {facts.get('port', '22')}{through}".removeprefix(
        "@"
    )
