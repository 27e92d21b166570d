"""The word after `--host` → the host that it names."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Callable

from firedup.core.error import UsageError
from firedup.host.base import Hop, Host, local_host
from firedup.host.container import Container
from firedup.host.kubernetes import parse_pod
from firedup.host.slurm import SlurmJob
from firedup.host.ssh import Ssh

FORMS = "box, user@ip, ssh:box, docker:NAME, podman:NAME, k8s:NS/POD[:CONTAINER], slurm:JOB[/NODE]"
_LOCAL = ("", "local", "localhost")
_KIND = re.compile(r"(ssh|docker|podman|k8s|slurm):(?!//)(.*)", re.DOTALL)
_PORT = re.compile(r"([^:]+|[^\[]*\[[^\]]*\]):\d+")


def parse_host(text: str) -> Host:
    """The host that `text` names: hops with commas between them, from left to right.

    Its name is the same however the same hops are written, and names them again. UsageError, with
    the part that is wrong, for what is none.
    """
    words = [word.strip() for word in text.split(",")]
    if len(words) > 1 and words[0] in _LOCAL[1:]:
        del words[0]
    if len(words) == 1 and words[0] in _LOCAL:
        return local_host()
    hops = tuple(_parse_hop(word, text) for word in words)
    return Host(",".join(_name_hop(hop) for hop in hops), hops)


def name_host(text: str) -> str:
    """The name of the host that `text` names; `text` itself where that is none."""
    try:
        return parse_host(text).name
    except UsageError:
        return text


def _name_hop(hop: Hop) -> str:
    """A login is called as OpenSSH calls it, where that would not be taken for something else."""
    if not isinstance(hop, Ssh):
        return hop.word
    bare = hop.destination
    is_plain = ":" not in bare or bare.startswith("ssh://")
    return bare if is_plain and bare not in _LOCAL else hop.word


def _parse_hop(word: str, whole: str) -> Hop:
    found = _KIND.fullmatch(word)
    if not found and ":" in word and not word.startswith("ssh://"):
        raise _refuse_colon(word, whole)
    kind, place = (found[1], found[2]) if found else ("ssh", word)
    if not place or place.startswith("-") or not place.isprintable():
        raise _refuse(word, whole, f"{kind} needs a name, which begins with no dash")
    return _MAKERS[kind](place, word, whole)


def _make_ssh(place: str, word: str, whole: str) -> Hop:
    if any(character.isspace() for character in place):
        raise _refuse(word, whole, "a host's name holds no blank")
    return Ssh(place)


def _make_pod(place: str, word: str, whole: str) -> Hop:
    pod = parse_pod(place)
    if pod is None:
        raise _refuse(word, whole, "a pod is written k8s:NAMESPACE/POD or k8s:POD")
    return pod


def _make_job(place: str, word: str, whole: str) -> Hop:
    number, _, node = place.partition("/")
    if not re.fullmatch(r"\d+([_+]\d+)?", number) or node.startswith("-"):
        raise _refuse(word, whole, "a job is written slurm:JOBID or slurm:JOBID/NODE")
    return SlurmJob(number, node or None)


_MAKERS: dict[str, Callable[[str, str, str], Hop]] = {
    "ssh": _make_ssh,
    "docker": lambda place, _word, _whole: Container(place),
    "podman": lambda place, _word, _whole: Container(place, "podman"),
    "k8s": _make_pod,
    "slurm": _make_job,
}


def _refuse_colon(word: str, whole: str) -> UsageError:
    """Why a word with a colon, which begins with no kind of host, is none for OpenSSH either."""
    if _PORT.fullmatch(word) is not None:
        return _refuse(word, whole, "a port is told in another way", f"Write ssh://{word}")
    user, at, address = word.rpartition("@")
    bare = address.removeprefix("[").removesuffix("]")
    if _is_ipv6(bare):
        todo = f"Write ssh://{user}{at}[{bare}]:22, with the port of its SSH server."
        return _refuse(word, whole, "an IPv6 address is told in another way", todo)
    kind = word.partition(":")[0]
    near = difflib.get_close_matches(kind, _MAKERS, 1)
    meant = f"; did you mean {near[0]}?" if near else ""
    return _refuse(word, whole, f"{kind!r} is no kind of host{meant}")


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _refuse(word: str, whole: str, why: str, todo: str | None = None) -> UsageError:
    forms = f"Hosts are written: {FORMS}; commas join hops, as in ssh:box,docker:NAME."
    return UsageError(
        f"{word!r} names no host",
        where=f"--host {whole}" if whole != word else None,
        why=why,
        todo=todo or forms,
    )
