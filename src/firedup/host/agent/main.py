"""Where the agent begins: as the client's servant on the host, or as the keeper of a run."""

import os
import pwd
import signal
import socket
import sys
import zlib

from firedup.host.agent.act import Wait, WatchTree, op_members, op_process, op_signal, op_tree
from firedup.host.agent.before import op_before
from firedup.host.agent.checkpoint import op_checkpoint
from firedup.host.agent.file import (
    Read,
    op_append,
    op_list,
    op_mkdir,
    op_paths,
    op_remove,
    op_stat,
    op_which,
)
from firedup.host.agent.follow import Follow
from firedup.host.agent.holder import op_holders
from firedup.host.agent.hook import Attend, op_hook
from firedup.host.agent.keep import keep
from firedup.host.agent.launch import op_launch
from firedup.host.agent.logfile import ReadLog, op_log_files
from firedup.host.agent.memory import op_memory
from firedup.host.agent.port import op_port
from firedup.host.agent.pour import Pour
from firedup.host.agent.run import Runs, WatchRun
from firedup.host.agent.serve import Loop
from firedup.host.agent.slices import op_slices, op_tokens
from firedup.host.agent.step import op_step
from firedup.host.agent.stream import in_thread
from firedup.host.agent.system import (
    boot_id,
    boottime_ns,
    give_memory_back,
    runs_folder,
    state_folder,
    wall_ns,
    write_all,
)
from firedup.host.agent.talk import Talk
from firedup.host.agent.tell import tell
from firedup.host.agent.tunnel import Tunnel
from firedup.host.agent.variables import op_variables
from firedup.host.agent.web import op_http
from firedup.host.agent.wire import EVENT, encode_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def op_hello(_args: "dict[str, Any]") -> "dict[str, Any]":
    """hello: who answers here."""
    uid = os.getuid()
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return {
        "version": f"{zlib.crc32(globals()['SOURCE']):08x}",
        "python": ".".join(str(part) for part in sys.version_info[:3]),
        "hostname": socket.gethostname(),
        "uid": uid,
        "user": user,
        "pid": os.getpid(),
        "home": os.path.expanduser("~"),
        "cwd": os.getcwd(),
        "state_folder": state_folder(),
        "runs_folder": runs_folder(),
        "boot_id": boot_id(),
        "boottime_ns": boottime_ns(),
        "wall_ns": wall_ns(),
    }


def op_clock(_args: "dict[str, Any]") -> "dict[str, Any]":
    """clock: the host's two clocks."""
    return {"boottime_ns": boottime_ns(), "wall_ns": wall_ns(), "boot_id": boot_id()}


QUICK = {
    "hello": op_hello,
    "clock": op_clock,
    "stat": op_stat,
    "append": op_append,
    "mkdir": op_mkdir,
    "signal": op_signal,
    "memory": op_memory,
    "process": op_process,
}


SLOW = {
    "list": in_thread(op_list),
    "remove": in_thread(op_remove),
    "which": in_thread(op_which),
    "paths": in_thread(op_paths),
    "tree": op_tree,
    "members": op_members,
    "port": op_port,
    "holders": op_holders,
    "http": op_http,
    "launch": op_launch,
    "step": op_step,
    "hook": op_hook,
    "variables": in_thread(op_variables),
    "log_files": op_log_files,
    "before": in_thread(op_before),
    "checkpoint": op_checkpoint,
    "slices": op_slices,
    "tokens": op_tokens,
}

LIVE = {
    "read": Read,
    "read_log": ReadLog,
    "follow": Follow,
    "wait": Wait,
    "watch_tree": WatchTree,
    "runs": Runs,
    "watch_run": WatchRun,
    "attend": Attend,
    "tunnel": Tunnel,
    "pour": Pour,
    "talk": Talk,
}


def serve(marker: str) -> None:
    """Answers requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's to judge
    write_all(1, marker.encode("ascii") + b"\n")
    loop = Loop(QUICK, SLOW, LIVE)
    loop.send(encode_json(EVENT, 0, op_hello({})))
    loop.run()


def main(argv: "list[str]") -> None:
    """argv: what ran, marker, length of this text, then what to do, as in the branches below."""
    give_memory_back()
    if argv[3] == "keep":
        keep(argv[4], stays="stay" in argv[5:])
    elif argv[3] == "tell":
        tell(argv[4], argv[5])
    else:
        serve(argv[1])


if __name__ == "__main__":
    main(sys.argv)
