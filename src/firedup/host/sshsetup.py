"""Fits the hop over SSH to the user's configuration: a shared connection, signs of life."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from firedup.core.error import UsageError
from firedup.host.base import Host
from firedup.host.program import run_program
from firedup.host.ssh import OPTIONS, Ssh

CLIENT_VARIABLE = "FIREDUP_SSH"
ASK_S = 10.0
PERSIST_S = 60
# A Unix socket's path has 104 bytes on macOS, and OpenSSH needs 17 more for a moment.
_PATH_LIMIT = 104 - 1 - 17
# What would keep a program's bytes from its pipes, where the user's configuration asks for it.
_UNDO = {
    ("sessiontype", "none"): "SessionType=default",
    ("sessiontype", "subsystem"): "SessionType=default",
    ("stdinnull", "yes"): "StdinNull=no",
    ("forkafterauthentication", "yes"): "ForkAfterAuthentication=no",
    ("loglevel", "SILENT"): "LogLevel=ERROR",  # as QUIET is called there
    ("loglevel", "QUIET"): "LogLevel=ERROR",
    ("loglevel", "FATAL"): "LogLevel=ERROR",
}


async def settle(host: Host, environ: Mapping[str, str] = os.environ) -> Host:
    """`host` with its first hop, when that is SSH, fitted to the user's configuration.

    The client is `ssh`, or what FIREDUP_SSH says ("ssh -F file"). Hops further on start on other
    machines and stay as they are.
    """
    first = host.hops[0] if host.hops else None
    if not isinstance(first, Ssh) or first.control_path is not None:
        return host
    hop = replace(first, client=_client(environ))
    return replace(host, hops=(await _fit(hop, environ), *host.hops[1:]))


def find_connection(host: Host) -> tuple[int, int] | None:
    """By what firedup's own shared connection to `host` is told from a later one, if there is one.

    Each makes a socket of its own in the same place.
    """
    hop = host.hops[0] if host.hops else None
    if not isinstance(hop, Ssh) or hop.control_path is None:
        return None
    try:
        facts = Path(hop.control_path).lstat()
    except OSError:
        return None
    return facts.st_ino, facts.st_ctime_ns


async def leave_connection(host: Host) -> None:
    """End firedup's own shared connection to `host`, if there is one: it may be dead."""
    hop = host.hops[0] if host.hops else None
    if not isinstance(hop, Ssh) or hop.control_path is None:
        return
    words = (*hop.client, "-o", f"ControlPath={hop.control_path}", "-O", "exit")
    await _ask((*words, "--", hop.destination))
    _forget(Path(hop.control_path))


def _forget(socket: Path) -> None:
    with contextlib.suppress(OSError):  # nobody listens behind what may be left of it
        socket.unlink()


async def look_closer(host: Host) -> tuple[str, str | None]:
    """Try the login once more and alone: what the client then complains of, and the host's key.

    A shared connection hides what a jump host says, and BatchMode the key ("ssh-ed25519
    SHA256:…"), which is that of the host that was reached last.
    """
    hop = host.hops[0] if host.hops else None
    if not isinstance(hop, Ssh):
        return "", None
    settings = [word for option in OPTIONS for word in ("-o", option)]
    alone = ("-o", "ConnectTimeout=10", "-o", "ControlPath=none", "-v")
    _, said = await _ask((*hop.client, *settings, *alone, "--", hop.destination, ":"))
    lines = [line for line in said.splitlines() if not line.startswith(("debug1:", "OpenSSH_"))]
    keys = re.findall(r"Server host key: (\S+ \S+)", said)
    return "\n".join(lines), keys[-1] if keys else None


def _client(environ: Mapping[str, str]) -> tuple[str, ...]:
    text = environ.get(CLIENT_VARIABLE, "").strip()
    try:
        return tuple(shlex.split(text)) or ("ssh",)
    except ValueError as error:
        raise UsageError(f"{CLIENT_VARIABLE} is no command line", evidence=text) from error


async def _fit(hop: Ssh, environ: Mapping[str, str]) -> Ssh:
    said, _ = await _ask((*hop.client, "-G", "--", hop.destination))
    chosen = dict(line.split(" ", 1) for line in said.lower().splitlines() if " " in line)
    if not chosen:
        return hop  # the client itself will say what is wrong
    options = [option for (key, bad), option in _UNDO.items() if chosen.get(key) == bad.lower()]
    if chosen.get("connecttimeout", "none") in ("none", "0"):
        options.append("ConnectTimeout=10")
    if chosen.get("serveraliveinterval", "0") == "0":
        options += ["ServerAliveInterval=5", "ServerAliveCountMax=3"]
    is_shared = chosen.get("controlmaster", "false") not in ("false", "no")
    path = None
    if not is_shared and chosen.get("controlpath", "none") == "none":
        path = _control_path(shlex.join(hop.client) + said, environ)
    if path is not None:
        options += ["ControlMaster=auto", f"ControlPath={path}", f"ControlPersist={PERSIST_S}"]
    return replace(hop, options=(*hop.options, *options), control_path=path)


def _control_path(identity: str, environ: Mapping[str, str]) -> str | None:
    """A socket's path in a folder that nobody else may enter; None where no short one is found.

    All that decides where a connection leads goes into its name.
    """
    name = hashlib.sha256(identity.encode()).hexdigest()[:16]
    home = environ.get("HOME", "")
    places = (
        environ.get("XDG_RUNTIME_DIR", ""),
        environ.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else ""),
    )
    for place in places:
        path = f"{place}/firedup/{name}"
        # OpenSSH takes a percent sign for the beginning of a token, and blanks for ends of words.
        if not place.startswith("/") or not re.fullmatch(r"[\w/.,+@-]+", path):
            continue
        if len(path.encode()) <= _PATH_LIMIT and _make_private(Path(path).parent):
            return path
    return None


def _make_private(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = folder.lstat()
        if facts.st_uid != os.getuid():
            return False
        if facts.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError:
        return False
    return not folder.is_symlink()


async def _ask(words: tuple[str, ...]) -> tuple[str, str]:
    """What a short command prints on both outputs; nothing when it cannot be run in time."""
    try:
        done = await run_program(words, limit_s=ASK_S)
    except OSError:
        return "", ""
    return done.out, done.err
