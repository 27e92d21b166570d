"""Reads `docker run` and its like: what runs inside, and where it is reached from outside."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

PROGRAMS = ("docker", "podman")
_GLOBAL_SWITCHES = ("-D", "--debug", "--tls", "--tlsverify", "-r", "--remote", "--syslog")
_COMPOSE_SWITCHES = ("--compatibility", "--dry-run", "--all-resources", "--verbose")
_SWITCHES = frozenset(
    {
        "--detach", "--disable-content-trust", "--env-host", "--help", "--http-proxy", "--init",
        "--interactive", "--no-healthcheck", "--no-hostname", "--no-hosts", "--oom-kill-disable",
        "--passwd", "--privileged", "--publish-all", "--quiet", "--read-only",
        "--read-only-tmpfs", "--replace", "--rm", "--rmi", "--rootfs", "--sig-proxy",
        "--tls-verify", "--tty", "--unsetenv-all", "--use-api-socket",
    }
)  # fmt: skip
_SHORT_SWITCHES = "ditPq"
_LONG_NAMES = {
    "-d": "--detach", "-i": "--interactive", "-t": "--tty", "-e": "--env", "-p": "--publish",
    "-v": "--volume", "-w": "--workdir", "-P": "--publish-all", "--net": "--network",
    "-u": "--user", "-h": "--hostname", "-m": "--memory", "-l": "--label", "-a": "--attach",
    "-c": "--cpu-shares", "-q": "--quiet",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Published:
    """A port of the container on the host; `address` None is every address of the host."""

    inside: int
    outside: int
    address: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerCommand:
    """A command that has a container engine start a server.

    `client` are the words up to and without the verb: the program and its own options; `at` is
    where in the argv the verb's options begin. `command` is what runs inside, as far as the words
    say it: the image may have a beginning of its own. `verb` is "run" or "up".
    """

    program: str
    client: tuple[str, ...]
    verb: str
    at: int
    image: str = ""
    command: tuple[str, ...] = ()
    name: str | None = None
    cidfile: str | None = None
    is_detached: bool = False
    wants_terminal: bool = False
    is_removed: bool = False
    is_on_host: bool = False
    ports: tuple[Published, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    services: tuple[str, ...] = ()

    def outside(self, path: str) -> str | None:
        """Where on the host a path inside lies; None when no folder of the host holds it."""
        wanted = posixpath.normpath(path)
        best = None
        for host, inside in self.mounts:
            root = posixpath.normpath(inside)
            if wanted == root or wanted.startswith(root.rstrip("/") + "/"):
                best = max(best or ("", ""), (root, host), key=lambda found: len(found[0]))
        return best[1] + wanted[len(best[0].rstrip("/")) :] if best and best[0] else None


def parse_container(argv: Sequence[str]) -> ContainerCommand | None:
    """The container command in `argv`, also behind `sudo`, `env` and the like; None for others."""
    words = tuple(argv)
    start = next((i for i, w in enumerate(words) if w.rpartition("/")[2] in PROGRAMS), None)
    if start is None:
        return None
    program = words[start].rpartition("/")[2]
    at = _skip_options(words, start + 1, _GLOBAL_SWITCHES)
    if words[at : at + 1] == ("container",):
        at += 1
    if words[at : at + 1] == ("run",):
        return _parse_run(program, words, at)
    if words[at : at + 1] == ("compose",):
        verb = _skip_options(words, at + 1, _COMPOSE_SWITCHES)
        if words[verb : verb + 1] == ("up",):
            return _parse_up(program, words, verb)
    return None


def _skip_options(words: tuple[str, ...], at: int, switches: Sequence[str]) -> int:
    """The index of the first word from `at` on that is no option and no option's value."""
    while at < len(words) and words[at].startswith("-"):
        at += 1 if words[at] in switches or "=" in words[at] else 2
    return at


