"""CPU time of programs, fairly compared.

Wall time says little on a shared machine, so a bench counts CPU seconds, user and system, of a
process together with the children it has waited for. Two programs are compared by running them in
turn: what disturbs one then disturbs the other, and the ratio of the medians holds still.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run of a program took: CPU and wall seconds, peak memory of its largest process."""

    cpu_s: float
    wall_s: float
    peak_bytes: int
    status: int


def measure(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    cwd: Path | None = None,
) -> Cost:
    """Run `argv` to its end, in `cwd`, and return what it took; its output goes to `stdout`.

    `status` is the exit status, or minus the number of the signal that ended it.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.DEVNULL,
    )
    _, wait_status, usage = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - started
    # Popen would otherwise wait again for a process that is gone.
    process.returncode = os.waitstatus_to_exitcode(wait_status)
    return Cost(
        cpu_s=usage.ru_utime + usage.ru_stime,
        wall_s=wall_s,
        peak_bytes=usage.ru_maxrss * (1 if os.uname().sysname == "Darwin" else 1024),
        status=process.returncode,
    )


def measure_in_turn(programs: Mapping[str, Sequence[str]], *, rounds: int) -> dict[str, list[Cost]]:
    """Run all programs `rounds` times in turn and return the costs of each by its name.

    One round before the first counted one fills the caches.
    """
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for count in range(rounds + 1):
        for name, argv in programs.items():
            cost = measure(argv)
            if count > 0:
                costs[name].append(cost)
    return costs


def median_cpu_s(costs: Sequence[Cost]) -> float:
    """The median CPU seconds of several runs."""
    return statistics.median(cost.cpu_s for cost in costs)


def own_cpu_s() -> float:
    """CPU seconds of this process so far, without its children; differences measure a passage."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
