"""Who listens on a TCP port, as far as this user may know."""

import os
import socket

from firedup.host.agent.proc import describe_process, list_pids
from firedup.host.agent.system import boottime_ns, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LISTEN = b"0A"


def listening_sockets(pid: "int | str" = "self") -> "list[dict[str, Any]]":
    """The listening TCP sockets in the network name space of a process.

    The kernel prints listening sockets first, so that a table of many connections is not read.
    """
    found = []
    for table in ("tcp", "tcp6"):
        try:
            file = open(f"/proc/{pid}/net/{table}", "rb", 16384)  # noqa: SIM115 - closed below
        except OSError:
            continue
        with file:
            file.readline()
            for line in file:
                fields = line.split()
                if fields[3] != _LISTEN:
                    break
                address, _, port = fields[1].partition(b":")
                found.append(
                    {
                        "address": _decode_address(address.decode("ascii")),
                        "port": int(port, 16),
                        "uid": int(fields[7]),
                        "inode": int(fields[9]),
                    }
                )
    return found


def _decode_address(text: str) -> str:
    """The kernel prints addresses as 32-bit words in the host's byte order."""
    raw = bytes.fromhex(text)
    words = [raw[i : i + 4] for i in range(0, len(raw), 4)]
    import sys

    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    packed = b"".join(words)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


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
