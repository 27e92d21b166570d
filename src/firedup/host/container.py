"""The hop into a container of Docker or Podman."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from firedup.host.base import Trouble

# What the clients print (in lower case), what that means, and what to do; {0} is the client, {1}
# the container as a shell word. The first that is found counts: a daemon that does not answer
# knows no containers.
_COMPLAINTS = (
    (
        "permission denied while trying to connect",
        Trouble.OTHER,
        (
            "Your user may not use the Docker socket. An administrator can add it to the group "
            "docker (log in again afterwards); rootless Docker needs no such right."
        ),
    ),
    (
        "cannot connect to the docker daemon",
        Trouble.UNREACHED,
        "Start the daemon (systemctl start docker) or choose another one: docker context ls.",
    ),
    (
        "cannot connect to podman",
        Trouble.UNREACHED,
        "podman system connection list shows where Podman is looked for.",
    ),
    (
        "context not found",
        Trouble.UNREACHED,
        "docker context ls lists the contexts; docker context use default goes back.",
    ),
    (
        "executable file not found",
        Trouble.NO_PYTHON,
        (
            "The image holds no such interpreter. The server can be watched from outside: "
            "firedup watch {0}:{1}"
        ),
    ),
    (
        "executable file `python3` not found",
        Trouble.NO_PYTHON,
        "The image holds no Python. The server can be watched from outside: firedup watch {0}:{1}",
    ),
    ("no such container", Trouble.NO_PLACE, "{0} ps --all lists the containers."),
    ("no container with name or id", Trouble.NO_PLACE, "{0} ps --all lists the containers."),
    (
        "is paused",
        Trouble.NO_PLACE,
        "{0} unpause {1} lets it go on; until then nothing can be run in it.",
    ),
    (
        "is restarting",
        Trouble.NO_PLACE,
        "It ends again and again. Why: firedup watch {0}:{1}",
    ),
    (
        "is not running",
        Trouble.NO_PLACE,
        "It has stopped. Start it ({0} start {1}), or read why it ended: firedup watch {0}:{1}",
    ),
    (
        "can only create exec sessions on running containers",
        Trouble.NO_PLACE,
        "It has stopped. Start it ({0} start {1}), or read why it ended: firedup watch {0}:{1}",
    ),
)


@dataclass(frozen=True, slots=True)
class Container:
    """The running container `name`; `program` is docker or podman."""

    name: str
    program: str = "docker"

    @property
    def word(self) -> str:
        """As in `--host`."""
        return f"{self.program}:{self.name}"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """No shell is on the way. After `--` a name is never an option."""
        return (self.program, "exec", "-i", "--", self.name, *program)

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002 - all hops have this form
        """By what the client prints."""
        said = stderr.lower()
        for words, trouble, todo in _COMPLAINTS:
            if words in said:
                return trouble, todo.format(self.program, shlex.quote(self.name))
        return None
