"""Where the agent begins: as the client's servant on the host, or as the keeper of a run."""

import os
import pwd
import signal
import socket
import sys
import zlib

from firedup.host.agent.part import find
from firedup.host.agent.system import (
    boot_id,
    boottime_ns,
    give_memory_back,
    runs_folder,
    state_folder,
    wall_ns,
    write_all,
)
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


# Each operation's module and name: a module is run when an operation of it is first wanted.
# Answered by the loop itself.
QUICK = {
    "hello": "main.op_hello",
    "clock": "main.op_clock",
    "stat": "file.op_stat",
    "append": "file.op_append",
    "mkdir": "file.op_mkdir",
    "signal": "act.op_signal",
    "memory": "memory.op_memory",
    "process": "act.op_process",
}

# Functions of the arguments that run in a thread.
SHORT = {
    "list": "file.op_list",
    "remove": "file.op_remove",
    "which": "file.op_which",
    "paths": "file.op_paths",
    "variables": "variables.op_variables",
    "before": "before.op_before",
}

# Functions of the arguments and of their Work, in a thread that can be cancelled.
SLOW = {
    "tree": "act.op_tree",
    "members": "act.op_members",
    "port": "port.op_port",
    "holders": "holder.op_holders",
    "stacks": "stack.op_stacks",
    "http": "web.op_http",
    "launch": "launch.op_launch",
    "step": "step.op_step",
    "hook": "hook.op_hook",
    "log_files": "logfile.op_log_files",
    "checkpoint": "checkpoint.op_checkpoint",
    "slices": "slices.op_slices",
    "tokens": "slices.op_tokens",
}

# Streams that go on.
LIVE = {
    "read": "file.Read",
    "read_log": "logfile.ReadLog",
    "follow": "follow.Follow",
    "wait": "act.Wait",
    "watch_tree": "act.WatchTree",
    "runs": "run.Runs",
    "watch_run": "run.WatchRun",
    "attend": "hook.Attend",
    "tunnel": "tunnel.Tunnel",
    "pour": "pour.Pour",
    "talk": "talk.Talk",
}


def serve(marker: str) -> None:
    """Answers requests until stdin ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's to judge
    write_all(1, marker.encode("ascii") + b"\n")
    loop = find("serve.Loop")(find, QUICK, SHORT, SLOW, LIVE)
    loop.send(encode_json(EVENT, 0, op_hello({})))
    loop.run()


def main(argv: "list[str]") -> None:
    """argv: what ran, marker, length of this text, then what to do, as in the branches below."""
    give_memory_back()
    if argv[3] == "keep":
        find("keep.keep")(argv[4], stays="stay" in argv[5:])
    elif argv[3] == "tell":
        find("tell.tell")(argv[4], argv[5])
    else:
        serve(argv[1])


if __name__ == "__main__":
    main(sys.argv)
