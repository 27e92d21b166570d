"""Which process of a server is gone without which it serves nothing, as the core tells it."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RANK_TITLE = re.compile(r"(?:^|[_: ])(?:DP|PP|TP|EP)\d+(?:[_ ](?:DP|PP|TP|EP)\d+)*$")
_PER_SECOND = 1000000000  # in nanoseconds
_CUT = 15  # bytes of a process's name, which the kernel keeps


class Vitals:
    """Feed it samples in order. `recipe` has `names`, `patience_s` and `steady_s`."""

    def __init__(self, recipe: "dict[str, Any]") -> None:
        self._recipe = recipe
        self._first = {}  # type: dict[tuple[int, int], int]
        self._last = {}  # type: dict[tuple[int, int], dict[str, Any]]
        # The first sample without it, the process as it lived, and how it ended where that is known
        self._lost = {}  # type: dict[tuple[int, int], tuple[int, dict[str, Any], int]]

    def feed(self, sample: "dict[str, Any]") -> None:
        """Takes one sample."""
        if not sample["processes"]:
            return
        at_ns = sample["at_ns"]
        dead = {_key_of(p): p for p in sample["processes"] if p["state"] in "ZX"}
        living = {_key_of(p): p for p in self._find(sample["processes"])}
        for key in [key for key in self._last if key not in living]:
            process, first_ns = self._last.pop(key), self._first.pop(key)
            if at_ns - first_ns >= self._recipe["steady_s"] * _PER_SECOND:
                status = dead.get(key, {}).get("wait_status") or 0
                self._lost[key] = (at_ns, process, status)
        for key, process in living.items():
            self._lost.pop(key, None)
            self._first.setdefault(key, at_ns)
            self._last[key] = process
        for key in [key for key, loss in self._lost.items() if self._is_replaced(loss)]:
            del self._lost[key]

    def find_loss(self, at_ns: int) -> "tuple[int, dict[str, Any], int] | None":
        """The first that has been gone for long enough: since when, who, and its wait status."""
        limit_ns = self._recipe["patience_s"] * _PER_SECOND
        settled = [loss for loss in self._lost.values() if at_ns - loss[0] >= limit_ns]
        return min(settled, key=lambda loss: loss[0]) if settled else None

    def forgive(self) -> None:
        """The server generates without those that are gone."""
        self._lost.clear()

    def _is_replaced(self, loss: "tuple[int, dict[str, Any], int]") -> bool:
        title = _title_of(loss[1])
        return any(
            _title_of(process) == title and self._first[key] >= loss[0]
            for key, process in self._last.items()
        )

    def _find(self, processes: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
        root = processes[0]["pid"]
        titles = {process["pid"]: _title_of(process) for process in processes}
        return [
            process
            for process in processes
            if process["pid"] != root
            and process["state"] not in "ZX"
            and titles.get(process["parent"]) != _title_of(process)
            and self._is_vital(process)
        ]

    def _is_vital(self, process: "dict[str, Any]") -> bool:
        name, title, names = process["name"], _title_of(process), self._recipe["names"]
        is_cut = len(name.encode("utf-8", "replace")) == _CUT
        return (
            any(title.startswith(vital) for vital in names)
            or (is_cut and any(vital.startswith(name) for vital in names))
            or _RANK_TITLE.search(title) is not None
        )


def _key_of(process: "dict[str, Any]") -> "tuple[int, int]":
    return process["pid"], process["start_ticks"]


def _title_of(process: "dict[str, Any]") -> str:
    return str(process.get("title") or process["name"])


def tell_loss(process: "dict[str, Any]", status: int) -> str:
    """What became of it, as the core words it."""
    how = "ended"
    if status & 0x7F:
        how = f"was ended by signal {status & 0x7F}"
    elif status:
        how = f"ended with exit status {status >> 8}"
    return "{} (pid {}) {}".format(_title_of(process), process["pid"], how)
