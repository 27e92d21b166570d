"""The hop over SSH: the OpenSSH client with the user's own configuration."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from firedup.host.base import Trouble

# Never a question, never a terminal, and none of the forwardings or commands that the user's
# configuration may ask for at each login.
OPTIONS = (
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "RequestTTY=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
    "ConnectTimeout=10",
)


@dataclass(frozen=True, slots=True)
class Ssh:
    """Login at `destination`, which is whatever `ssh` understands: box, user@ip, ssh://user@ip:22.

    `options` are further settings in the form Key=value.
    """

    destination: str
    options: tuple[str, ...] = ()

    @property
    def word(self) -> str:
        """As in `--host`."""
        return f"ssh:{self.destination}"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The remote side is a shell, so that each word is quoted for it."""
        settings = [word for option in (*OPTIONS, *self.options) for word in ("-o", option)]
        return ("ssh", *settings, "--", self.destination, shlex.join(program))

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002
        """By what the client prints with its own exit status 255."""
        if status == 255:
            return Trouble.UNREACHED, f"Try: ssh {shlex.quote(self.destination)}"
        return None
