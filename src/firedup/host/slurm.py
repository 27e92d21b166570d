"""The hop into the allocation of a running Slurm job."""

from __future__ import annotations

from dataclasses import dataclass

from firedup.host.base import Trouble


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """The job `number`, on `node` of its allocation; None takes the first."""

    number: str
    node: str | None = None

    @property
    def word(self) -> str:
        """As in `--host`."""
        return f"slurm:{self.number}/{self.node}" if self.node else f"slurm:{self.number}"

    def wrap(self, program: tuple[str, ...]) -> tuple[str, ...]:
        """One task beside those of the job; no shell is on the way."""
        where = ("--nodelist", self.node) if self.node else ()
        one = ("--nodes", "1", "--ntasks", "1")
        return ("srun", "--jobid", self.number, "--overlap", "--quiet", *one, *where, *program)

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002
        """By what srun prints."""
        if "Invalid job id" in stderr or "Job/step already completing" in stderr:
            return Trouble.NO_PLACE, "squeue --me lists your jobs."
        return None
