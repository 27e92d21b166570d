"""The hop into the allocation of a running Slurm job."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firedup.host.base import Trouble

_QUEUE = "squeue --me lists your jobs and their states."
# What srun prints (in lower case), what that means, and what to do; {0} is the job's number. The
# first that is found counts.
_COMPLAINTS = (
    (
        "unable to contact slurm controller",
        Trouble.UNREACHED,
        "The controller does not answer: scontrol ping tells which one is asked.",
    ),
    ("unable to resolve", Trouble.UNREACHED, "scontrol ping tells which controller is asked."),
    (
        "pending execution",
        Trouble.NO_PLACE,
        "The job still waits for its nodes: squeue --start --job {0} estimates when it begins.",
    ),
    ("invalid job id", Trouble.NO_PLACE, _QUEUE),
    ("expired or invalid job", Trouble.NO_PLACE, _QUEUE),
    (
        "already completing",
        Trouble.NO_PLACE,
        "The job has ended: sacct --jobs {0} tells how.",
    ),
    (
        "requested node configuration is not available",
        Trouble.NO_PLACE,
        "The node does not belong to the job: scontrol show job {0} lists its nodes.",
    ),
    ("invalid node name", Trouble.NO_PLACE, "scontrol show job {0} lists the job's nodes."),
    ("access/permission denied", Trouble.OTHER, "The job is another user's: " + _QUEUE),
    (
        "unrecognized option '--overlap'",
        Trouble.OTHER,
        (
            "This Slurm is older than 20.11 and cannot run a step beside the job's own: log in at "
            "the node by SSH instead."
        ),
    ),
    (
        "no such file or directory",
        Trouble.NO_PYTHON,
        "The node has no such interpreter in its PATH.",
    ),
)
# What srun and slurmd print about steps that work.
_NOISE = re.compile(
    r"srun: (?:Step created for|jobid \d+: nodes|job \d+ (?:queued|has been allocated)"
    r"|Job step (?:creation (?:temporarily disabled|still disabled)|created)"
    r"|Warning: can't (?:honor|run)|warning: )",
    re.IGNORECASE,
)


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
        """One task beside those of the job, free to use all its CPUs; no shell is on the way."""
        where = (f"--nodelist={self.node}",) if self.node else ()
        one = ("--nodes=1", "--ntasks=1", "--cpu-bind=none")
        return ("srun", f"--jobid={self.number}", "--overlap", "--quiet", *one, *where, *program)

    def explain(self, status: int | None, stderr: str) -> tuple[Trouble, str] | None:  # noqa: ARG002 - all hops have this form
        """By what srun prints, its remarks about steps that work left out."""
        said = "\n".join(drop_noise(stderr).splitlines()).lower()
        for words, trouble, todo in _COMPLAINTS:
            if words in said:
                return trouble, todo.format(self.number)
        return None


def drop_noise(stderr: str) -> str:
    """What srun printed without its remarks about steps that work."""
    return "\n".join(line for line in stderr.splitlines() if not _NOISE.match(line))
