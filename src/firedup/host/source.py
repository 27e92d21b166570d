"""What `firedup watch` is given as a log: a path, or something that prints one."""

from __future__ import annotations

import re
from typing import Protocol

from firedup.core.error import UsageError
from firedup.host.base import OperationError
from firedup.host.containerlog import ContainerLog
from firedup.host.frame import Data
from firedup.host.journal import Unit
from firedup.host.kubernetes import parse_pod
from firedup.host.link import Agent
from firedup.host.podlog import PodLog
from firedup.host.pour import pour
from firedup.host.stamp import Cursor, Decoder
from firedup.host.standing import Standing

FORMS = "docker:NAME, podman:NAME, k8s:[NAMESPACE/]POD[:CONTAINER], journal:[user/]UNIT"
_KIND = re.compile(r"(docker|podman|k8s|journal):(.*)", re.DOTALL)


class Source(Protocol):
    """A log that is no file: a program on the host prints it, and another tells of its server."""

    @property
    def word(self) -> str:
        """As a user writes it."""

    @property
    def merges(self) -> bool:
        """Whether standard error of the printing program is part of the log."""

    @property
    def waiter(self) -> tuple[str, ...] | None:
        """A program that ends with the server and prints its exit status, if there is one."""

    def argv(self, standing: Standing, cursor: Cursor, *, follows: bool) -> tuple[str, ...]:
        """What prints the log of the present start, from `cursor` on.

        With `follows` it goes on with what comes, else it ends.
        """

    def decoder(self) -> Decoder:
        """For what `argv` prints."""

    async def look(self, agent: Agent) -> Standing:
        """How the server stands. UsageError when there is none of this name."""


def parse_source(text: str) -> Source | None:
    """What `text` names; None for a path (`./docker:x` is one). UsageError for a bad name."""
    found = _KIND.fullmatch(text)
    if found is None:
        return None
    kind, place = found[1], found[2]
    if not place or place.startswith("-") or not place.isprintable():
        raise _refuse(text, f"{kind} needs a name, which begins with no dash")
    if kind == "k8s":
        pod = parse_pod(place)
        if pod is None:
            raise _refuse(text, "a pod is written k8s:NAMESPACE/POD or k8s:POD")
        return PodLog(pod)
    if kind == "journal":
        name = place.removeprefix("user/")
        if not name or "/" in name:
            raise _refuse(text, "a unit is written journal:UNIT or journal:user/UNIT")
        return Unit(name, is_user=name != place)
    return ContainerLog(place, kind)


async def wait_status(agent: Agent, source: Source) -> int | None:
    """The status that the keeper of a server tells at its end, also when it then removes it."""
    if source.waiter is None:
        return None
    stream = pour(agent, source.waiter)
    try:
        said = b"".join([m.data async for m in stream if isinstance(m, Data)]).strip()
    except OperationError:
        return None
    finally:
        stream.close()
    return int(said) if said.isdigit() else None


def _refuse(text: str, why: str) -> UsageError:
    return UsageError(f"{text!r} names no log", why=why, todo=f"Logs are a path, or: {FORMS}.")
