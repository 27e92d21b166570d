"""What a server that is launched behind a hop depends on, for its operator to know."""

from __future__ import annotations

from firedup.host.base import Host
from firedup.host.container import Container
from firedup.host.kubernetes import Pod
from firedup.host.slurm import SlurmJob


def tell_fate(host: Host) -> tuple[str, ...]:
    """Notes on what ends a server on `host` besides its operator."""
    match host.hops[-1] if host.hops else None:
        case Container() as container:
            return (f"it ends when the container {container.name} does, and is not started again",)
        case Pod() as pod:
            return (f"it ends when the pod {pod.name} does, and is not started again",)
        case SlurmJob() as job:
            return (
                (
                    f"it is a step of job {job.number} and ends with that, or with the srun that "
                    "began it"
                ),
            )
    return ()
