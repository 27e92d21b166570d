"""What a host is: a name and the argv prefix that runs a program there."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from firedup.core.error import HostError


@dataclass(frozen=True, slots=True)
class Host:
    """Where servers run. `prefix` is the argv that runs a program there, empty for this machine.

    `python` is the interpreter on the host; any from 3.6 on will do.
    """

    name: str
    prefix: tuple[str, ...] = ()
    python: str = "python3"

    def command(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The argv that runs `program` on this host."""
        return (*self.prefix, *program)


class OperationError(HostError):
    """The host was reached and answered that something cannot be done there (exit status 2).

    `code` is one of: not-found, denied, exists, no-space, gone, not-a-file, refused, bad-request,
    timeout, http, exec-failed, cancelled, os-error, fault.
    """

    exit_status = 2

    def __init__(self, code: str, what: str, *, where: str, evidence: str | None) -> None:
        super().__init__(what, where=where, evidence=evidence)
        self.code = code


def local_host() -> Host:
    """This machine, with the interpreter that runs firedup."""
    return Host(name="local", python=sys.executable or "python3")
