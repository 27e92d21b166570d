"""Hits of stage rules → which stage each rank is in, how long each took, where the bar stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from firedup.core.log.prefix import is_wall
from firedup.core.model import Progress, RankState, Stage, StageSpan
from firedup.core.rule import Edge, Hit
from firedup.core.verdict.eta import parse_clock, remaining_of_bar

_NS = 1_000_000_000
_LOADS = (Stage.LOAD_WEIGHTS, Stage.DRAFT_LOAD)
# Past these a server has come up; what a rank does then is no start-up stage.
_UP = (Stage.READY, Stage.SERVING)


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant on both clocks: host boottime and the log's own stamp, each None if unknown."""

    host_ns: int | None
    log_ns: int | None


@dataclass(slots=True)
class _Span:
    begun: Moment  # of the present part: stages come back (the drafter's graphs after the target's)
    first: Moment
    ended: Moment | None = None
    earlier_s: tuple[float, float] = (0.0, 0.0)  # of the parts before, by host and by log time
    said_s: float | None = None  # the duration that the engine printed, the longest of all ranks
    slowest: str | None = None


@dataclass(slots=True)
class _Rank:
    stage: Stage
    has_finished: bool = False
    passed: set[Stage] = field(default_factory=set)


class Startup:
    """Feed it hits in log order. Everything it says is about the last start in the log."""

    def __init__(self) -> None:
        self.starts = 0
        self._reset()

    def _reset(self) -> None:
        self.stage: Stage | None = None
        self.ready_at: Moment | None = None
        self.last_at: Moment | None = None
        self.progress: Progress | None = None
        self._spans: dict[Stage, _Span] = {}
        self._ranks: dict[str | None, _Rank] = {}
        self._has_start_line = False
        self._drafts: set[str | None] = set()  # ranks that load the drafter now

    @property
    def is_ready(self) -> bool:
        """Whether the engine said that it is up."""
        return self.ready_at is not None

    def begin_again(self) -> None:
        """A new start of a server begins at this place of the log."""
        self.starts += 1
        self._reset()
        self._has_start_line = True

    def mark_start(self) -> None:
        """The first start's own first line was seen; what came before belongs to it."""
        self.starts = max(self.starts, 1)
        self._has_start_line = True

    def forget_start_line(self) -> None:
        """The next start line is the first of this start."""
        self._has_start_line = False

    @property
    def first_stage(self) -> Stage | None:
        """The stage that was entered first."""
        return next(iter(self._spans), None)

    @property
    def has_passed_entry(self) -> bool:
        """Whether a stage after the ranks' meeting was entered."""
        return any(stage not in (Stage.ARGS, Stage.DIST_INIT) for stage in self._spans)

    @property
    def stages(self) -> int:
        """How many stages were entered."""
        return len(self._spans)

    @property
    def has_start_line(self) -> bool:
        """Whether this start's own first line was seen (a second one means a second start)."""
        return self._has_start_line

    def feed(self, hit: Hit, at: Moment, *, rank: str | None = None) -> bool:
        """Take one hit; True when it moved a stage or a bar (progress of the start).

        `rank` is who wrote it, where its line does not say so itself.
        """
        self.starts = max(self.starts, 1)
        self.last_at = at
        if hit.rule.stage is None:
            return False
        rank = hit.line.source.rank or rank
        stage = self._true_stage(hit, rank)
        self._enter(stage, hit.rule.edge, rank, at)
        if hit.rule.edge is Edge.PROGRESS:
            self.progress = self.read_bar(hit, at) or self.progress
        elif hit.rule.edge is Edge.END:
            self._finish(stage, hit, rank, at)
        if stage is Stage.READY and self.ready_at is None:
            self.ready_at = at
        return True

    def stage_of(self, rank: str | None) -> Stage | None:
        """The stage that `rank` is in; the server's own when the rank has shown none.

        Who has finished dist-init is loading: every engine does that next, some without a word.
        """
        known = self._ranks.get(rank)
        stage = known.stage if known and rank is not None else self.stage
        span = self._spans.get(stage) if stage else None
        is_past = known.has_finished if known and rank is not None else bool(span and span.ended)
        return Stage.LOAD_WEIGHTS if stage is Stage.DIST_INIT and is_past else stage

    def ranks(self) -> tuple[RankState, ...]:
        """All ranks that named themselves, in the order of their numbers."""
        named = [(name, state) for name, state in self._ranks.items() if name is not None]
        named.sort(key=lambda item: [int(n) if n.isdigit() else n for n in _pieces(item[0])])
        return tuple(RankState(name, state.stage, state.has_finished) for name, state in named)

    def spans(self, *, use_host: bool) -> tuple[StageSpan, ...]:
        """The stages passed, in order of their beginning. Host times when `use_host`."""
        found = []
        for stage, span in self._spans.items():
            # What was printed before the watch began has only the log's own time.
            by_host = use_host and span.first.host_ns is not None
            begun = span.first.host_ns if by_host else span.first.log_ns
            seconds = _between(span.begun, span.ended, use_host=by_host)
            if seconds is not None:
                seconds += span.earlier_s[0 if by_host else 1]
            if span.said_s is not None and (seconds is None or not by_host):
                seconds = span.said_s
            if begun is not None and not by_host and not is_wall(begun):
                begun = None
            clock = "host" if by_host else "log"
            found.append(
                StageSpan(stage, begun, clock, seconds, span.slowest, span.ended is not None)
            )
        return tuple(found)

    def stage_begun(self) -> Moment | None:
        """When the current stage began."""
        span = self._spans.get(self.stage) if self.stage else None
        return span.begun if span else None

    def _true_stage(self, hit: Hit, rank: str | None) -> Stage:
        """Engines load target and drafter with the same lines: the second load is the drafter's."""
        stage = hit.rule.stage or Stage.OTHER
        if stage is Stage.DRAFT_LOAD:
            self._drafts.add(rank)
        if stage is not Stage.LOAD_WEIGHTS:
            return stage
        state = self._ranks.get(rank)
        if hit.rule.edge is Edge.BEGIN and state and Stage.LOAD_WEIGHTS in state.passed:
            self._drafts.add(rank)
        if rank is None and self._drafts:
            return Stage.DRAFT_LOAD
        return Stage.DRAFT_LOAD if rank in self._drafts else stage

    def _enter(self, stage: Stage, edge: Edge | None, rank: str | None, at: Moment) -> None:
        state = self._ranks.get(rank)
        if state is None:
            state = self._ranks[rank] = _Rank(stage)
        if state.stage is not stage:
            state.passed.add(state.stage)
            state.stage, state.has_finished = stage, False
        if stage not in self._spans:
            for other, span in self._spans.items():
                if span.ended is None and (other not in _LOADS or stage in _UP):
                    span.ended = at
            self._spans[stage] = _Span(at, at)
            self.stage = stage
            self.progress = None
        elif edge is not Edge.END and self._spans[stage].ended is not None and stage not in _UP:
            self._come_back(self._spans[stage], at)
            self.stage = stage

    def _come_back(self, span: _Span, at: Moment) -> None:
        by_host = _between(span.begun, span.ended, use_host=True) or 0.0
        by_log = _between(span.begun, span.ended, use_host=False) or 0.0
        span.earlier_s = (span.earlier_s[0] + by_host, span.earlier_s[1] + by_log)
        span.begun, span.ended = at, None

    def _finish(self, stage: Stage, hit: Hit, rank: str | None, at: Moment) -> None:
        state = self._ranks[rank]
        state.has_finished = True
        state.passed.add(stage)
        span = self._spans[stage]
        span.ended = at
        said_s = _number(hit.captures.get("seconds"))
        if said_s is not None and said_s > (span.said_s or 0.0):
            span.said_s, span.slowest = said_s, rank
        if self.progress is not None and self.progress.stage is stage:
            self.progress = None

    def read_bar(self, hit: Hit, at: Moment) -> Progress | None:
        """What a progress line shows, None when it has no numbers; changes nothing."""
        done, total = _number(hit.captures.get("done")), _number(hit.captures.get("total"))
        if total is None and (percent := _number(hit.captures.get("percent"))) is not None:
            done, total = percent, 100.0
        if done is None or not total:
            return None
        rank = hit.line.source.rank
        elapsed_s = parse_clock(hit.captures.get("elapsed", "?"))
        return Progress(
            stage=self._true_stage(hit, rank),
            done=int(done),
            total=int(total),
            elapsed_s=elapsed_s,
            remaining_s=remaining_of_bar(int(done), int(total), elapsed_s),
            unit=hit.rule.unit,
            rank=rank,
            reported_ns=at.host_ns if at.host_ns is not None else at.log_ns,
        )


def _between(begun: Moment, ended: Moment | None, *, use_host: bool) -> float | None:
    if ended is None:
        return None
    first = begun.host_ns if use_host else begun.log_ns
    last = ended.host_ns if use_host else ended.log_ns
    if first is None or last is None:
        return None
    return max(0.0, (last - first) / _NS)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _pieces(name: str) -> list[str]:
    """Letters and digits apart, so that TP10 sorts after TP9."""
    pieces: list[str] = []
    for char in name:
        if pieces and pieces[-1][-1].isdigit() == char.isdigit():
            pieces[-1] += char
        else:
            pieces.append(char)
    return pieces
