"""Whether the kernel lets this process read another one's memory, and if not, why."""

import os
import pwd

from firedup.host.agent.system import read_bytes
from firedup.host.agent.task import read_status

_YAMA_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"  # missing where the kernel has no Yama
_NOBODY_SCOPE = 3
_SYS_PTRACE = 1 << 19  # the capability


def refuse_tracing(pid: int, yama: str = _YAMA_SCOPE) -> str:
    """Why the memory of `pid` may not be read, in words with what helps; empty when it may.

    These are the kernel's own rules for reading without stopping (ptrace(2), access mode ATTACH):
    the superuser's capability, else the same user, no more rights, dumpable, and Yama's consent.
    """
    own, other = read_status(os.getpid()), read_status(pid)
    if not other:
        return f"there is no process {pid} any more"
    scope = _read_scope(yama)
    if scope >= _NOBODY_SCOPE:
        return "kernel.yama.ptrace_scope is 3: nobody may read a process's memory before a reboot"
    if int(own.get("CapEff", "0"), 16) & _SYS_PTRACE:
        return ""
    uid, users = os.getuid(), set(other.get("Uid", "").split()[:3])
    if users != {str(uid)}:
        name = _name_user(users)
        return f"it runs as {name}: only root may read its memory"
    if set(other.get("Gid", "").split()[:3]) != {str(os.getgid())}:
        return "it runs with another group: only root may read its memory"
    if int(other.get("CapPrm", "0"), 16) & ~int(own.get("CapPrm", "0"), 16):
        return "it has capabilities that the agent lacks: only root may read its memory"
    if any(_is_elsewhere(pid, kind) for kind in ("user", "pid")):
        return "it is in a container: only root may read its memory from outside"
    if not _is_dumpable(pid, uid):
        return "the kernel keeps its memory from its own user (not dumpable): only root may read it"
    if scope > 0:
        return (
            f"kernel.yama.ptrace_scope is {scope}: only root may read a process's memory"
            " (sudo sysctl kernel.yama.ptrace_scope=0 would change that)"
        )
    return ""


def _read_scope(yama: str) -> int:
    """Yama's restriction of tracing: 0 is none, 1 to 3 ever more."""
    word = (read_bytes(yama, 16) or b"").strip()
    return int(word) if word.isdigit() else 0


def _is_elsewhere(pid: int, kind: str) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}")
    except OSError:  # what may not be known is left to the other rules
        return False


def _is_dumpable(pid: int, uid: int) -> bool:
    """Files of a process that is not dumpable belong to root, whoever runs it."""
    try:
        return os.stat(f"/proc/{pid}/mem").st_uid == uid
    except OSError:
        return False


def _name_user(users: "set[str]") -> str:
    names = []
    for user in sorted(users):
        try:
            names.append(pwd.getpwuid(int(user)).pw_name)
        except KeyError:
            names.append(f"user {user}")
    return " and ".join(names)
