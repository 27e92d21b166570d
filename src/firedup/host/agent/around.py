"""What a server needs besides its processes: disks, memory of its group, GPUs, open shards."""

import os

from firedup.host.agent.memory import Group
from firedup.host.agent.nvml import Gpus
from firedup.host.agent.shard import Shards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_A_MIB = 1 << 20
_DISKS_NS = 10 * 1000000000
_GROUP_NS = 2 * 1000000000
_SAID_ANEW_NS = 300 * 1000000000  # so often what does not change is said again
_CHANGE_BYTES = 16 * _A_MIB  # less is not worth a line
_SHM = "/dev/shm"  # noqa: S108 - asked about, not written


class Around:
    """Adds to samples what is new. `folders` are those to whose disks the server writes.

    Only such that are written or read every second anyway may be named: a file server that does
    not answer holds this up too.
    """

    def __init__(self, folders: "list[str]") -> None:
        self._folders = [_SHM, *sorted(set(folders))]
        self._shards = Shards()
        self._gpus = Gpus()
        self._gpus.begin()
        self._due = {"disks": 0, "group": 0}
        self._said = {}  # type: dict[str, tuple[int, list[int]]]

    def add_to(self, sample: "dict[str, Any]", group: Group) -> None:
        """Looks at what is due, and puts what has changed into `sample`."""
        at_ns = sample["at_ns"]
        if self._is_due("disks", at_ns, _DISKS_NS):
            disks = list_disks(self._folders)
            self._say(sample, "disks", disks, [disk["free_bytes"] for disk in disks])
        if self._is_due("group", at_ns, _GROUP_NS):
            memory = group.memory()
            if memory is not None:
                used = memory["used_bytes"]
                events = memory.get("limit_events", 0)
                self._say(sample, "group", memory, [used, events * _CHANGE_BYTES])
        gpus = self._gpus.take({process["pid"] for process in sample["processes"]})
        if gpus is not None:
            sample["gpus"] = gpus
        files = self._shards.look(sample)
        if files is not None:
            sample["files"] = files

    def close(self) -> None:
        """Lets go of the GPUs."""
        self._gpus.end()

    def _is_due(self, what: str, at_ns: int, every_ns: int) -> bool:
        if at_ns < self._due[what]:
            return False
        self._due[what] = at_ns + every_ns
        return True

    def _say(self, sample: "dict[str, Any]", what: str, value: "Any", amounts: "list[int]") -> None:
        """Puts `value` into the sample unless its `amounts` are about those said last."""
        since_ns, before = self._said.get(what, (0, []))
        is_new = len(before) != len(amounts) or any(
            abs(one - other) >= _CHANGE_BYTES for one, other in zip(before, amounts)
        )
        if is_new or sample["at_ns"] - since_ns >= _SAID_ANEW_NS:
            self._said[what] = (sample["at_ns"], amounts)
            sample[what] = value


def list_disks(folders: "list[str]") -> "list[dict[str, Any]]":
    """Free and total bytes below each folder that is there; one entry for each file system."""
    found = []
    seen = set()
    for folder in folders:
        try:
            facts, device = os.statvfs(folder), os.stat(folder).st_dev
        except OSError:
            continue
        if device not in seen:
            seen.add(device)
            free, total = facts.f_bavail * facts.f_frsize, facts.f_blocks * facts.f_frsize
            found.append({"path": folder, "free_bytes": free, "total_bytes": total})
    return found
