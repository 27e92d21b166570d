"""Log bytes → what the log alone says: engine, stages, suspects, findings, gauges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from firedup.core.log.block import Blocks, Mark, Shape
from firedup.core.log.line import has_own_prefix
from firedup.core.log.sieve import Sieve
from firedup.core.model import Evidence, Finding, Line, Progress, Stage
from firedup.core.rule import Edge, Hit, Matcher, Role
from firedup.core.verdict.diagnosis import Aftermath, Diagnosis
from firedup.core.verdict.earlier import MAX_EARLIER, tell_earlier
from firedup.core.verdict.reading import Readings
from firedup.core.verdict.roster import Roster
from firedup.core.verdict.startup import Moment, Startup
from firedup.core.verdict.suspect import MAIN, Fatality, writer_of

# The finding by which an engine says itself that nothing moves.
NO_PROGRESS = "no-progress"
_ENTRY = (Stage.ARGS, Stage.DIST_INIT)
# Lines kept for the case that the engine turns out to be another one than it seemed.
MAX_JOURNAL = 20_000


@dataclass(frozen=True, slots=True)
class _Entry:
    line: Line
    mark: Mark
    hits: tuple[Hit, ...]
    at: Moment


class LogReader:
    """Feed it the bytes of one log generation after the other; read its parts at any time.

    `engine` fixes the engine (known from the command); None lets the log's own words decide.
    """

    def __init__(
        self,
        matcher: Matcher,
        engine: str | None,
        year: int,
        *,
        counts_lines: bool = True,
        start: tuple[int, int] = (0, 0),
    ) -> None:
        self._counts_lines = counts_lines
        self._matcher = matcher
        self._year = year
        self._fixed = engine
        self._votes: Counter[str] = Counter()
        self._identified: str | None = None
        self._journal: list[_Entry] = []
        self._last_stamp: int | None = None
        self._stop_asked_ns: int | None = None
        self._is_proven = False
        self._stamped: Line | None = None
        self.engine = engine
        self.version: str | None = None
        self.last_known: Line | None = None
        self._start_over()
        self.blocks = Blocks()
        self._new_log(start)

    def _new_log(self, start: tuple[int, int]) -> None:
        self.sieve = Sieve(
            self._matcher,
            lambda: self.blocks.is_open,
            self._year,
            counts_lines=self._counts_lines,
            start=start,
        )

    def _start_over(self) -> None:
        self.startup = Startup()
        self.diagnosis = Diagnosis(self._stop_asked_ns)
        self.readings = Readings()
        self._findings: dict[str, Finding] = {}
        self.earlier: list[Finding] = []  # what became of the starts before
        self._forget_moves()

    def _forget_moves(self) -> None:
        """A start begins of which no progress was seen yet."""
        self.roster = Roster()
        self.moved: Line | None = None  # the last line that moved a stage or a bar
        self.moved_stamped: Line | None = None  # the last one with a time stamp up to there
        self.stuck: Evidence | None = None  # the engine says that nothing moves, and nothing did

    def feed(self, data: bytes, at_ns: int | None) -> None:
        """Take the next bytes, which arrived at host time `at_ns` (None in `explain`)."""
        for line in self.sieve.feed(data):
            self._take(line, at_ns)

    def close(self, at_ns: int | None) -> None:
        """No more bytes will come (in this generation)."""
        for line in self.sieve.close():
            self._take(line, at_ns)
        for line in self.sieve.newest_gauges():
            for hit in self._relevant(self._matcher.match(line)):
                self.readings.feed(hit)

    def next_generation(self, at_ns: int | None) -> None:
        """The log was rotated or truncated: offsets start again, the story goes on.

        So does a traceback that the rotator cut.
        """
        self.close(at_ns)
        self._new_log((0, 0))
        self.readings.next_generation()

    def jump(self, offset: int, at_ns: int | None) -> None:
        """The next bytes stand at `offset`: those between were not to be had."""
        self.close(at_ns)
        self.blocks.break_off()
        self._new_log((offset, self.sieve.lines))

    def stop_asked(self, at_ns: int) -> None:
        """The operator asked for the end at host time `at_ns`; what breaks then is no crash."""
        self._stop_asked_ns = self.diagnosis.stop_asked_ns = at_ns

    def proved(self) -> None:
        """The server answered and generated: it is up, whatever it complained about before."""
        if not self._is_proven:
            self._is_proven = True
            self.diagnosis.go_on(None, Aftermath.PROVEN)

    def start_anew(self) -> None:
        """All that the log told so far is about an earlier start of the server."""
        if self.startup.starts:
            self.startup.begin_again()
            self.startup.starts -= 1  # the new one shows itself with its first line
            self.startup.forget_start_line()
        self.diagnosis = Diagnosis(self._stop_asked_ns)
        self._findings, self._journal = {}, []
        self._forget_moves()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of rules, in order of appearance, and what became of earlier starts."""
        return (*self._findings.values(), *self.earlier)

    @property
    def knows_anything(self) -> bool:
        """Whether any line was one that a rule knows or that looks like an error."""
        return self.last_known is not None or self.startup.starts > 0

    @property
    def last_stamp_ns(self) -> int | None:
        """The last time that the log itself named."""
        return self._last_stamp

    def bar(self, at_ns: int | None) -> Progress | None:
        """Where the bar stands, its last unfinished state included."""
        line = self.sieve.unfinished()
        if line is not None:
            at = Moment(at_ns, self._last_stamp)
            for hit in self._relevant(self._matcher.match(line)):
                if hit.rule.edge is Edge.PROGRESS:
                    return self.startup.read_bar(hit, at) or self.startup.progress
        return self.startup.progress

    def _take(self, line: Line, at_ns: int | None) -> None:
        if line.stamp_ns is not None:
            self._last_stamp = line.stamp_ns
        mark = self.blocks.feed(line)
        hits = self._matcher.match(line)
        if not hits and mark.shape is Shape.PLAIN:
            return
        entry = _Entry(line, mark, hits, Moment(at_ns, line.stamp_ns or self._last_stamp))
        if self._identified is None and self._fixed is None:
            self._vote(entry)
        self._apply(entry)

    def _vote(self, entry: _Entry) -> None:
        """Let the line's rules say which engine this is; a change of mind re-reads the journal."""
        if len(self._journal) < MAX_JOURNAL:
            self._journal.append(entry)
        is_shared = any(h.rule.engine is None and h.rule.failure for h in entry.hits)
        has_voted = False
        for hit in entry.hits:
            engine = hit.rule.engine
            if engine is None or engine == "generic":
                continue
            if is_shared and not hit.rule.is_identity:
                continue  # what every engine may print says nothing about which one it is
            self._votes[engine] += 1
            has_voted = True
            if hit.rule.is_identity:
                self._identified = engine
                break
        if not has_voted:
            return
        leader = self._identified or self._votes.most_common(1)[0][0]
        if leader != self.engine:
            self.engine = leader
            self._start_over()
            for earlier in self._journal[:-1]:
                self._apply(earlier)
        if self._identified is not None:
            self._journal.clear()

    def _relevant(self, hits: Iterable[Hit]) -> tuple[Hit, ...]:
        """Hits of this engine's rules; the generic ones count while nobody knows the engine."""
        engines = (None, self.engine or "generic")
        return tuple(hit for hit in hits if hit.rule.engine in engines)

    def _apply(self, entry: _Entry) -> None:
        line, at = entry.line, entry.at
        hits = self._relevant(entry.hits)
        if any(hit.rule.is_start for hit in hits):
            self._begin_start()
        rank = line.source.rank or entry.mark.source.rank
        if line.stamp_ns is not None:
            self._stamped = line
        if rank is not None:
            self.roster.feed(rank, line, () if entry.mark.shape is Shape.FRAME else hits)
        stage = self._stage_for(rank)
        is_ready = self.startup.is_ready or self._is_proven
        self.diagnosis.feed(line, entry.mark, hits, stage=stage, at=at, is_ready=is_ready)
        for hit in hits:
            if hit.rule.is_identity and "version" in hit.captures:
                self.version = hit.captures["version"]
            ranks, nodes = hit.captures.get("ranks", ""), hit.captures.get("nodes", "1")
            if ranks.isdigit() and nodes == "1":
                self.roster.expect(int(ranks))
            if hit.rule.role is Role.GAUGE:
                self.readings.feed(hit)
            if hit.rule.finding is not None:
                self._find(hit)
            self._advance(hit, entry)
        if hits and not all(hit.rule.role is Role.BENIGN for hit in hits):
            self.last_known = line

    def _advance(self, hit: Hit, entry: _Entry) -> None:
        """Let a stage hit move the start, and say what that forgives."""
        was_ready, stages = self.startup.is_ready, self.startup.stages
        is_frame = entry.mark.shape is Shape.FRAME
        if is_frame and hit.rule.stage is Stage.SERVING and self._is_starting():
            return  # it works off requests; whether those of its warm-up, other lines tell
        if is_frame and hit.rule.stage in _ENTRY and self.startup.has_passed_entry:
            return  # the same functions go on to load
        rank = entry.mark.source.rank if is_frame else None
        has_moved = self.startup.feed(hit, entry.at, rank=rank)
        if is_frame and hit.rule.stage is not None and not self.startup.is_ready:
            self.diagnosis.place(entry.mark, hit.rule.stage)
        # A frame of a traceback shows where the engine was, not that it goes on.
        if not has_moved or is_frame:
            return
        self.moved, self.moved_stamped = entry.line, self._stamped
        self.stuck = None
        writer = writer_of(entry.line.source)
        if hit.rule.stage is Stage.SERVING:
            self.diagnosis.go_on(None, Aftermath.SERVING)
        elif self.startup.is_ready and not was_ready:
            self.diagnosis.go_on(None, Aftermath.UP)
        elif self.startup.stages > stages:
            self.diagnosis.go_on(writer, Aftermath.NEW_STAGE)
        elif writer != MAIN or has_own_prefix(entry.line):
            # A bar without a prefix may be anybody's.
            self.diagnosis.go_on(writer, Aftermath.STAGE)

    def _begin_start(self) -> None:
        # Whatever died before the first line of a start was another one, begun without such a line.
        if self.startup.has_start_line or self.diagnosis.fatality() is Fatality.CERTAIN:
            self.startup.starts = max(self.startup.starts, 1)
            self.earlier.append(tell_earlier(self.startup, self.diagnosis, self.version))
            del self.earlier[:-MAX_EARLIER]
            self.startup.begin_again()
            self.diagnosis = Diagnosis(self._stop_asked_ns)
            self._findings = {}
            self._is_proven = False
            self._forget_moves()
        else:
            self.startup.mark_start()

    def _is_starting(self) -> bool:
        """Whether a start is seen that has not come up yet."""
        startup = self.startup
        return startup.has_start_line or bool(startup.stages and not startup.is_ready)

    def _stage_for(self, rank: str | None) -> Stage | None:
        if self.startup.is_ready or self._is_proven:
            return Stage.SERVING
        return self.startup.stage_of(rank)

    def _find(self, hit: Hit) -> None:
        rule, line = hit.rule, hit.line
        name = rule.finding or rule.id
        evidence = (Evidence("line", line.text, line.number or None, line.offset),)
        if name == NO_PROGRESS:
            self.stuck = evidence[0]
        if name not in self._findings:
            self._findings[name] = Finding(
                name, rule.severity, rule.meaning or line.message, evidence, rule.remedy
            )
