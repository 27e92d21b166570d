"""Which files of a checkpoint silent processes have open, and how far they have read."""

import os

from firedup.host.agent.system import read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SUFFIXES = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt", ".npz")
_SILENT_NS = 10 * 1000000000  # so long a log says nothing before anybody looks
_SHARDS_NS = 5 * 1000000000  # between two looks
_MOST_READERS, _MOST_OPEN, _MOST_SHARDS = 16, 256, 32


class Shards:
    """Feed it samples in order. Only names are read, so that a dead file server stops nobody."""

    def __init__(self) -> None:
        self._log_size = -1
        self._silent_ns = 0
        self._looked_ns = 0
        self._read = {}  # type: dict[int, int | None]
        self._told = []  # type: list[dict[str, Any]]

    def look(self, sample: "dict[str, Any]") -> "list[dict[str, Any]] | None":
        """The open shards of those that read, where that is new; None else."""
        at_ns, size = sample["at_ns"], sample["log_size"]
        if size != self._log_size:
            self._log_size, self._silent_ns = size, at_ns
            self._read = {}
            return None
        if at_ns - self._silent_ns < _SILENT_NS or at_ns - self._looked_ns < _SHARDS_NS:
            return None
        self._looked_ns = at_ns
        readers = [p for p in sample["processes"] if self._is_reading(p)]
        self._read = {p["pid"]: p["read_bytes"] for p in sample["processes"]}
        if not readers:
            return None
        readers.sort(key=lambda process: -process["rss_bytes"])
        found = []  # type: list[dict[str, Any]]
        for process in readers[:_MOST_READERS]:
            found += list_shards(process["pid"])
        found = found[:_MOST_SHARDS]
        if found == self._told:
            return None
        self._told = found
        return found

    def _is_reading(self, process: "dict[str, Any]") -> bool:
        """Whether it has read since the last look, waits for a disk, or was not looked at yet."""
        before = self._read.get(process["pid"], -1)
        return bool(process["state"] == "D" or before != process["read_bytes"])


def list_shards(pid: int) -> "list[dict[str, Any]]":
    """The files of checkpoints that a process has open, each with the offset of its reader."""
    folder = f"/proc/{pid}/fd"
    try:
        numbers = os.listdir(folder)
    except OSError:
        return []
    found = []
    for number in numbers[:_MOST_OPEN]:
        try:
            path = os.readlink(f"{folder}/{number}")
        except OSError:
            continue
        if path.endswith(_SUFFIXES):
            words = (read_bytes(f"/proc/{pid}/fdinfo/{number}", 256) or b"").split()
            offset = int(words[1]) if words[:1] == [b"pos:"] else 0
            found.append({"pid": pid, "path": path, "offset": offset})
    return found
