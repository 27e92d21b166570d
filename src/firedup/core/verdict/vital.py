"""Processes without which a server serves nothing: which of them is gone, and since when."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from firedup.core.event import Sample
from firedup.core.process import Process
from firedup.core.verdict.crew import rank_of

_NS = 1_000_000_000
# A server of which a part is gone may be on its way out, or its supervisor may start that anew.
PATIENCE_S = 10.0
# Whoever ends a server in order says so first; what died so long before died by itself.
MARGIN_S = 2.0
# What was there for less was a child on its way to become another program.
STEADY_S = 2.0
_OOM = "out of memory"  # in the kernel's words, also "Memory cgroup out of memory"
_NAME_BYTES = 15  # of a process's name, which the kernel keeps


@dataclass(frozen=True, slots=True)
class Loss:
    """A vital process that is gone: as it was last alive, and the first sample without it.

    `status` is what its parent has not asked for yet, as wait() tells it; None where nobody knows.
    `oom_killed`: the kernel says so, or its group's counter of such kills went up meanwhile.
    """

    process: Process
    gone_ns: int
    is_zombie: bool = False
    status: int | None = None
    kernel: tuple[str, ...] = ()
    oom_killed: bool = False

    @property
    def signal(self) -> int | None:
        """The signal that ended it, where that is known."""
        return (self.status & 0x7F) or None if self.status is not None else None


class Vitals:
    """Feed it samples in order. `names` are beginnings of titles; ranks count in any case."""

    def __init__(self, names: tuple[str, ...] = ()) -> None:
        self._names = names
        self._first_ns: dict[tuple[int, int], int] = {}  # of the vital ones that live
        self._last: dict[tuple[int, int], Process] = {}
        self._lost: dict[tuple[int, int], Loss] = {}
        self._oom_kills: int | None = None

    def feed(self, sample: Sample) -> None:
        """Take one sample; one without any process tells of the server's own end, not of this."""
        if not sample.processes:
            return
        dead = {_key(p): p for p in sample.processes if p.state in "ZX"}
        living = {_key(p): p for p in find_vital(sample.processes, self._names)}
        for key in [key for key in self._last if key not in living]:
            process, first_ns = self._last.pop(key), self._first_ns.pop(key)
            if sample.at_ns - first_ns >= STEADY_S * _NS:
                self._lost[key] = self._tell(process, dead.get(key), sample)
        self._oom_kills = sample.oom_kills
        for key, process in living.items():
            self._lost.pop(key, None)
            self._first_ns.setdefault(key, sample.at_ns)
            self._last[key] = process
        for key in [key for key, loss in self._lost.items() if self._is_replaced(loss)]:
            del self._lost[key]

    def find_loss(
        self,
        until_ns: int,
        *,
        has_ended: bool = False,
        stopped_ns: int | None = None,
        answered_ns: int | None = None,
    ) -> Loss | None:
        """The first vital process that ended by itself, once that is no passing state.

        `has_ended`: the whole server has ended at `until_ns`, without being told to. `stopped_ns`:
        when its end was asked for. `answered_ns`: when it generated last; what generates, serves.
        """
        patience_s = MARGIN_S if has_ended else PATIENCE_S
        for loss in sorted(self._lost.values(), key=lambda loss: loss.gone_ns):
            if until_ns - loss.gone_ns < patience_s * _NS:
                continue
            if stopped_ns is not None and stopped_ns - loss.gone_ns < MARGIN_S * _NS:
                continue
            if answered_ns is not None and answered_ns > loss.gone_ns:
                continue
            return loss
        return None

    @property
    def is_suspicious(self) -> bool:
        """Whether any is gone, which may have its good reason."""
        return bool(self._lost)

    def _tell(self, process: Process, body: Process | None, sample: Sample) -> Loss:
        said = tuple(line for line in sample.kernel if _names_pid(line, process.pid))
        before, after = self._oom_kills, sample.oom_kills
        has_counted = before is not None and after is not None and after > before
        return Loss(
            process,
            sample.at_ns,
            body is not None,
            body.wait_status if body is not None else None,
            said,
            has_counted or any(_OOM in line.lower() for line in said),
        )

    def _is_replaced(self, loss: Loss) -> bool:
        """Whether another one has taken its place since."""
        title = _title(loss.process)
        return any(
            _title(process) == title and self._first_ns[key] >= loss.gone_ns
            for key, process in self._last.items()
        )


def find_vital(processes: tuple[Process, ...], names: tuple[str, ...]) -> Iterator[Process]:
    """The living vital ones, the main process not among them.

    A child that has its parent's title has just been forked.
    """
    titles = {process.pid: _title(process) for process in processes}
    for process in processes[1:]:
        if process.state in "ZX" or titles.get(process.parent) == _title(process):
            continue
        if _is_vital(process, names):
            yield process


def _is_vital(process: Process, names: tuple[str, ...]) -> bool:
    is_cut = len(process.name.encode()) == _NAME_BYTES
    return (
        any(_title(process).startswith(vital) for vital in names)
        or (is_cut and any(vital.startswith(process.name) for vital in names))
        or rank_of(process, {}) is not None
    )


def _key(process: Process) -> tuple[int, int]:
    return process.pid, process.start_ticks


def _title(process: Process) -> str:
    return process.title or process.name


def _names_pid(line: str, pid: int) -> bool:
    """Whether the kernel's line is about the process: "process 17 (name)", "pid 17", "name[17]"."""
    return re.search(rf"\b{pid}\b", line) is not None
