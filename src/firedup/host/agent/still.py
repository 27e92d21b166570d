"""For how long a keeper's samples have shown nothing at all, counted as the core counts it."""

from firedup.host.agent.moving import Movings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_A_SECOND = 1000000000  # in nanoseconds


class Stillness:
    """Feed it samples in order. `limits` says what counts as movement, and how long is too long."""

    def __init__(self, limits: "dict[str, Any]") -> None:
        self._limits = limits
        self._before = {}  # type: dict[tuple[int, int], tuple[float, int, int]]
        self._log_size = 0
        self._at_ns = self._moved_ns = 0
        self._frozen_ns = None  # type: int | None
        self._log_ns = 0
        # Manifests of older clients have no limits for single processes.
        self._movings = Movings(limits) if limits.get("hold_s") else None
        self._is_detailed = False

    def feed(self, sample: "dict[str, Any]") -> None:
        """Takes one sample."""
        after = {
            (p["pid"], p["start_ticks"]): (p["cpu_s"], p["read_bytes"] or 0, p["rss_bytes"])
            for p in sample["processes"]
        }
        at_ns, before = sample["at_ns"], self._before
        elapsed_s = (at_ns - self._at_ns) / _A_SECOND
        is_first = not self._at_ns
        self._is_detailed = any(p.get("threads") is not None for p in sample["processes"])
        if self._movings is not None:
            self._movings.feed(sample)
        has_grown = sample["log_size"] > self._log_size
        self._before, self._at_ns, self._log_size = after, at_ns, sample["log_size"]
        if is_first:
            self._moved_ns = self._log_ns = at_ns
            return
        if elapsed_s <= 0:
            return
        if has_grown or len(before) != len(after) or self._is_busy(before, after, elapsed_s):
            self._moved_ns = at_ns
        if has_grown:
            self._log_ns = at_ns
        states = [p["state"] for p in sample["processes"]]
        if states and all(state in "Tt" for state in states):
            self._frozen_ns = self._frozen_ns or at_ns
        else:
            self._frozen_ns = None

    def _is_busy(
        self,
        before: "dict[tuple[int, int], tuple[float, int, int]]",
        after: "dict[tuple[int, int], tuple[float, int, int]]",
        elapsed_s: float,
    ) -> bool:
        cpu_s, read, grown = 0.0, 0, 0
        for who, (cpu_now_s, read_now, rss_now) in after.items():
            was = before.get(who)
            if was is None:
                cpu_s += cpu_now_s
                continue
            cpu_s += cpu_now_s - was[0]
            read += read_now - was[1]
            grown += max(0, rss_now - was[2])
        return bool(
            cpu_s / elapsed_s >= self._limits["cpu_share"]
            or read >= self._limits["read_bytes"] * elapsed_s
            or grown >= self._limits["growth_bytes"] * elapsed_s
        )

    def is_stalled(self, *, is_up: bool) -> bool:
        """Whether nothing will come any more; a server that is up may be idle, but not frozen."""
        if not self._before:
            return False
        frozen_ns = self._at_ns if self._frozen_ns is None else self._frozen_ns
        if (self._at_ns - frozen_ns) / _A_SECOND >= self._limits["frozen_s"]:
            return True
        if self._is_detailed and self._movings is not None:
            return self._movings.is_stalled(self._log_ns, is_up=is_up)
        idle_s = (self._at_ns - self._moved_ns) / _A_SECOND
        return not is_up and idle_s >= self._limits["patience_s"]
