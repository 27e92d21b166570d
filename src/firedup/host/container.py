"""The hop into a container of Docker or Podman."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.host.base import Trouble


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
        """No shell is on the way."""
        return (self.program, "exec", "-i", self.name, *program)

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002
        """By what the client prints."""
        if "No such container" in stderr or "is not running" in stderr:
            return Trouble.NO_PLACE, f"{self.program} ps lists the containers that run."
        return None
