"""What a host is: a name and the hops through which a program is run there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from firedup.core.error import HostError


class Hop(Protocol):
    """One step on the way to a host, such as a login over SSH or into a container."""

    @property
    def word(self) -> str:
        """The step as a user writes it: "ssh:box", "docker:name"."""

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The argv that, run before the step, runs `program` behind it.

        A step whose far side is a shell quotes here; nobody else does.
        """

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:
        """What went wrong in this step and what to do, None when it was none of its faults.

        `status` is the exit status of the wrapped argv, `stderr` what it printed.
        """


@dataclass(frozen=True, slots=True)
class Host:
    """Where servers run: behind `hops`, taken from left to right; none for this machine.

    `python` is the interpreter on the host; any from 3.6 on will do.
    """

    name: str
    hops: tuple[Hop, ...] = ()
    python: str = "python3"

    @property
    def is_local(self) -> bool:
        """Whether it is this machine."""
        return not self.hops

    def command(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The argv that runs `program` on this host."""
        for hop in reversed(self.hops):
            program = hop.wrap(program)
        return program


class Trouble(StrEnum):
    """Why there is no link to a host, told apart."""

    UNREACHED = "unreached"  # no route, no such name, refused, no answer in time
    NEEDS_ANSWER = "needs-answer"  # a password or passphrase would have to be typed
    UNKNOWN_KEY = "unknown-key"  # nobody has decided yet whether to trust the host
    CHANGED_KEY = "changed-key"
    NO_CLIENT = "no-client"  # ssh, docker, kubectl or srun is not installed here
    NO_PLACE = "no-place"  # no such container, pod, job or node, or it does not run
    NO_PYTHON = "no-python"
    DISK_FULL = "disk-full"
    AGENT_DIED = "agent-died"  # it had answered, and its process ended
    LINK_DOWN = "link-down"  # it had answered, and the way to it broke
    FILE_SILENT = "file-silent"  # the link stands, and a file system there does not answer
    OTHER = "other"


class LinkError(HostError):
    """There is no link to the host; `trouble` says why (exit status 3)."""

    def __init__(
        self,
        trouble: Trouble,
        what: str,
        *,
        where: str | None = None,
        evidence: str | None = None,
        why: str | None = None,
        todo: str | None = None,
    ) -> None:
        super().__init__(what, where=where, evidence=evidence, why=why, todo=todo)
        self.trouble = trouble

    def advise(self, todo: str) -> LinkError:
        """The same error with more advice."""
        return LinkError(
            self.trouble,
            self.what,
            where=self.where,
            evidence=self.evidence,
            why=self.why,
            todo="\n".join(filter(None, (self.todo, todo))),
        )


class OperationError(HostError):
    """The host was reached and answered that something cannot be done there (exit status 2).

    `code` is one of: not-found, denied, exists, no-space, gone, not-a-file, refused, bad-request,
    timeout, http, exec-failed, cancelled, unanswered, os-error, fault.
    """

    exit_status = 2

    def __init__(self, code: str, what: str, *, where: str, evidence: str | None) -> None:
        todo = "Make room there: df -h, and df -i for inodes." if code == "no-space" else None
        super().__init__(what, where=where, evidence=evidence, todo=todo)
        self.code = code


ANSWER_S = 20.0  # so long an agent waits for a file before it says that there is no answer


class SilenceError(OperationError):
    """A file on the host does not answer, so that nobody can say what it holds (exit status 3)."""

    exit_status = 3

    def __init__(self, what: str, *, where: str, path: str) -> None:
        super().__init__("unanswered", what, where=where, evidence=None)
        self.path = path


def local_host() -> Host:
    """This machine, with the interpreter that runs firedup."""
    return Host(name="local", python=sys.executable or "python3")
