"""The keeper: starts a server, stays beside it without any client, and records its end."""

import errno
import json
import os
import signal
import time

from firedup.host.agent.act import take_sample
from firedup.host.agent.around import Around
from firedup.host.agent.begin import become_server
from firedup.host.agent.carried import Carried
from firedup.host.agent.file import make_folder
from firedup.host.agent.judge import Judge
from firedup.host.agent.kernel import KernelLog
from firedup.host.agent.logfile import LogMarks, open_log
from firedup.host.agent.memory import Group, host_oom_kills
from firedup.host.agent.port import Ports
from firedup.host.agent.proc import Tree, list_children, read_stat
from firedup.host.agent.record import Record
from firedup.host.agent.spawn import Helpers
from firedup.host.agent.system import (
    boot_id,
    boottime_ns,
    load_libc,
    wall_ns,
    write_all,
)
from firedup.host.agent.variables import VariableError, read_variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SET_NAME, _SET_SUBREAPER = 15, 36  # prctl
_EVERY_S = 1.0
_GRACE_S = 0.3  # how long helpers may outlive the server before they count as survivors
_HEEDED = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class Keeper:
    """One server's keeper. Only SIGKILL ends it before its server has ended."""

    def __init__(self, folder: str, report: int) -> None:
        self.folder = folder
        self.report = report
        with open(os.path.join(folder, "manifest.json"), "rb") as file:
            self.manifest = json.loads(file.read().decode("utf-8"))
        self.log = self.manifest["log"]
        self.marks = LogMarks(self.log)
        self.carried = Carried(folder, self.manifest)
        self.pid = 0
        self.status = None  # type: int | None
        self.ended = (0, 0)
        self.has_children = True
        self.record = Record(folder)
        self.helpers = Helpers()

    def run(self) -> None:
        """Launch, keep, record."""
        failure = self._launch()
        if failure is not None:
            self._write_exit([], failure)
            self._tell({"error": failure["error"], "evidence": failure["evidence"]})
            while not self.record.is_settled():
                time.sleep(_EVERY_S)
            return
        self._keep()

    # ---- launch ------------------------------------------------------------------------------

    def _launch(self) -> "dict[str, Any] | None":
        """None when the server's program runs, else what went wrong."""
        self.kernel = KernelLog()
        self.members = []  # type: list[dict[str, Any]]  # the processes of the newest sample
        self.group = Group()
        self.kills = (self.group.oom_kills(), host_oom_kills())
        try:
            paths = self.manifest.get("env_files") or ()
            variables = [pair for path in paths for pair in read_variables(path)]
        except VariableError as error:
            return {"error": error.what, "evidence": error.evidence or error.why, "code": 126}
        try:
            make_folder(os.path.dirname(self.log))
            log = open_log(self.log)
        except OSError as error:
            return self._failure(f"the log {self.log} cannot be opened", error)
        self.log_start = os.fstat(log).st_size
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            become_server(self.manifest, variables, log, write)
        os.close(write)
        os.close(log)
        words = b""
        while True:
            piece = os.read(read, 4096)
            if not piece:
                break
            words += piece
        os.close(read)
        stat = read_stat(self.pid)
        self.start_ticks = stat.ticks if stat is not None else 0
        if words:
            self._collect(is_patient=True)
            number, _, what = words.decode("utf-8", "replace").partition(" ")
            return self._failure(what, OSError(int(number), os.strerror(int(number))))
        try:
            self._write_keeper()
        except OSError as error:  # without it nobody would find the server again
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            return dict(self._failure("keeper.json cannot be written", error), code=126)
        return None

    def _failure(self, what: str, error: OSError) -> "dict[str, Any]":
        missing = error.errno == errno.ENOENT
        return {
            "error": f"{what}: {error.strerror}",
            "evidence": errno.errorcode.get(error.errno or 0),
            "code": 127 if missing else 126,
        }

    def _write_keeper(self) -> None:
        own, server = read_stat(os.getpid()), read_stat(self.pid)
        value = {
            "schema": 1,
            "pid": os.getpid(),
            "start_ticks": own.ticks if own is not None else 0,
            "boot_id": boot_id(),
            "log_start": self.log_start,
            "server": {
                "pid": self.pid,
                "start_ticks": self.start_ticks,
                "pgid": server.group if server is not None else self.pid,
                "sid": server.session if server is not None else self.pid,
            },
        }
        self.record.write("keeper.json", value)
        self._tell(
            {
                "keeper": {"pid": value["pid"], "start_ticks": value["start_ticks"]},
                "server": value["server"],
                "log": self.log,
                "log_start": self.log_start,
            }
        )

    def _tell(self, value: "dict[str, Any]") -> None:
        """The one report to whoever asked for the launch; it may be gone by now."""
        try:
            write_all(self.report, json.dumps(value).encode("ascii") + b"\n")
        except OSError:
            pass
        os.close(self.report)

    # ---- keep --------------------------------------------------------------------------------

    def _keep(self) -> None:
        self.tree = Tree(self.pid, self.start_ticks, os.getpid(), self.helpers.pids)
        self.ports = Ports(self.pid)
        self.judge = Judge(self.folder, self.manifest, self.log_start, self.helpers)
        self.around = Around([self.folder, os.path.dirname(self.log)])
        next_s = time.monotonic()
        while not self.record.is_settled() or self.has_children or self.judge.bell.is_waiting:
            if self.has_children:
                self._look()
            self.judge.bell.heed()
            next_s = max(next_s + _EVERY_S, time.monotonic())
            self._attend(next_s)

    def _look(self) -> None:
        sight = (self.tree, self.ports, self.group)
        if self.carried.is_meant:
            sight = self.carried.sight()
        try:
            sample = take_sample(*sight, self.marks, self.around)
        except OSError as error:  # such as no file left to open on this host
            self.record.complain(f"sample not taken: {error}")
            return
        before, self.members = self.members, sample["processes"]
        if {process["pid"] for process in before} - {process["pid"] for process in self.members}:
            said = self.kernel.look(before)
            if said:
                sample["kernel"] = said
        self.record.add_sample(sample)
        self.judge.take_sample(sample)

    def _attend(self, until_s: float) -> None:
        """Reaps children until the next sample is due, or until the last of them is gone."""
        is_alone = not self.has_children
        while self.has_children or is_alone:
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                return
            signal.sigtimedwait(_HEEDED, left_s)
            was_running = self.status is None
            self._collect()
            if was_running and self.status is not None:
                self._write_exit(self._await_survivors(), None)
            self.judge.bell.heed()

    def _collect(self, *, is_patient: bool = False) -> None:
        """Takes the status of every child that ended."""
        while True:
            try:
                pid, status = os.waitpid(-1, 0 if is_patient else os.WNOHANG)
            except ChildProcessError:
                self.has_children = False
                return
            if pid == 0:
                self.has_children = self.status is None or self._has_family()
                return
            if not self.helpers.take_end(pid) and pid == self.pid:
                self.status = status
                self.ended = (boottime_ns(), wall_ns())

    def _has_family(self) -> bool:
        """Whether any child is more than a helper of this keeper."""
        return not self.helpers.pids or bool(set(list_children(os.getpid())) - self.helpers.pids)

    def _await_survivors(self) -> "list[int]":
        until_s = time.monotonic() + _GRACE_S
        while self.has_children:
            living = self.tree.living()
            left_s = until_s - time.monotonic()
            if not living or left_s <= 0:
                return sorted(living)
            signal.sigtimedwait(_HEEDED, left_s)
            self._collect()
        return sorted(self.tree.living())

    # ---- the end -----------------------------------------------------------------------------

    def _write_exit(self, survivors: "list[int]", failure: "dict[str, Any] | None") -> None:
        if failure is not None:
            code, number = failure["code"], None  # type: int | None, int | None
            self.ended = (boottime_ns(), wall_ns())
        else:
            self.kernel.look(self.members)
            status = self.status or 0
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        ticks = [stat.ticks for stat in map(read_stat, survivors) if stat is not None]
        value = {
            "schema": 1,
            "boot_id": boot_id(),
            "pid": self.pid,
            "start_ticks": getattr(self, "start_ticks", 0),
            "code": code,
            "signal": number,
            "oom_killed": self._oom_killed() if failure is None else None,
            "survivors": survivors,
            "survivors_start_ticks": ticks,
            "at_ns": self.ended[0],
            "wall_ns": self.ended[1],
            "error": failure["error"] if failure is not None else None,
        }
        if self.kernel.lines:
            value["kernel"] = self.kernel.lines
        value.update(self.carried.read().get("end") or {})
        value.update(self.marks.look(self.pid))
        self.record.owe("exit.json", value)
        if failure is None:
            self.judge.take_end(value)

    def _oom_killed(self) -> "bool | None":
        """By the counters since the launch: the group's says yes, the whole host's can say no."""
        if self.kernel.tells_oom_kill():
            return True
        before, host_before = self.kills
        after, host_after = self.group.oom_kills(), host_oom_kills()
        if before is not None and after is not None:
            return after > before
        if host_before is not None and host_after == host_before:
            return False
        return None


def keep(folder: str, *, stays: bool = False) -> None:
    """Detaches from whoever started it and keeps the run in `folder`.

    With `stays` it does not detach: it is the task of a step, and lives as long as that.
    """
    report = os.dup(1)  # not inherited by the server
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    if not stays:
        if os.fork():
            os._exit(0)
        os.setsid()
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    os.dup2(os.open(os.path.join(folder, "keeper.log"), flags, 0o600), 2)
    libc = load_libc()
    libc.prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_SET_NAME, b"firedup-keeper", 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEEDED)
    Keeper(folder, report).run()
