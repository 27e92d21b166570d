"""What a watch knows of its link: whether it is down, and which host time may be judged by."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from firedup.core.error import HostError
from firedup.core.event import Ended, Event, Exited, LinkChanged, LogData, Noted
from firedup.core.link import LinkState
from firedup.core.verdict.ending import RESTARTED
from firedup.host.base import ANSWER_S, LinkError, SilenceError, Trouble
from firedup.host.file import Silence
from firedup.host.link import Agent
from firedup.session.arrival import Arrivals, load_arrivals
from firedup.session.clock import HostClock

_NS = 1_000_000_000
# What a request was told of a file is believed until it was asked once more, and a little longer.
BELIEF_S = 40.0


@dataclass(slots=True)
class _Break:
    """Since when the link is down (this machine's clock while awake), why, and when to try."""

    since_s: float
    trouble: str
    detail: str
    try_at_s: float | None


@dataclass(slots=True)
class _Quiet:
    """A file that does not answer: since when, and until when that is believed."""

    since_s: float
    until_s: float


class Contact:
    """The host's clock and the state of the link; `feed` hears of each change.

    While the link is down the host's time stands still at its last word: nothing is known of later.
    It stands still until `settle` says that what happened meanwhile has been read, so that old news
    is not judged by new time. `run_folder` is where a keeper's samples tell when bytes arrived,
    `server_pid` is that of a run's server.
    """

    def __init__(self, agent: Agent, clock: HostClock, feed: Callable[[Event], None]) -> None:
        self.agent = agent
        self.clock = clock
        self.run_folder: str | None = None
        self.server_pid: int | None = None
        self.is_behind = False
        self.has_restarted = False
        self._feed = feed
        self._boot_id = str(agent.hello["boot_id"])
        self._break: _Break | None = None
        self._quiet: dict[str, _Quiet] = {}  # by path
        self._held: tuple[int, int] | None = None
        self._arrivals: Arrivals | None = None

    @property
    def is_down(self) -> bool:
        """Whether there is no link."""
        return self._break is not None

    def now_ns(self) -> int:
        """The host's boottime to judge by."""
        return self._held[0] if self._held is not None else self.clock.boottime_ns()

    def wall_ns(self) -> int:
        """The host's wall clock, which goes on by this machine's reckoning: it only dates lines."""
        return self.clock.wall_ns()

    def link_down(self, error: HostError, pause_s: float | None) -> None:
        """The link broke, or a try to renew it failed."""
        now_s = time.monotonic()
        trouble = error.trouble if isinstance(error, LinkError) else Trouble.OTHER
        # A link that broke was silent before; an agent that died was there until then.
        silent_s = self.agent.silent_s if trouble is Trouble.LINK_DOWN else 0.0
        before = self._break
        self._quiet.clear()
        since_s = before.since_s if before is not None else now_s - silent_s
        try_at_s = None if pause_s is None else now_s + pause_s
        self._break = _Break(since_s, str(trouble), _first_line(error), try_at_s)
        if self._held is None:
            silent_ns = int(silent_s * _NS)
            clock = self.clock
            self._held = clock.boottime_ns() - silent_ns, clock.wall_ns() - silent_ns
        if before is None or before.trouble != trouble:
            detail, at_ns = self._break.detail, self.now_ns()
            self._feed(LinkChanged(at_ns, is_up=False, detail=detail, trouble=str(trouble)))

    async def link_up(self, agent: Agent) -> None:
        """The link is up again; the host's time stands still until `settle`."""
        since_ns = self.now_ns()
        clock = await HostClock.read(agent)
        has_restarted = str(agent.hello["boot_id"]) != self._boot_id
        if self.run_folder is not None and not has_restarted:
            now_ns = clock.boottime_ns()
            try:
                self._arrivals = await load_arrivals(agent, self.run_folder, since_ns, now_ns)
            except SilenceError as error:  # what came meanwhile is dated by when it is read
                self.file_silent(error)
        self.agent, self.clock = agent, clock
        self.has_restarted, self.is_behind, self._break = has_restarted, True, None
        self._feed(LinkChanged(since_ns if has_restarted else clock.boottime_ns(), is_up=True))

    def file_silent(self, error: SilenceError) -> None:
        """A request was not answered because of a file; it will be made again."""
        self._hush(error.path, ANSWER_S, BELIEF_S)

    def heed(self, silence: Silence) -> None:
        """A file does not answer, or does again; others of the same mount may not yet."""
        if not silence.is_over:
            self._hush(silence.path, silence.seconds, float("inf"))
        elif self._quiet.pop(silence.path, None) is not None:
            self._feed(Noted(self.now_ns(), str(silence)))

    def hears(self, path: str) -> None:
        """Something came of the file at `path`, which may have been silent."""
        quiet = self._quiet.get(path)
        if quiet is not None:
            seconds = time.monotonic() - quiet.since_s
            self.heed(Silence(self.agent.host.name, path, seconds, is_over=True))

    def _hush(self, path: str, seconds: float, belief_s: float) -> None:
        now_s = time.monotonic()
        self._quiet = {name: one for name, one in self._quiet.items() if one.until_s >= now_s}
        if path in self._quiet:
            self._quiet[path].until_s = now_s + belief_s
            return
        self._quiet[path] = _Quiet(now_s - seconds, now_s + belief_s)
        self._feed(Noted(self.now_ns(), str(Silence(self.agent.host.name, path, seconds))))

    def date(self, event: LogData) -> Iterable[LogData]:
        """Bytes that came while the link was down, as of when they came."""
        if self.has_restarted:
            return (replace(event, at_ns=self.now_ns()),)
        return (event,) if self._arrivals is None else self._arrivals.date(event)

    def stand_still(self, at_ns: int) -> None:
        """All that is told was before the host was started again: its time ended at `at_ns`."""
        self._held, self.has_restarted = (at_ns, self.clock.wall_ns()), True

    def tell_restart(self, identity: tuple[int, int] | None = None) -> Event:
        """The event with which the host's restart ends the server.

        `identity` is pid and start ticks of its process, when it is not a run's.
        """
        pid = self.server_pid or (identity[0] if identity is not None else None)
        if pid is None:
            return Ended(self.now_ns(), reason=RESTARTED, is_abandoned=True)
        return Exited(self.now_ns(), self.wall_ns(), pid, error=RESTARTED)

    def lost(self, why: str) -> Ended:
        """The event with which the host is given up."""
        return Ended(self.now_ns(), is_lost=True, reason=why)

    def settle(self) -> None:
        """What happened meanwhile has been read; after a restart the old time never goes on."""
        self.is_behind = False
        if not self.has_restarted:
            self._held = None

    def state(self) -> LinkState | None:
        """For a view; None while the link stands and all files answer."""
        if self._break is None:
            return self._quiet_state(time.monotonic())
        now_s, broken = time.monotonic(), self._break
        next_s = None if broken.try_at_s is None else max(0.0, broken.try_at_s - now_s)
        return LinkState(
            down_s=now_s - broken.since_s,
            trouble=broken.trouble,
            detail=broken.detail,
            next_try_s=next_s,
            as_of_ns=self._held[1] if self._held is not None else None,
        )

    def _quiet_state(self, now_s: float) -> LinkState | None:
        """Of the file that has been silent longest nothing is known; the host's time goes on."""
        believed = [
            (one.since_s, path) for path, one in self._quiet.items() if one.until_s >= now_s
        ]
        if not believed:
            return None
        since_s, path = min(believed)
        quiet_s = now_s - since_s
        detail = str(Silence(self.agent.host.name, path, quiet_s))
        return LinkState(quiet_s, str(Trouble.FILE_SILENT), detail)


def _first_line(error: HostError) -> str:
    """What was seen, in one line: the evidence's last line says it better than the headline."""
    lines = [line.strip() for line in (error.evidence or "").splitlines() if line.strip()]
    said = lines[-1].removeprefix("stderr: ") if lines else error.what
    return said[:200]
