"""The log of a systemd unit: its journal, and what systemd says about its process."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from firedup.core.error import UsageError
from firedup.host.base import OperationError
from firedup.host.link import Agent
from firedup.host.pour import is_missing, run_short
from firedup.host.stamp import Cursor, Decoder, Poured
from firedup.host.standing import Standing

_FIELDS = (
    "LoadState", "ActiveState", "SubState", "Result", "MainPID", "ExecMainPID", "ExecMainCode",
    "ExecMainStatus", "InvocationID",
)  # fmt: skip
_KILLED = ("2", "3")  # CLD_KILLED and CLD_DUMPED
_LENGTH = struct.Struct("<Q")
_LENGTH_LIMIT = 64 * 1024 * 1024


class JournalEntries:
    """`journalctl --output=export`: entries of fields, each message as a line of the log."""

    def __init__(self) -> None:
        self._rest = b""
        self._fields: dict[bytes, bytes] = {}

    def feed(self, data: bytes) -> list[Poured]:
        """The messages of the entries that are complete by now."""
        self._rest += data
        found = []
        start = 0
        while (end := self._rest.find(b"\n", start)) >= 0:
            line = self._rest[start:end]
            if not line:
                found += self._take_entry()
            elif b"=" in line:
                name, _, value = line.partition(b"=")
                self._fields[name] = value
            else:  # a value with line breaks in it: its length, then itself
                head = end + 1
                if len(self._rest) < head + _LENGTH.size:
                    break
                (size,) = _LENGTH.unpack_from(self._rest, head)
                after = head + _LENGTH.size + min(size, _LENGTH_LIMIT)
                if len(self._rest) <= after:
                    break
                self._fields[line] = self._rest[head + _LENGTH.size : after]
                end = after
            start = end + 1
        self._rest = self._rest[start:]
        return found

    def close(self) -> list[Poured]:
        """The last entry, whose end did not come."""
        return self._take_entry()

    def _take_entry(self) -> list[Poured]:
        fields, self._fields = self._fields, {}
        if b"MESSAGE" not in fields:
            return []
        stamp = fields.get(b"__REALTIME_TIMESTAMP", b"0")
        wall_ns = int(stamp) * 1000 if stamp.isdigit() else 0
        place = fields.get(b"__CURSOR", b"").decode("ascii", "replace") or None
        return [Poured(wall_ns, fields[b"MESSAGE"] + b"\n", place)]


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit `name`, of the system or (`is_user`) of the user who is logged in."""

    name: str
    is_user: bool = False

    waiter = None
    merges = False

    @property
    def word(self) -> str:
        """As a user writes it."""
        return f"journal:user/{self.name}" if self.is_user else f"journal:{self.name}"

    def argv(self, standing: Standing, cursor: Cursor, *, follows: bool) -> tuple[str, ...]:
        """What prints the journal of the unit's present start, from `cursor` on."""
        place = (f"--after-cursor={cursor.place}",) if cursor.place else ()
        fields = "--output-fields=MESSAGE"
        whom: tuple[str, ...] = (f"_SYSTEMD_INVOCATION_ID={standing.start}",)
        if not standing.start:  # a unit that never ran in this boot
            whom = (f"--user-unit={self.name}" if self.is_user else f"--unit={self.name}", "--boot")
        user = ("--user",) if self.is_user else ()
        follow = ("--follow", "--no-tail") if follows else ()
        options = (*follow, "--quiet", "--output=export", fields)
        return ("journalctl", *user, *options, *place, *whom)

    def decoder(self) -> Decoder:
        """For what `argv` prints."""
        return JournalEntries()

    async def look(self, agent: Agent) -> Standing:
        """What systemd says about the unit."""
        user = ("--user",) if self.is_user else ()
        fields = f"--property={','.join(_FIELDS)}"
        try:
            output = await run_short(agent, ("systemctl", *user, "show", fields, "--", self.name))
        except OperationError as error:
            if not is_missing(error):
                raise
            raise UsageError(f"there is no systemd on {agent.host.name}") from error
        if output.code != 0:
            raise UsageError(
                f"systemctl does not tell about {self.name}",
                where=agent.host.name,
                evidence=output.words or None,
            )
        pairs = (line.partition("=") for line in output.out.decode("utf-8", "replace").split("\n"))
        return read_unit(self.name, {name: value for name, _, value in pairs})


def read_unit(name: str, told: dict[str, str]) -> Standing:
    """What `systemctl show` told about a unit. UsageError when there is no such unit."""
    if told.get("LoadState") == "not-found" and not told.get("InvocationID"):
        raise UsageError(
            f"there is no unit {name}",
            todo="systemctl list-units --type=service lists them; those of a user are written "
            "journal:user/NAME.",
        )
    if told.get("ActiveState") == "inactive" and told.get("ExecMainPID", "0") in ("", "0"):
        raise UsageError(
            f"the unit {name} has not run since the host was started",
            todo=f"Start it (systemctl start {name}), or read what it said before: "
            f"journalctl --unit={name} --output=cat | firedup explain -",
        )
    state, pid = told.get("ActiveState", ""), told.get("MainPID", "0")
    is_running = pid.isdigit() and int(pid) > 0
    status = told.get("ExecMainStatus", "")
    number = int(status) if status.isdigit() else None
    is_killed = told.get("ExecMainCode") in _KILLED
    has_ended = not is_running and told.get("ExecMainPID", "0") not in ("", "0")
    return Standing(
        start=told.get("InvocationID", ""),
        is_running=is_running,
        is_waiting=not is_running and state in ("activating", "reloading"),
        words=f"{state} ({told.get('SubState', '')})",
        pid=int(pid) if is_running else None,
        code=number if has_ended and not is_killed else None,
        signal=number if has_ended and is_killed else None,
        oom_killed=told.get("Result") == "oom-kill" if has_ended else None,
        is_on_host=True,
    )
