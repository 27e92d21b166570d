"""Listening TCP sockets, asked from the kernel by netlink, else read from /proc."""

import os
import socket
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator

_NETLINK_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY = 4, 20
_NLM_ERROR, _NLM_DONE = 2, 3
_REQUEST_DUMP = 0x301  # NLM_F_REQUEST | NLM_F_DUMP
_LISTEN_STATE = 1 << 10
_TCP = 6
_MESSAGE = struct.Struct("=IHHII")  # length, type, flags, sequence, pid
_ASK = struct.Struct("=BBBBI48x")  # family, protocol, extensions, padding, states, any socket
_SOCKET = struct.Struct("=BBBB 2s2s16s16s12x III II")  # … queues, uid, inode
_LISTEN = b"0A"


def listening_sockets(pid: "int | str" = "self") -> "list[dict[str, Any]]":
    """The listening TCP sockets in the network name space of a process.

    Through netlink the kernel walks the listening sockets alone; /proc/net/tcp makes it walk the
    table of all connections, which takes milliseconds on a big machine.
    """
    if _is_own_space(pid):
        try:
            return list(_ask(socket.AF_INET)) + list(_ask(socket.AF_INET6))
        except OSError:  # a kernel without the module, or a sandbox
            pass
    return _read_tables(pid)


def _is_own_space(pid: "int | str") -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net")
    except OSError:
        return False


def _ask(family: int) -> "Iterator[dict[str, Any]]":
    question = _ASK.pack(family, _TCP, 0, 0, _LISTEN_STATE)
    header = _MESSAGE.pack(_MESSAGE.size + len(question), _SOCK_DIAG_BY_FAMILY, _REQUEST_DUMP, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as link:
        link.settimeout(2.0)
        link.send(header + question)
        while True:
            data = link.recv(65536)
            while data:
                length, kind, _, _, _ = _MESSAGE.unpack_from(data)
                if kind == _NLM_DONE:
                    return
                if kind == _NLM_ERROR:
                    raise OSError("the kernel refused")
                yield _describe(data[_MESSAGE.size : length])
                data = data[(length + 3) & ~3 :]


def _describe(message: bytes) -> "dict[str, Any]":
    fields = _SOCKET.unpack_from(message)
    family, port, source, uid, inode = fields[0], fields[4], fields[6], fields[-2], fields[-1]
    packed = source[:4] if family == socket.AF_INET else source
    return {
        "address": socket.inet_ntop(family, packed),
        "port": int.from_bytes(port, "big"),
        "uid": uid,
        "inode": inode,
    }


def _read_tables(pid: "int | str") -> "list[dict[str, Any]]":
    """The same from /proc, where listening sockets come first."""
    found = []
    for table in ("tcp", "tcp6"):
        try:
            file = open(f"/proc/{pid}/net/{table}", "rb", 4096)  # noqa: SIM115 - closed below
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
    if sys.byteorder == "little":
        words = [word[::-1] for word in words]
    packed = b"".join(words)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
