"""What a keeper concludes about its server by itself, so that hooks need no client."""

import json
import os
import time

from firedup.host.agent.ask import ask_server
from firedup.host.agent.bell import Bell
from firedup.host.agent.scan import LogScan, Signs, find_in_tail
from firedup.host.agent.spawn import Helpers
from firedup.host.agent.still import Stillness
from firedup.host.agent.tell import note_trouble
from firedup.host.agent.vital import Vitals, tell_loss

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PER_S = 1000000000
_POLITE_SIGNALS = (1, 2, 15)  # sent by somebody who wanted the end
_EVENTS_TAIL = 1 << 20
_SURE = 2  # so many times the port must be seen in foreign hands; a sample may be a second old


class Judge:
    """Feed it the keeper's samples and the end. It does nothing where no hook wants to know."""

    def __init__(
        self, folder: str, manifest: "dict[str, Any]", log_start: int, helpers: Helpers
    ) -> None:
        self._folder = folder
        self._log, self._log_start = manifest["log"], log_start
        self._helpers = helpers
        self.bell = Bell(folder, manifest, helpers)
        self._recipe = (manifest.get("recipe") or {}) if self.bell.wants else {}
        self._scan = None  # type: LogScan | None
        self._still = None  # type: Stillness | None
        if self._recipe:
            self._scan = LogScan(self._log, log_start, self._read_signs("ready"))
            self._still = Stillness(self._recipe["limits"])
        vital = self._recipe.get("vital") if "crashed" in self.bell.wants else None
        self._vitals = Vitals(vital) if vital else None  # type: Vitals | None
        self._log_ready_ns = None  # type: int | None
        self._ready_ns = None  # type: int | None
        self._has_answered = self._has_token = self._is_over = self._is_asking = False
        self._foreign = 0
        self._was_stalled = False  # when a client stopped it
        self._ask_s = None  # type: float | None
        self._pause_s = 0.0

    def _read_signs(self, kind: str) -> Signs:
        """The recipe's patterns of a kind, those excepted that this host's Python cannot read."""
        signs = Signs(self._recipe.get(kind) or [])
        for words in signs.refused:
            note_trouble(self._folder, f"a {kind} pattern is passed over: {words}")
        return signs

    def take_sample(self, sample: "dict[str, Any]") -> None:
        """Looks at one sample and at what else is new."""
        if not self._recipe or self._is_over:
            return
        self._read_log(sample["log_size"], sample["at_ns"])
        was_ready = self._log_ready_ns is not None or self._ready_ns is not None
        if "stalled" in self.bell.wants and self._still is not None:
            self._still.feed(sample)
            if self._still.is_stalled(is_up=was_ready or self._has_answered):
                self.bell.ring("stalled", {"verdict": "stalled"})
        if self._vitals is not None:
            self._vitals.feed(sample)
            if was_ready:
                self._heed_loss(sample)
        if self._ready_ns is None and self.bell.wants & {"ready", "stalled"}:
            self._ask(sample)

    def _read_log(self, size: int, at_ns: int) -> None:
        is_known = self._log_ready_ns is not None or self._ready_ns is not None
        if is_known or self._scan is None:
            return
        if self._scan.look_to_end(size) if self._is_over else self._scan.look(size):
            self._log_ready_ns = at_ns
            self._ask_s = None

    # ---- ready -------------------------------------------------------------------------------

    def _ask(self, sample: "dict[str, Any]") -> None:
        port = self._recipe["port"]
        if port is None:  # a server that has no port to ask is believed
            if self._log_ready_ns is not None:
                self._conclude_ready(sample["at_ns"])
            return
        is_open = port in sample["ports"]
        if self._is_asking or not (is_open or self._log_ready_ns is not None):
            return
        now_s = time.monotonic()
        if self._ask_s is None:
            self._ask_s = now_s + (self.bell.grace_s if self.bell.is_attended else 0.0)
        if now_s < self._ask_s:
            return
        recipe, folder = self._recipe, self._folder
        pids = [process["pid"] for process in sample["processes"]]
        try:
            self._helpers.start(
                lambda: ask_server(recipe, folder, pids, is_port_own=is_open),
                lambda answers: self._take_answers(answers or {}, sample["at_ns"]),
                limit_s=int(3 * recipe["token_s"]) + 30,
            )
        except OSError:  # no more processes for now; the next sample asks again
            return
        self._is_asking = True

    def _take_answers(self, answers: "dict[str, Any]", at_ns: int) -> None:
        self._is_asking = False
        if self._is_over or self._ready_ns is not None:
            return
        owner, token = answers.get("owner"), answers.get("token")
        self._has_answered = self._has_answered or answers.get("health") == 200
        self._has_token = token["answered"] if token else self._has_token
        has_said = self._log_ready_ns is not None
        is_sure = owner == "yes" or has_said or self._recipe["hides_ready_line"]
        if self._has_token and owner in ("yes", "unknown") and is_sure:
            self._conclude_ready(answers.get("at_ns") or at_ns)
            return
        if token and token["is_late"]:
            self.bell.ring("stalled", {"verdict": "stalled"})
        self._foreign = self._foreign + 1 if owner == "no" else 0
        if self._foreign >= _SURE and has_said:
            cause = self._recipe["causes"].get("port")
            self.bell.ring("crashed", {"verdict": "crashed", "cause": cause})
        first_s, last_s = self._recipe["token_pauses_s" if token else "health_pauses_s"]
        self._pause_s = min(last_s, max(first_s, self._pause_s * 1.5))
        if self.bell.is_attended:
            self._pause_s = max(self._pause_s, self.bell.grace_s)
        self._ask_s = time.monotonic() + self._pause_s

    def _conclude_ready(self, at_ns: int) -> None:
        self._ready_ns = at_ns
        self.bell.ring("ready", {"verdict": "ready", "stage": "ready"})

    # ---- an engine that dies behind its server ------------------------------------------------

    def _heed_loss(self, sample: "dict[str, Any]") -> None:
        """Asks for a token once a part of the server is gone: what generates goes on to serve."""
        loss = self._vitals.find_loss(sample["at_ns"]) if self._vitals is not None else None
        if loss is None or self._is_asking:
            return
        recipe, folder = self._recipe, self._folder
        if _read_stop(folder) or find_in_tail(self._log, self._log_start, self._read_signs("stop")):
            self._vitals = None  # it is being ended
            return
        if recipe["port"] is None or not recipe["generates"]:
            self._conclude_loss(loss, None)
            return
        pids = [process["pid"] for process in sample["processes"]]
        is_open = recipe["port"] in sample["ports"]
        try:
            self._helpers.start(
                lambda: ask_server(recipe, folder, pids, is_port_own=is_open),
                lambda answers: self._conclude_loss(loss, (answers or {}).get("token")),
                limit_s=int(3 * recipe["token_s"]) + 30,
            )
        except OSError:  # no more processes for now; the next sample asks again
            return
        self._is_asking = True

    def _conclude_loss(
        self, loss: "tuple[int, dict[str, Any], int]", token: "dict[str, Any] | None"
    ) -> None:
        self._is_asking = False
        if self._is_over or self._vitals is None:
            return
        if token and token["answered"]:
            self._vitals.forgive()
            return
        gone_ns, process, status = loss
        causes, number = self._recipe["causes"], status & 0x7F
        began = [at_ns for at_ns in (self._log_ready_ns, self._ready_ns) if at_ns is not None]
        facts = {
            "verdict": "crashed",
            "stage": "serving",
            "cause": causes.get(str(number)) if number else causes.get("vital"),
            "cause_line": tell_loss(process, status),
            "served_s": round(max(0.0, (gone_ns - min(began)) / _PER_S), 1) if began else None,
        }
        self.bell.ring("crashed", facts)
        self._vitals = None

    # ---- the end -----------------------------------------------------------------------------

    def take_end(self, end: "dict[str, Any]") -> None:
        """The server has ended: `end` is the content of exit.json."""
        if not self.bell.wants:
            return
        self._is_over = True
        self._read_log(end["log_size"], end["at_ns"])
        times = [at_ns for at_ns in (self._log_ready_ns, self._ready_ns) if at_ns is not None]
        served_s = max(0.0, (end["at_ns"] - min(times)) / _PER_S) if times else None
        is_crash = self._is_crash(end, was_ready=bool(times))
        facts = {
            "verdict": "crashed" if is_crash else "stalled" if self._was_stalled else "stopped",
            "cause": self._cause_of(end) if is_crash else None,
            "exit_code": end["code"],
            "exit_signal": end["signal"],
            "served_s": None if served_s is None else round(served_s, 1),
            "wall_ns": end["wall_ns"],
        }
        if is_crash:
            self.bell.ring("crashed", facts)
        self.bell.ring("exited", facts)

    def _is_crash(self, end: "dict[str, Any]", *, was_ready: bool) -> bool:
        """As firedup's core judges an end of which the log tells no cause."""
        asked = _read_stop(self._folder)
        if asked is not None:
            self._was_stalled = bool(asked.get("stall"))
            return False
        if end["signal"] in _POLITE_SIGNALS:
            return False
        if not find_in_tail(self._log, self._log_start, self._read_signs("stop")):
            return True
        return bool(end["code"]) and not was_ready

    def _cause_of(self, end: "dict[str, Any]") -> "str | None":
        causes = self._recipe.get("causes", {})
        name = "oom" if end["signal"] == 9 and end["oom_killed"] else str(end["signal"])
        found = causes.get(name)
        return None if found is None else str(found)


def _read_stop(folder: str) -> "dict[str, Any] | None":
    """The wish for the end that a client recorded before it; with `stall` where that is why."""
    try:
        with open(os.path.join(folder, "events.jsonl"), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _EVENTS_TAIL))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    for line in lines:
        if b'"stop-asked"' in line:
            try:
                value = json.loads(line.decode("utf-8"))  # type: dict[str, Any]
                if value["event"] == "stop-asked":
                    return value
            except (ValueError, LookupError, TypeError):
                continue
    return None
