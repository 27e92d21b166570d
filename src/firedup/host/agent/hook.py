"""What happens to a run and who is told of it, once each, whether a client or the keeper saw it."""

import json
import os
import re
import signal
import socket
import time

from firedup.host.agent.proc import is_alive
from firedup.host.agent.run import find_run, read_json, read_keeper
from firedup.host.agent.spawn import start_self
from firedup.host.agent.stream import Stream
from firedup.host.agent.system import AgentError, boot_id, wall_ns, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOOK_EVENTS = ("ready", "crashed", "stalled", "exited")
_RETRY_S = 0.1
_KEEPER_S, _LOOK_AGAIN_S = 3.0, 0.01  # how long the keeper may take to begin the telling
_EXPECTED = {}  # type: dict[str, int]  # run id: the locked file of a client that is expected
# What may be a secret in an address that stands where a path or a name is expected.
_URL_SECRETS = re.compile(r"(://)[^/\s@]*@|(?<=\S)[?#]\S*")


def op_hook(args: "dict[str, Any]", _work: "Any" = None) -> "dict[str, Any]":
    """hook {run, on, facts}: tells of the event `on` as the manifest of the run wants it.

    `facts` may hold what is known of verdict, stage, cause, cause_line, exit_code, exit_signal and
    served_s. Only the first who concludes an event is heard. The keeper does the telling while it
    lives, since it outlives this agent. Result: {started: number of commands and addresses}.
    """
    folder = find_run(args["run"])
    manifest = read_json(os.path.join(folder, "manifest.json"))
    if manifest is None:
        raise AgentError("not-found", "the run has no readable manifest", folder)
    event = args["on"]
    told = make_payload(manifest, event, args.get("facts") or {}, "client")
    if not count_hooks(manifest, event) or not claim(folder, event, told):
        return {"started": 0}
    if _wake_keeper(folder):
        until_s = time.monotonic() + _KEEPER_S
        while time.monotonic() < until_s and not os.path.exists(started_path(folder, event)):
            time.sleep(_LOOK_AGAIN_S)
    if begin_telling(folder, event):
        start_self(["tell", folder, event])
    return {"started": count_hooks(manifest, event)}


def _wake_keeper(folder: str) -> bool:
    """Lets the keeper look for what is to be told; False when there is none."""
    keeper = read_keeper(folder)
    if keeper is None or keeper.get("boot_id") != boot_id():
        return False
    if not is_alive(keeper["pid"], keeper["start_ticks"]):
        return False
    try:
        os.kill(keeper["pid"], signal.SIGHUP)
    except OSError:
        return False
    return True


def count_hooks(manifest: "dict[str, Any]", event: str) -> int:
    """How many commands and addresses want to know of `event`."""
    if event not in HOOK_EVENTS:
        return 0
    # Of a run on several nodes it is the head that becomes ready.
    is_ours = event != "ready" or not manifest.get("node")
    return len(hook_commands(manifest, event)) + len(manifest.get("notify") or ()) * is_ours


def hook_commands(manifest: "dict[str, Any]", event: str) -> "list[str]":
    """The commands of --on for `event`."""
    return [h["command"] for h in manifest.get("hooks") or () if h["on"] == event]


def make_payload(
    manifest: "dict[str, Any]", event: str, facts: "dict[str, Any]", source: str
) -> "dict[str, Any]":
    """What is told of `event`: the object that --notify sends."""
    spec, seconds = manifest.get("spec") or {}, (facts.get("wall_ns") or wall_ns()) // 10**9
    cause = {"class": facts.get("cause") or None, "line": facts.get("cause_line") or None}
    code, number = facts.get("exit_code"), facts.get("exit_signal")
    has_exit = code is not None or number is not None
    return {
        "schema": 1,
        "event": event,
        "source": source,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
        "clock": "host",
        "run": {"id": manifest["id"], "name": manifest["name"], "host": socket.gethostname()},
        "verdict": facts.get("verdict") or None,
        "stage": facts.get("stage") or None,
        "cause": cause if any(cause.values()) else None,
        "engine": facts.get("engine") or spec.get("engine"),
        "model": _hide_secrets(spec.get("model")),
        "port": spec.get("port"),
        "log": manifest["log"],
        "exit": {"code": code, "signal": number} if has_exit else None,
        "served_s": facts.get("served_s"),
    }


def _hide_secrets(text: "str | None") -> "str | None":
    if text is None or "://" not in text:
        return text
    return _URL_SECRETS.sub(lambda found: found.group(1) or "", text)


def claim(folder: str, event: str, told: "dict[str, Any]") -> bool:
    """True for the first who concludes `event`; the file keeps what is told of it."""
    path = claim_path(folder, event)
    temporary = f"{path}.{os.getpid()}.{time.monotonic()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    file = os.open(temporary, flags, 0o600)
    try:
        write_all(file, json.dumps(told).encode("ascii") + b"\n")
        return _put(temporary, path)
    finally:
        os.close(file)
        if os.path.exists(temporary):
            os.unlink(temporary)


def _put(temporary: str, path: str) -> bool:
    """Gives a whole file its name; False when the name is taken."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:  # a file system without links: taken first, filled an instant later
        return _put_slowly(temporary, path)
    return True


def _put_slowly(temporary: str, path: str) -> bool:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    try:
        os.rename(temporary, path)
    except OSError:
        os.unlink(path)  # an empty claim would keep the event from ever being told
        raise
    return True


def begin_telling(folder: str, event: str) -> bool:
    """True for the one who is to tell of an event that was claimed."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        os.close(os.open(started_path(folder, event), flags, 0o600))
    except FileExistsError:
        return False
    return True


def take_back_telling(folder: str, event: str) -> None:
    """The telling could not begin after all and is left to whoever tries next."""
    try:
        os.unlink(started_path(folder, event))
    except OSError:  # the folder is gone, and with it everything to tell
        pass


def claim_path(folder: str, event: str) -> str:
    """The file that says what is told of `event`."""
    return os.path.join(folder, f"hook-{event}.json")


def started_path(folder: str, event: str) -> str:
    """The file whose being there means that the telling has begun."""
    return os.path.join(folder, f"hook-{event}.started")


class Attend(Stream):
    """attend {run}: never ends by itself; while it is open the keeper lets its client tell first.

    The kernel lets go of the lock when the agent ends, however it ends.
    """

    def open(self) -> None:
        """Opens the file that is locked."""
        self.folder = find_run(self.args["run"])
        self.file = _open_attended(self.folder)

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """Takes the lock; the keeper holds it for an instant when it asks."""
        import fcntl

        try:
            fcntl.flock(self.file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            self.due = time.monotonic() + _RETRY_S
        return None

    def close(self) -> None:
        """Lets go of the lock."""
        os.close(self.file)
        forget_client(self.folder)


def expect_client(folder: str) -> None:
    """Counts the client of this agent as one that watches, until it attends or the agent ends.

    A server may be gone before its client had a chance to say that it watches.
    """
    import fcntl

    try:
        file = _open_attended(folder)
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # then the keeper tells first
        return
    _EXPECTED[os.path.basename(folder)] = file


def forget_client(folder: str) -> None:
    """Expects the client no more."""
    file = _EXPECTED.pop(os.path.basename(folder), None)
    if file is not None:
        os.close(file)


def _open_attended(folder: str) -> int:
    path = os.path.join(folder, "attended")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


def is_attended(folder: str) -> bool:
    """Whether a client watches the run through an agent that lives."""
    import fcntl

    try:
        file = os.open(os.path.join(folder, "attended"), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(file)
    return False
