"""Each process of a keeper's server from sample to sample, judged as the core judges it."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RANK = re.compile(r"(?:^|[_: ])(?:DP|PP|TP|EP)\d+(?:[_ ](?:DP|PP|TP|EP)\d+)*$")
_PIPES = ("pipe_write", "anon_pipe_write")
_STOPPED, _PIPE, _KERNEL = "stopped", "pipe", "kernel"
_SECONDS = 1000000000  # in nanoseconds


class Moving:
    """One process: when it moved last, and what it did in the last seconds; see the core's Motion.

    `place` is who it is in the tree: pid, parent, name and title.
    """

    def __init__(self, at_ns: int) -> None:
        self.place = {}  # type: dict[str, Any]
        self.worked_ns = self.moved_ns = self.active_ns = self.slack_ns = at_ns
        self.cpu_share = 0.0
        self.is_spinning = False
        self.hold = None  # type: str | None
        self.held_ns = 0

    def measure(
        self,
        was: "dict[str, Any]",
        now: "dict[str, Any]",
        at_ns: int,
        elapsed_s: float,
        limits: "dict[str, Any]",
        *,
        is_fed: bool,
    ) -> None:
        """Compares the process with what it had done a few seconds ago."""
        self.cpu_share = max(0.0, now["cpu_s"] - was["cpu_s"]) / elapsed_s
        has_worked = (
            is_fed
            or _grown(now, was, "read_bytes") / elapsed_s >= limits["rank_read_bytes"]
            or _grown(now, was, "write_bytes") >= limits["rank_read_bytes"] * elapsed_s
            or now["rss_bytes"] - was["rss_bytes"] >= limits["rank_growth_bytes"] * elapsed_s
            or _grown(now, was, "minor_faults") >= limits["rank_minor_faults"] * elapsed_s
            or _grown(now, was, "major_faults") >= limits["rank_major_faults"] * elapsed_s
        )
        if has_worked:
            self.worked_ns = at_ns
        if has_worked or self.cpu_share >= limits["cpu_share"]:
            self.moved_ns = at_ns
        if self.cpu_share >= limits["idle_share"]:
            self.active_ns = at_ns
        is_kept_waiting = now["state"] == "R" and self.cpu_share >= limits["idle_share"]
        self.is_spinning = is_kept_waiting or self.cpu_share >= limits["spin_share"]
        if not self.is_spinning:
            self.slack_ns = at_ns

    def note_hold(self, now: "dict[str, Any]", at_ns: int) -> None:
        """Notes what keeps it from going on."""
        hold = None
        if now["state"] in "Tt":
            hold = _STOPPED
        elif now.get("wait_channel") in _PIPES:
            hold = _PIPE
        elif now["state"] == "D":
            hold = _KERNEL
        if hold is not self.hold:
            self.hold, self.held_ns = hold, at_ns
        if hold in (_PIPE, _KERNEL) and self.moved_ns > self.held_ns:
            self.held_ns = self.moved_ns


class Movings:
    """All processes of a tree. Feed it samples in order; `limits` are those of the recipe."""

    def __init__(self, limits: "dict[str, Any]") -> None:
        self._limits = limits
        self._window = []  # type: list[tuple[int, dict[tuple[int, int], dict[str, Any]], Any]]
        self._known = {}  # type: dict[tuple[int, int], Moving]
        self._gpus = ()  # type: Any
        self._root = 0
        self._at_ns = self._changed_ns = self._gpu_used_ns = 0

    def feed(self, sample: "dict[str, Any]") -> None:
        """Takes one sample."""
        at_ns, limits = sample["at_ns"], self._limits
        self._at_ns = at_ns
        self._gpus = sample.get("gpus") or self._gpus
        self._root = sample["processes"][0]["pid"] if sample["processes"] else 0
        now = {
            (p["pid"], p["start_ticks"]): p for p in sample["processes"] if p["state"] not in "ZX"
        }
        if now.keys() != self._known.keys():
            self._changed_ns = at_ns
        self._window.append((at_ns, now, self._gpus))
        oldest_ns = at_ns - limits["window_s"] * _SECONDS
        while len(self._window) > 2 and self._window[1][0] <= oldest_ns:
            del self._window[0]
        before_ns, before, gpus = self._window[0]
        elapsed_s = max((at_ns - before_ns) / _SECONDS, 0.001)
        fed = self._feed_gpus(gpus, at_ns)
        known = {}
        for key, process in now.items():
            moving = self._known.get(key) or Moving(at_ns)
            moving.place = process
            if key in before:
                is_fed = process["pid"] in fed
                moving.measure(before[key], process, at_ns, elapsed_s, limits, is_fed=is_fed)
            moving.note_hold(process, at_ns)
            known[key] = moving
        self._known = known

    def _feed_gpus(self, before: "Any", at_ns: int) -> "set[int]":
        """The processes whose GPUs were filled; where the driver tells no users, it is all's."""
        old = {gpu["index"]: gpu["used_bytes"] for gpu in before}
        has_users = any(gpu.get("users") for gpu in self._gpus)
        fed = set()  # type: set[int]
        for gpu in self._gpus:
            if has_users and not gpu.get("users"):
                continue
            use = gpu.get("use")
            if use is not None and use >= self._limits["gpu_use_percent"]:
                self._gpu_used_ns = at_ns
            grown = gpu["used_bytes"] - old.get(gpu["index"], gpu["used_bytes"])
            if grown >= self._limits["gpu_growth_bytes"]:
                fed.update(user[0] for user in gpu.get("users") or ())
                self._changed_ns = self._changed_ns if has_users else at_ns
        return fed

    def is_stalled(self, log_ns: int, *, is_up: bool) -> bool:
        """Whether something is held up; or, unless it is up, whether nothing will come."""
        limits, ranks = self._limits, self._find_ranks()
        for key, moving in self._known.items():
            limit_s = limits["hold_s"].get(moving.hold or "")
            matters = (
                key in ranks
                or moving.place["pid"] == self._root
                or moving.place["rss_bytes"] >= limits["matters_bytes"]
            )
            if matters and limit_s is not None and self._since(moving.held_ns) >= limit_s:
                return True
        if is_up:
            return False
        others_ns = max(log_ns, self._changed_ns)
        return self._is_odd(ranks, others_ns) or self._is_still(others_ns)

    def _since(self, then_ns: int) -> float:
        return max(0.0, (self._at_ns - then_ns) / _SECONDS)

    def _find_ranks(self) -> "set[tuple[int, int]]":
        """Those with a rank in their titles, else those of one name that hold most memory."""
        ranks = {
            key
            for key, moving in self._known.items()
            if _RANK.search(moving.place.get("title") or moving.place["name"])
        }
        if ranks:
            return ranks
        groups = {}  # type: dict[tuple[int, str], list[tuple[int, int]]]
        for key, moving in self._known.items():
            groups.setdefault((moving.place["parent"], moving.place["name"]), []).append(key)
        alike = [keys for keys in groups.values() if len(keys) > 1]
        if not alike:
            return set()
        return set(
            max(alike, key=lambda keys: sum(self._known[k].place["rss_bytes"] for k in keys))
        )

    def _is_odd(self, ranks: "set[tuple[int, int]]", others_ns: int) -> bool:
        """Whether ranks have done nothing for long while as many or more others spin."""
        limits, below = self._limits, self._share_out(ranks)
        idle, spinning = [], []
        for key in ranks:
            share = sum(moving.cpu_share for moving in below[key])
            use = self._use_of(self._known[key].place["pid"])
            if share < limits["idle_share"] and (use is None or use < limits["gpu_use_percent"]):
                idle.append(self._known[key])
            if self._known[key].is_spinning:
                spinning.append(self._known[key])
        if not idle or len(idle) + len(spinning) < len(ranks) or len(idle) > len(spinning):
            return False
        since_ns = max(
            [moving.worked_ns for shared in below.values() for moving in shared]
            + [moving.active_ns for moving in idle]
            + [moving.slack_ns for moving in spinning]
        )
        return self._since(max(since_ns, others_ns)) >= float(limits["odd_s"])

    def _share_out(self, ranks: "set[tuple[int, int]]") -> "dict[tuple[int, int], list[Moving]]":
        """Each rank's processes: itself and those below it that are no ranks themselves."""
        of_pid = {moving.place["pid"]: key for key, moving in self._known.items()}
        shares = {key: [] for key in ranks}  # type: dict[tuple[int, int], list[Moving]]
        for key, moving in self._known.items():
            at = key  # type: tuple[int, int] | None
            for _ in range(len(of_pid)):
                if at is None or at in ranks:
                    break
                at = of_pid.get(self._known[at].place["parent"])
            if at in shares:
                shares[at].append(moving)
        return shares

    def _use_of(self, pid: int) -> "int | None":
        uses = [
            gpu["use"]
            for gpu in self._gpus
            if gpu.get("use") is not None and any(u[0] == pid for u in gpu.get("users") or ())
        ]
        return max(uses) if uses else None

    def _is_still(self, others_ns: int) -> bool:
        """Whether nothing moves in the whole tree, or CPU time alone does, for too long."""
        limits, movings = self._limits, self._known.values()
        idle_s = self._since(max([others_ns] + [moving.moved_ns for moving in movings]))
        used_s = self._since(self._gpu_used_ns)
        if idle_s >= limits["patience_s"] and used_s >= limits["patience_s"]:
            return True
        worked_ns = max([others_ns] + [moving.worked_ns for moving in movings])
        return self._since(worked_ns) >= float(limits["spin_s"])


def _grown(now: "dict[str, Any]", was: "dict[str, Any]", name: str) -> int:
    return max(0, (now.get(name) or 0) - (was.get(name) or 0))
