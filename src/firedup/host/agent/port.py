"""Who listens on a TCP port, as far as this user may know."""

import os

from firedup.host.agent.diag import listening_sockets
from firedup.host.agent.proc import describe_process, list_pids
from firedup.host.agent.system import boottime_ns, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def socket_inodes(pid: int) -> "set[int] | None":
    """The inodes of all sockets a process holds; None when it may not be looked at."""
    inodes = set()
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except FileNotFoundError:
        return set()
    except OSError:
        return None
    for name in names:
        try:
            link = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if link.startswith("socket:["):
            inodes.add(int(link[8:-1]))
    return inodes


def op_port(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """port {port, pid?}: every listener with its owners, in the name space of `pid`.

    `is_complete` is false when some process could not be looked at, so that a listener without
    owners belongs to somebody unknown.
    """
    port = int(args["port"])
    listeners = [s for s in listening_sockets(args.get("pid") or "self") if s["port"] == port]
    wanted = {s["inode"] for s in listeners}
    owners = {inode: [] for inode in wanted}  # type: dict[int, list[Any]]
    is_complete = True
    for pid in list_pids() if wanted else []:
        inodes = socket_inodes(pid)
        if inodes is None:
            # Kernel threads hold no sockets and have no command line.
            is_complete = is_complete and not read_bytes(f"/proc/{pid}/cmdline", 1)
            continue
        for inode in wanted & inodes:
            process = describe_process(pid)
            if process is not None:
                owners[inode].append(process)
    for listener in listeners:
        listener["owners"] = owners[listener["inode"]]
    return {"listeners": listeners, "is_complete": is_complete, "at_ns": boottime_ns()}


class Ports:
    """The ports on which the processes of one tree listen, asked once a second at little cost.

    Whose a socket is gets looked up once, when it is new.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._ours = {}  # type: dict[int, bool]

    def sample(self, pids: "list[int]") -> "list[int]":
        """The sorted ports of the sockets held by any of `pids`."""
        sockets = {s["inode"]: s["port"] for s in listening_sockets(self.pid)}
        if any(inode not in self._ours for inode in sockets):
            held = set()  # type: set[int]
            for pid in pids:
                held |= socket_inodes(pid) or set()
            self._ours = {inode: inode in held for inode in sockets}
        return sorted({port for inode, port in sockets.items() if self._ours[inode]})