def _parse_run(program: str, words: tuple[str, ...], verb: int) -> ContainerCommand | None:
    options: list[tuple[str, str]] = []
    at = verb + 1
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        found, used = _read_option(words, at)
        options += found
        at += used
    if words[at : at + 1] == ("--",):
        at += 1
    if at >= len(words):
        return None
    given = dict(options)
    entry = given.get("--entrypoint")
    env = tuple(v.partition("=")[::2] for n, v in options if n == "--env" and "=" in v)
    return ContainerCommand(
        program=program,
        client=words[:verb],
        verb="run",
        at=verb + 1,
        image=words[at],
        command=((entry,) if entry else ()) + words[at + 1 :],
        name=given.get("--name"),
        cidfile=given.get("--cidfile"),
        is_detached=_is_on(given.get("--detach")),
        wants_terminal=_is_on(given.get("--interactive")) and _is_on(given.get("--tty")),
        is_removed=_is_on(given.get("--rm")),
        is_on_host=given.get("--network") == "host",
        ports=tuple(p for n, v in options if n == "--publish" for p in _read_ports(v)),
        mounts=tuple(_read_mounts(options)),
        env=env,
    )


def _is_on(value: str | None) -> bool:
    return value is not None and value.lower() not in ("false", "0", "f")


def _read_option(words: tuple[str, ...], at: int) -> tuple[list[tuple[str, str]], int]:
    """(long name, value) of the options in one word, and how many words they take."""
    word = words[at]
    after = words[at + 1] if at + 1 < len(words) else ""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        name = _LONG_NAMES.get(name, name)
        if equals or name in _SWITCHES:
            return [(name, value if equals else "true")], 1
        return [(name, after)], 2
    found: list[tuple[str, str]] = []
    for index, letter in enumerate(word[1:], 1):
        name = _LONG_NAMES.get(f"-{letter}", f"-{letter}")
        rest = word[index + 1 :]
        if letter not in _SHORT_SWITCHES:
            return [*found, (name, rest.removeprefix("=") or after)], 1 if rest else 2
        if rest.startswith("="):
            return [*found, (name, rest[1:])], 1
        found.append((name, "true"))
    return found, 1


def _read_ports(text: str) -> Iterator[Published]:
    """`[[ADDRESS:]PORT:]PORT[/tcp]`, with ranges; a port that the engine chooses is left out."""
    place, _, protocol = text.partition("/")
    rest, _, inside = place.rpartition(":")
    address, _, outside = rest.rpartition(":")
    if protocol not in ("", "tcp") or not outside:
        return
    yield from (
        Published(a, b, address.strip("[]") or None)
        for a, b in zip(_read_range(inside), _read_range(outside), strict=False)
    )


def _read_range(text: str) -> range:
    first, _, last = text.partition("-")
    last = last or first
    if not (first.isascii() and first.isdigit() and last.isascii() and last.isdigit()):
        return range(0)
    return range(int(first), int(last) + 1)


def _read_mounts(options: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """(folder of the host, where it is inside); volumes with a name of their own are left out."""
    for name, value in options:
        if name == "--volume":
            host, _, rest = value.partition(":")
            inside = rest.partition(":")[0]
        elif name == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            host = parts.get("source", parts.get("src", ""))
            inside = next((parts[k] for k in ("target", "dst", "destination") if k in parts), "")
        else:
            continue
        if inside.startswith("/") and host.startswith(("/", ".", "~")):
            yield host, inside


def _parse_up(program: str, words: tuple[str, ...], verb: int) -> ContainerCommand:
    takes_value = {
        "--scale", "--timeout", "-t", "--exit-code-from", "--attach", "--no-attach", "--pull",
        "--wait-timeout",
    }  # fmt: skip
    services: list[str] = []
    is_detached = False
    at = verb + 1
    while at < len(words):
        word = words[at]
        is_detached = is_detached or word in ("-d", "--detach", "--wait")
        if not word.startswith("-"):
            services.append(word)
        at += 2 if word in takes_value else 1
    return ContainerCommand(
        program=program,
        client=words[:verb],
        verb="up",
        at=verb + 1,
        is_detached=is_detached,
        services=tuple(services),
    )
