"""Runs on this host: what their folders say, and the end of one of them."""

import json
import os
import time

from firedup.host.agent.act import Departure
from firedup.host.agent.inotify import FOLDER_NOTICES, Inotify
from firedup.host.agent.proc import is_alive
from firedup.host.agent.stream import Stream
from firedup.host.agent.system import AgentError, boot_id, boottime_ns, runs_folder, wall_ns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOOK_S = 2.0  # beside the kernel's notices, which some file systems do not give
_PATIENCE_S = 5.0  # how long a keeper may take to write the exit of a server that is gone


def read_json(path: str) -> "dict[str, Any] | None":
    """A JSON object in a file, None where there is none (yet) or it is damaged."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read().decode("utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def read_keeper(folder: str) -> "dict[str, Any] | None":
    """Who keeps a run, and its server; None where that is not (yet) to be read."""
    keeper = read_json(os.path.join(folder, "keeper.json"))
    server = keeper.get("server") if keeper is not None else None
    if keeper is None or not isinstance(server, dict):
        return None
    numbers = [who.get(name) for who in (keeper, server) for name in ("pid", "start_ticks")]
    return keeper if all(isinstance(number, int) for number in numbers) else None


def read_exit(folder: str) -> "dict[str, Any] | None":
    """How a run's server ended; None where that is not (yet) to be read."""
    value = read_json(os.path.join(folder, "exit.json"))
    survivors = value.get("survivors") if value is not None else None
    if value is None or not isinstance(survivors, list):
        return None
    numbers = [value.get(name) for name in ("at_ns", "wall_ns", "pid")] + survivors
    numbers += [value[name] for name in ("code", "signal") if value.get(name) is not None]
    return value if all(isinstance(number, int) for number in numbers) else None


def describe_run(folder: str) -> "dict[str, Any]":
    """Manifest, keeper and exit of a run, and whether server and keeper live."""
    keeper = read_keeper(folder)
    is_this_boot = keeper is not None and keeper.get("boot_id") == boot_id()
    lives = {"server": False, "keeper": False}
    if keeper is not None and is_this_boot:
        server = keeper["server"]
        lives["keeper"] = is_alive(keeper["pid"], keeper["start_ticks"])
        lives["server"] = is_alive(server["pid"], server["start_ticks"])
    return {
        "id": os.path.basename(folder),
        "folder": folder,
        "manifest": read_json(os.path.join(folder, "manifest.json")),
        "keeper": keeper,
        "exit": read_exit(folder),
        "is_server_alive": lives["server"],
        "is_keeper_alive": lives["keeper"],
    }


def find_run(name: str) -> str:
    """The folder of a run given by its id or by its path."""
    folder = name if os.sep in name else os.path.join(runs_folder(), name)
    if not os.path.isdir(folder):
        raise AgentError("not-found", f"there is no run {name}", folder)
    return folder


class Runs(Stream):
    """runs {ids?}: one EVENT for each run on this host, oldest first."""

    silence = "end"

    def open(self) -> None:
        """Lists the run folders."""
        root = runs_folder()
        names = self.args.get("ids")
        if names is None:
            names = sorted(os.listdir(root)) if os.path.isdir(root) else []
        self.folders = [os.path.join(root, name) for name in reversed(names)]

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """The next run."""
        while self.folders:
            folder = self.folders.pop()
            if os.path.isfile(os.path.join(folder, "manifest.json")):
                return self.event(describe_run(folder))
        return self.end({})


class WatchRun(Stream):
    """watch_run {run}: the end of a run's server, in events.

    EVENTs: {type: "keeper-gone", at_ns} when the keeper died while the server lives;
    {type: "exited", …} with the content of exit.json, or with code and signal null and `error`
    saying why when nobody saw the end. Then the stream ends.
    """

    def open(self) -> None:
        """Finds keeper and server and watches both and the folder."""
        self.folder = find_run(self.args["run"])
        self.departures = []  # type: list[Departure]
        self.has_told_keeper = False
        self.has_exited = False
        self.gone_at = None  # type: float | None
        self.inotify = Inotify()
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        if self.inotify.file >= 0:
            self.loop.watch(self.inotify.file, self._on_notice)
            self.inotify.arm({self.folder: FOLDER_NOTICES})
        self.keeper = read_keeper(self.folder)
        if self.keeper is not None and self.keeper.get("boot_id") == boot_id():
            for who in (self.keeper, self.keeper["server"]):
                self.departures.append(
                    Departure(self.loop, who["pid"], who["start_ticks"], self.on_due)
                )

    def close(self) -> None:
        """Stops watching."""
        if self.inotify.file >= 0:
            self.loop.unwatch(self.inotify.file)
        self.inotify.close()
        for departure in self.departures:
            departure.close()

    def _on_notice(self) -> None:
        self.inotify.take()
        self.is_ready = True

    def produce(self, room: int) -> "tuple[int, bytes] | None":
        """What has happened, if anything."""
        if self.has_exited:
            return self.end({})
        run = describe_run(self.folder)
        if run["exit"] is not None:
            self.has_exited = True
            return self.event(dict(run["exit"], type="exited"))
        self.due = time.monotonic() + _LOOK_S
        if self.keeper is None:
            self.keeper = run["keeper"]
            if self.keeper is None:
                return None
            self.close()
            self.open()  # the keeper has just begun: watch it
        if not run["is_server_alive"]:
            return self._end_unseen(run)
        if not run["is_keeper_alive"] and not self.has_told_keeper:
            self.has_told_keeper = True
            return self.event({"type": "keeper-gone", "at_ns": boottime_ns()})
        return None

    def _end_unseen(self, run: "dict[str, Any]") -> "tuple[int, bytes] | None":
        if self.gone_at is None:
            self.gone_at = time.monotonic()
        is_this_boot = run["keeper"].get("boot_id") == boot_id()
        has_hope = run["is_keeper_alive"] and time.monotonic() - self.gone_at < _PATIENCE_S
        if has_hope:
            self.due = time.monotonic() + 0.1
            return None
        if read_exit(self.folder) is not None:
            return self.produce(0)  # written between the two looks
        self.has_exited = True
        why = "the keeper is gone, so that nobody saw how the server ended"
        if not is_this_boot:
            why = "the host was started again"
        return self.event(
            {
                "type": "exited",
                "at_ns": boottime_ns(),
                "wall_ns": wall_ns(),
                "pid": run["keeper"]["server"]["pid"],
                "start_ticks": run["keeper"]["server"]["start_ticks"],
                "code": None,
                "signal": None,
                "oom_killed": None,
                "survivors": [],
                "error": why,
            }
        )
