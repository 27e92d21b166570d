"""Starts a container for a run and stands for it: its log, signals and end are the run's."""

import json
import os
import signal
import time

from firedup.host.agent.engine import Reason, ask_engine, drop
from firedup.host.agent.proc import read_stat
from firedup.host.agent.system import read_bytes, runs_folder, write_atomically

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_FIND_S = 0.1
_WRITE_AGAIN_S = 1.0  # between two tries on a disk that is full
_POUR_AGAIN_S = 0.5  # between two tries to go on with a log that broke off
_ENGINE_S = 10.0  # for the container engine's answer about an end
_SIGNALS_IN = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
_TO_PIPE, _TO_NULL = -1, -3  # as subprocess calls them, which is imported late
_FOUND_S = 60.0  # for the container engine's answer which containers there are
_GOING_ON = ("running", "paused", "restarting")


class Carrier:
    """One container of a run; it is the process that the keeper takes for the server.

    `client` are the words that run the container engine's client. container.json in the run folder
    says which container it is and, in the end, how it ended.
    """

    def __init__(self, folder: str, what: "dict[str, Any]", env: "dict[bytes, bytes]") -> None:
        import threading

        self.folder = folder
        self.what = what
        self.env = env
        self.client = list(what["client"])
        self.cidfile = what.get("cidfile") or os.path.join(folder, "container.id")
        self.id = ""
        self.facts = {}  # type: dict[str, Any]
        self.process = None  # type: Any  # a subprocess.Popen
        self.lock = threading.Lock()
        self.is_found = threading.Event()  # or is known not to be there
        self.reason = Reason(self.client, env)

    def run(self, commands: "list[list[str]]", report: int) -> int:
        """Runs the user's command (the first of `commands` that exists); the exit status.

        OSError when none can be executed; else `report` is closed.
        """
        self._clear_name()
        for number, argv in enumerate(commands, 1):
            try:
                self.process = self._start(argv)
                break
            except (FileNotFoundError, NotADirectoryError):
                if number == len(commands):
                    raise
        os.close(report)
        for name in _SIGNALS_IN:
            signal.signal(getattr(signal, name), self._pass_on)
        import threading

        threading.Thread(target=self._find_and_note, daemon=True).start()
        status = self.process.wait()
        self.is_found.wait(_FOUND_S)
        return self._finish(status)

    def _start(self, argv: "list[str]", **how: "Any") -> "Any":
        import subprocess

        raw = [word.encode("utf-8", "surrogateescape") for word in argv]
        return subprocess.Popen(raw, env=self.env, stdin=subprocess.DEVNULL, **how)

    def _ask(self, *words: str) -> "tuple[int, str]":
        """(exit status, what it printed) of a short command of the client."""
        return ask_engine(self.client, list(words), self.env)

    # ---- which container ---------------------------------------------------------------------

    def _clear_name(self) -> None:
        """Removes the stopped container of an earlier run that has the name of this one."""
        name = self.what.get("name")
        if not name:
            return
        form = '{{json .State.Status}} {{json (index .Config.Labels "firedup.run")}}'
        status, out = self._ask("container", "inspect", "--format", form, "--", name)
        state, _, label = out.partition(" ")
        if status == 0 and state.strip('"') in ("exited", "dead") and label not in ("null", '""'):
            self._ask("rm", "--", name)

    def _find_and_note(self) -> None:
        """In a thread: waits until the container is there and notes what and where it is."""
        try:
            state = self._find()
            is_noted = state is None or self._note(state)
        finally:
            self.is_found.set()
        while not is_noted:
            time.sleep(_WRITE_AGAIN_S)
            is_noted = self._write()

    def _find(self) -> "dict[str, Any] | None":
        """The state of the container once it is there, None when it will not be."""
        while not self.id:
            has_ended = self.process.poll() is not None
            self.id = self._read_id()
            if self.id or has_ended:
                self._make_private()
                break
            time.sleep(_FIND_S)
        while self.id:
            state = self._inspect()
            if state is None or state["Status"] not in ("created", "configured", "initialized"):
                return state
            status = self.process.poll()
            if status or (status == 0 and not self.what["is_detached"]):
                return None  # it could not be started
            time.sleep(_FIND_S)
        return None

    def _make_private(self) -> None:
        """The client writes its file as readable as the user's mask lets it."""
        if self.what["verb"] == "run" and not self.what.get("cidfile"):
            try:
                os.chmod(self.cidfile, 0o600)
            except OSError:  # there is none, or it is the superuser's
                pass

    def _read_id(self) -> str:
        if self.what["verb"] == "run":
            return (read_bytes(self.cidfile) or b"").decode("ascii", "replace").strip()
        if self.process.poll() is None:
            return ""  # all of them are there once `up --detach` has ended
        _, out = self._ask(*self.what["compose"], "ps", "--all", "--quiet", *self.what["services"])
        return self._choose(out.split())

    def _choose(self, ids: "list[str]") -> str:
        """Of several containers the one whose command or image names an engine, else the first."""
        form = "{{json .Path}} {{json .Args}} {{json .Config.Image}}"
        told = [self._ask("container", "inspect", "--format", form, "--", one)[1] for one in ids]
        for hint in self.what["hints"]:
            for one, words in zip(ids, told):
                if hint in words:
                    return one
        return ids[0] if ids else ""

    def _inspect(self) -> "dict[str, Any] | None":
        """The container's state as the engine tells it; None when it is not there (any more)."""
        status, out = self._ask(
            "container", "inspect", "--format", "{{json .State}}", "--", self.id
        )
        try:
            return dict(json.loads(out)) if status == 0 else None
        except ValueError:
            return None

    def _note(self, state: "dict[str, Any]") -> bool:
        """Writes container.json; a process that this host does not show is left out."""
        pid = int(state.get("Pid") or 0)
        stat = read_stat(pid) if pid else None
        with self.lock:
            self.facts.update(
                {
                    "schema": 1,
                    "id": self.id,
                    "client": self.client,
                    "pid": pid if stat is not None else None,
                    "start_ticks": stat.ticks if stat is not None else None,
                    "started": state.get("StartedAt"),
                }
            )
        return self._write()

    def _write(self) -> bool:
        """False when it cannot be written now; without it the keeper has the exit status alone."""
        with self.lock:
            text = json.dumps(self.facts).encode("ascii")
            try:
                write_atomically(os.path.join(self.folder, "container.json"), text)
            except OSError:
                return False
        return True

    # ---- its life ----------------------------------------------------------------------------

    def _pass_on(self, number: int, _frame: "Any") -> None:
        """The container gets the signals that this process gets."""
        name = signal.Signals(number).name
        if self.id:
            self._start(
                [*self.client, "kill", "--signal", name, "--", self.id],
                stdout=_TO_NULL,
                stderr=_TO_NULL,
            )
        elif self.process.poll() is None:
            self.process.send_signal(number)

    def _finish(self, status: int) -> int:
        """After the user's command has ended: stays until its container has, too."""
        code = 128 - status if status < 0 else status
        is_detached = self.what["verb"] == "up" or self.what["is_detached"]
        if not self.id or (is_detached and status != 0):
            return self._end(code, None)
        state = self._inspect()
        if not is_detached and (state is None or state["Status"] not in _GOING_ON):
            return self._end(code if state is None else state["ExitCode"], state)
        waiter = self._start(
            [*self.client, "wait", "--", self.id], stdout=_TO_PIPE, stderr=_TO_NULL
        )
        since = None if is_detached else _write_now()  # an attached client has been cut off
        while True:
            self._follow(since)
            since = _write_now()
            state = self._inspect()
            if state is None or state["Status"] not in _GOING_ON:
                break
            self._note(state)
            time.sleep(_POUR_AGAIN_S)
        if state is not None:
            drop(waiter)
            return self._end(state["ExitCode"], state)
        return self._end(_read_status(waiter), None)

    def _follow(self, since: "str | None") -> None:
        """Copies the container's log into the run's until the container engine ends that."""
        begin = ["--since", since] if since else []
        self._start([*self.client, "logs", "--follow", *begin, "--", self.id]).wait()

    def _end(self, code: int, state: "dict[str, Any] | None") -> int:
        """`state` is None when the container is not there any more, or never was."""
        number = code - 128 if 128 < code <= 192 else None
        was_there = state is not None or bool(self.id)
        reason = self.reason.was_memory(state, self.facts, _write_now()) if was_there else None
        with self.lock:
            self.facts["end"] = {
                "code": code if number is None else None,
                "signal": number,
                "oom_killed": reason,
            }
        self._write()
        return code & 255


