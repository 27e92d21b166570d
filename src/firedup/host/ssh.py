"""The hop over SSH: the OpenSSH client with the user's own configuration."""

from __future__ import annotations

import shlex
import socket
from dataclasses import dataclass

from firedup.host.base import Trouble
from firedup.host.shell import join_words
from firedup.host.sshtrouble import explain_ssh

# Never a question, never a terminal, and none of the forwardings or commands that the user's
# configuration may ask for at each login. How host keys are checked is the user's to decide.
OPTIONS = (
    "BatchMode=yes",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "RequestTTY=no",
    "RemoteCommand=none",
    "PermitLocalCommand=no",
)


@dataclass(frozen=True, slots=True)
class Ssh:
    """Login at `destination`, which is whatever `ssh` understands: box, user@ip, ssh://user@ip:22.

    `options` are further settings in the form Key=value, `client` the words that start OpenSSH.
    `control_path` is the socket of a shared connection that is firedup's own.
    """

    destination: str
    options: tuple[str, ...] = ()
    client: tuple[str, ...] = ("ssh",)
    control_path: str | None = None

    @property
    def word(self) -> str:
        """As in `--host`."""
        return f"ssh:{self.destination}"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """The remote side is a shell, so that each word is quoted for it."""
        settings = [word for option in (*OPTIONS, *self.options) for word in ("-o", option)]
        return (*self.client, *settings, "--", self.destination, join_words(program))

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:
        """By what the client prints, with its own exit status 255."""
        return explain_ssh(status, stderr, self.by_hand)

    @property
    def has_connection(self) -> bool:
        """Whether a shared connection of firedup's own stands, or at least its process."""
        if self.control_path is None:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
            door.settimeout(0)
            return door.connect_ex(self.control_path) == 0

    @property
    def by_hand(self) -> str:
        """What a user types to see the same trouble and to answer questions."""
        return f"{shlex.join(self.client)} {shlex.quote(self.destination)}"
