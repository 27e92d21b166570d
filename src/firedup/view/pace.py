"""How busy a server's processes are, from one sample to the next."""

from __future__ import annotations

from dataclasses import dataclass, field

from firedup.core.model import Process, Snapshot

_IDLE_AFTER_NS = 3_000_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """CPU cores in use and bytes read per second; None until two samples were seen."""

    cpu_cores: float | None = None
    read_bytes_per_s: float | None = None
    at_ns: int = 0
    processes: tuple[Process, ...] = field(default=(), repr=False)

    def feed(self, snapshot: Snapshot) -> Pace:
        """The pace after `snapshot`; many snapshots may carry one and the same sample."""
        if not snapshot.processes:
            return Pace()
        if not self.processes:
            return Pace(at_ns=snapshot.now_ns, processes=snapshot.processes)
        seconds = (snapshot.now_ns - self.at_ns) / 1e9
        if snapshot.processes == self.processes:
            is_idle = snapshot.now_ns - self.at_ns >= _IDLE_AFTER_NS
            return Pace(0.0, 0.0, self.at_ns, self.processes) if is_idle else self
        if seconds <= 0:
            return Pace(self.cpu_cores, self.read_bytes_per_s, self.at_ns, snapshot.processes)
        before = {(p.pid, p.start_ticks): p for p in self.processes}
        cpu_s = read_bytes = 0.0
        for now in snapshot.processes:
            # A process that is new since the last sample has done all its work since then.
            old = before.get((now.pid, now.start_ticks))
            cpu_s += max(0.0, now.cpu_s - (old.cpu_s if old else 0.0))
            if now.read_bytes is not None:
                was = old.read_bytes if old and old.read_bytes is not None else 0
                read_bytes += max(0, now.read_bytes - was)
        return Pace(cpu_s / seconds, read_bytes / seconds, snapshot.now_ns, snapshot.processes)