def _read_status(waiter: "Any") -> int:
    """What `wait` printed about a container that is not there any more; 255 for nothing."""
    import subprocess

    try:
        out, _ = waiter.communicate(timeout=_ENGINE_S)
    except subprocess.TimeoutExpired:
        drop(waiter)
        return 255
    word = out.decode("ascii", "replace").strip()
    return int(word) if word.isdigit() else 255


def _write_now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1e9):09}Z"


def carry(
    manifest: "dict[str, Any]",
    commands_of: "Callable[[dict[str, Any]], list[list[str]]]",
    env: "dict[bytes, bytes]",
    report: int,
) -> None:
    """In the keeper's child: be the container's carrier to its end. OSError if it cannot begin.

    `commands_of` makes of a manifest what runs its argv.
    """
    os.closerange(3, report)  # what exec would close: the keeper's own report and its pipes
    os.closerange(report + 1, 1024)
    what, argv = manifest["container"], list(manifest["argv"])
    folder = os.path.join(runs_folder(), manifest["id"])
    carrier = Carrier(folder, what, env)
    added = ["--detach"]
    if what["verb"] == "run":
        added = ["--label", "firedup.run=" + manifest["id"]]
        if not what.get("cidfile"):
            added += ["--cidfile", carrier.cidfile]
    elif what["is_detached"]:
        added = []
    argv[what["at"] : what["at"]] = added
    try:
        status = carrier.run(commands_of(dict(manifest, argv=argv)), report)
    except BaseException:
        if carrier.process is None:
            raise  # `report` is still open, and the caller tells
        import traceback

        traceback.print_exc()
        status = 70
    os._exit(status)
