"""Tells of one event: runs the commands of --on, posts to the addresses of --notify."""

import json
import os
import signal
import time

from firedup.host.agent.begin import forget_signals, to_bytes
from firedup.host.agent.hook import claim_path, hook_commands
from firedup.host.agent.run import read_json
from firedup.host.agent.system import load_libc, wall_ns, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SUBREAPER = 36  # prctl
_POST_LIMIT_S = 10
_WORTH_TRYING = (408, 425, 429)  # and everything from 500 on


def tell(folder: str, event: str) -> None:
    """Does all of it and waits for the end of everything; failures go to hooks.log."""
    manifest = read_json(os.path.join(folder, "manifest.json"))
    told = read_json(claim_path(folder, event))
    if manifest is None or told is None:
        return
    forget_signals()
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a peer that hangs up is an error like others
    load_libc().prctl(_SUBREAPER, 1, 0, 0, 0)  # what commands leave behind is not the server's
    log = _open_notes(folder)
    running = {}  # type: dict[int, str]
    for number, command in enumerate(hook_commands(manifest, event), 1):
        pid = _run(command, manifest["cwd"], hook_environment(told), log)
        running[pid] = f"command {number} of --on {event}"
    pauses_s = list((manifest.get("recipe") or {}).get("post_pauses_s") or ())
    for address in manifest.get("notify") or ():
        pid = os.fork()
        if pid == 0:
            _post_and_leave(address, told, log, pauses_s)
        running[pid] = ""
    while True:
        try:
            pid, status = os.wait()
        except ChildProcessError:
            return
        what = running.pop(pid, "")
        if what and status:
            _note(log, f"{what} {_how_ended(status)}")


def note_trouble(folder: str, text: str) -> None:
    """One line in hooks.log of a run."""
    try:
        log = _open_notes(folder)
    except OSError:  # a full disk, or the folder is gone
        return
    _note(log, text)
    os.close(log)


def _open_notes(folder: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
    return os.open(os.path.join(folder, "hooks.log"), flags, 0o600)


def hook_environment(told: "dict[str, Any]") -> "dict[str, str]":
    """The variables of a command: those of this process, and what is told as FIREDUP_NAME."""
    cause, end = told["cause"] or {}, told["exit"] or {}
    facts = {
        "EVENT": told["event"],
        "RUN_ID": told["run"]["id"],
        "NAME": told["run"]["name"],
        "HOST": told["run"]["host"],
        "TIME": told["time"],
        "CAUSE": cause.get("class"),
        "CAUSE_LINE": cause.get("line"),
        "EXIT_CODE": end.get("code"),
        "EXIT_SIGNAL": end.get("signal"),
    }
    for name in ("verdict", "stage", "engine", "model", "port", "log", "served_s"):
        facts[name.upper()] = told[name]
    env = {name: text for name, text in os.environ.items() if name != "FIREDUP_RUN"}
    for name, value in facts.items():
        env["FIREDUP_" + name] = "" if value is None else str(value).replace("\0", "")
    return env


def _run(command: str, cwd: str, env: "dict[str, str]", log: int) -> int:
    """Starts a command with a shell in a session of its own; its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        forget_signals()
        null = os.open(os.devnull, os.O_RDONLY)
        for place, file in enumerate((null, log, log)):
            os.dup2(file, place)
        os.chdir(to_bytes(cwd))
        raw = {to_bytes(name): to_bytes(value) for name, value in env.items()}
        os.execve("/bin/sh", [b"/bin/sh", b"-c", to_bytes(command)], raw)  # noqa: S606 - it is a shell
    except BaseException as error:  # noqa: BLE001 - the parent's code must not run twice
        _note(log, f"a command could not be run: {error}")
    os._exit(126)


def _how_ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return f"was ended by signal {os.WTERMSIG(status)}"
    return f"ended with status {os.WEXITSTATUS(status)}"


def _note(log: int, text: str) -> None:
    """One line in hooks.log, with the time."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(wall_ns() // 10**9))
    try:
        write_all(log, f"{stamp} firedup: {text}\n".encode("utf-8", "replace"))
    except OSError:
        pass


def _post_and_leave(
    address: str, told: "dict[str, Any]", log: int, pauses_s: "list[float]"
) -> None:
    """In a child: one try more than there are pauses. Never returns."""
    tries = len(pauses_s) + 1
    where = "--notify"
    try:
        where = f"--notify {_name_place(address)} of {told['event']}"
        body = json.dumps(told).encode("ascii")
        for number in range(1, tries + 1):
            trouble, is_final = _try_post(address, body)
            if trouble is None:
                break
            _note(log, f"{where}: {trouble} (try {number} of {tries})")
            if is_final or number == tries:
                break
            time.sleep(pauses_s[number - 1])
    except BaseException as error:  # noqa: BLE001 - the parent's code must not run twice
        _note(log, f"{where}: {error}")
    os._exit(0)


def _name_place(address: str) -> str:
    """Scheme and host: the rest of an address often is a secret."""
    import urllib.parse

    parts = urllib.parse.urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _try_post(address: str, body: bytes) -> "tuple[str | None, bool]":
    """What went wrong, None when nothing did, and whether another try is of no use."""
    import http.client
    import urllib.error
    import urllib.parse
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        """Goes nowhere else than it was told."""

        def redirect_request(self, *_: "Any", **__: "Any") -> None:
            return None

    parts = urllib.parse.urlsplit(address)
    user, _, place = parts.netloc.rpartition("@")
    headers = {"Content-Type": "application/json", "User-Agent": "firedup"}
    if user:
        import base64

        word = urllib.parse.unquote_to_bytes(user)
        headers["Authorization"] = "Basic " + base64.b64encode(word).decode("ascii")
    url = urllib.parse.urlunsplit((parts.scheme, place, parts.path or "/", parts.query, ""))
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310 - checked
    signal.signal(signal.SIGALRM, _give_up)
    signal.alarm(_POST_LIMIT_S)
    try:
        with urllib.request.build_opener(Stay).open(request, timeout=_POST_LIMIT_S):
            return None, True
    except urllib.error.HTTPError as error:
        is_final = error.code < 500 and error.code not in _WORTH_TRYING
        return f"answered {error.code}", is_final
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError) or type(reason).__name__ == "timeout":
            return f"no answer within {_POST_LIMIT_S} s", False
        return str(reason) or type(reason).__name__, False
    finally:
        signal.alarm(0)


def _give_up(*_: "Any") -> None:
    raise TimeoutError
