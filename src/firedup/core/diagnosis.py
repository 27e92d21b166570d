"""Hits and block marks → the first fault, what followed from it, and whether it was fatal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from firedup.core.block import Mark, Shape
from firedup.core.model import Cause, Evidence, Followed, Line, Stage
from firedup.core.rule import Hit, Role, Rule
from firedup.core.startup import Moment

UNCLASSIFIED = "unclassified"
MAX_SUSPECTS = 4000  # a log that complains more often than this has told its story
MAX_FOLLOWED = 12
MAX_LINE_CHARS = 4000

# When one line meets several rules of the same rank of engine, the most cautious role counts: a
# wrapper quotes the cause, a benign line quotes anything.
_CAUTION = (Role.BENIGN, Role.TEARDOWN, Role.VICTIM, Role.WRAPPER, Role.CAUSE)
_FATAL_SHAPES = (Shape.EXCEPTION, Shape.USAGE, Shape.NATIVE)


class Fatality(IntEnum):
    """How sure it is that the start (or the server) failed, going by the log alone."""

    NONE = 0
    LIKELY = 1  # an exception nobody knows, after which nothing went on yet
    CERTAIN = 2


@dataclass(slots=True)
class Suspect:
    """One line that may be the cause or follow from it."""

    line: Line
    mark: Mark
    role: Role | None
    rule: Rule | None  # the rule that gave the role
    named: Rule | None  # the rule that knows the failure's class, if any
    stage: Stage
    at: Moment
    is_after_ready: bool
    has_survived: bool = False

    @property
    def rank(self) -> str | None:
        """The rank that wrote the line, as far as its block tells."""
        return self.line.source.rank or self.mark.source.rank


class Diagnosis:
    """Feed it every candidate line of the last start, in log order."""

    def __init__(self) -> None:
        self._suspects: list[Suspect] = []
        self._stop: Suspect | None = None

    @property
    def stop_line(self) -> Line | None:
        """The line by which the operator's wish to end the server shows."""
        return self._stop.line if self._stop else None

    def feed(
        self,
        line: Line,
        mark: Mark,
        hits: Iterable[Hit],
        stage: Stage,
        at: Moment,
        *,
        is_ready: bool,
    ) -> None:
        """Take one line with everything that is known about it."""
        role, rule, named = _role_of(hits)
        if mark.shape is Shape.FRAME and line.message[:1].isspace():
            return  # the source line of a frame quotes messages without meaning them
        if role is None and mark.shape not in (*_FATAL_SHAPES, Shape.LONE):
            return
        if role in (Role.BENIGN, Role.GAUGE) or len(self._suspects) >= MAX_SUSPECTS:
            return
        suspect = Suspect(line, mark, role, rule, named, stage, at, is_ready)
        if rule is not None and rule.is_stop and self._stop is None:
            self._stop = suspect
        self._suspects.append(suspect)

    def go_on(self, rank: str | None, *, is_up: bool) -> None:
        """`rank` made progress (None: the main process), so what it complained about is survived.

        Only when the server is up (`is_up`) are known causes outlived too.
        """
        for suspect in self._suspects:
            if suspect.rule is not None and suspect.rule.is_final:
                continue
            is_outlived = is_up and suspect.role not in (Role.TEARDOWN, Role.WRAPPER)
            is_passed = suspect.role is None and rank is not None and suspect.rank == rank
            if is_outlived or is_passed:
                suspect.has_survived = True

    def fatality(self) -> Fatality:
        """Whether the log tells of a failure that ended the start or the server."""
        best = Fatality.NONE
        for suspect in self._before_stop():
            best = max(best, _fatality_of(suspect))
        return best

    def fatal_at(self) -> Moment | None:
        """When the first fatal line came."""
        return next((s.at for s in self._before_stop() if _fatality_of(s)), None)

    def cause(self, *, is_dead: bool) -> Cause | None:
        """The first fault; None when no line deserves the name.

        `is_dead` (the process ended or the log is fatal) lets weaker lines stand in.
        """
        chosen = self._choose(is_dead=is_dead)
        return _cause_of(chosen) if chosen else None

    def followed(self, cause: Cause | None) -> tuple[Followed, ...]:
        """What was printed after the cause and because of it, one line per message."""
        if cause is None or cause.offset is None:
            return ()
        found: dict[str, Followed] = {}
        for suspect in self._suspects:
            if suspect.line.offset <= cause.offset or suspect.has_survived:
                continue
            role = suspect.role or Role.CAUSE
            if suspect.mark.shape is Shape.LONE and suspect.role is None:
                continue
            text = suspect.line.message[:200]
            if text not in found and suspect.line.message != cause.line:
                line = suspect.line
                found[text] = Followed(
                    line.text[:MAX_LINE_CHARS], line.number or None, role.value, line.offset
                )
        return tuple(found.values())[:MAX_FOLLOWED]

    def certainty(self, cause: Cause | None) -> float:
        """Confidence in 0..1 that `cause` is right, from what supports it."""
        if cause is None:
            return 0.0
        has_wrapper = any(s.role is Role.WRAPPER for s in self._suspects)
        if cause.rule is not None:
            return 0.95 if has_wrapper else 0.9
        return 0.75 if has_wrapper else 0.6

    def _before_stop(self) -> list[Suspect]:
        if self._stop is None:
            return [s for s in self._suspects if not s.has_survived]
        limit = self._stop.line.offset
        return [s for s in self._suspects if not s.has_survived and s.line.offset < limit]

    def _choose(self, *, is_dead: bool) -> Suspect | None:
        suspects = self._before_stop()
        classified = {
            s.mark.block for s in suspects if s.role is Role.CAUSE and s.mark.block is not None
        }
        inner = _innermost(suspects)
        strong = [
            s
            for s in suspects
            if s.role is Role.CAUSE
            or (
                s.role is None
                and s.mark.shape in _FATAL_SHAPES
                and s.mark.block not in classified
                and (s.mark.block is None or inner.get(s.mark.block) is s)
            )
        ]
        if strong:
            return strong[0]
        if not is_dead:
            return None
        for role in (None, Role.VICTIM, Role.WRAPPER):
            weaker = [s for s in suspects if s.role is role]
            if weaker:
                return next((s for s in weaker if s.named is not None), weaker[0])
        return None


def _innermost(suspects: list[Suspect]) -> dict[int, Suspect]:
    """For each traceback, the first exception of its chain that is no wrapper or victim."""
    found: dict[int, Suspect] = {}
    for suspect in suspects:
        block = suspect.mark.block
        if block is not None and suspect.role is None and suspect.mark.shape in _FATAL_SHAPES:
            found.setdefault(block, suspect)
    return found


def _role_of(hits: Iterable[Hit]) -> tuple[Role | None, Rule | None, Rule | None]:
    """The role of a line, the rule that gives it, and the rule that names a failure class."""
    with_role = [hit.rule for hit in hits if hit.rule.role is not None]
    if not with_role:
        return None, None, None
    named = next((rule for rule in with_role if rule.failure is not None), None)
    own = [rule for rule in with_role if rule.engine is not None] or with_role
    for role in _CAUTION:
        for rule in own:
            if rule.role is role:
                return role, rule, rule if rule.failure is not None else named
    return own[0].role, own[0], named


def _fatality_of(suspect: Suspect) -> Fatality:
    if suspect.rule is not None and suspect.rule.is_final:
        return Fatality.CERTAIN
    if suspect.role is Role.WRAPPER:
        return Fatality.CERTAIN
    if suspect.is_after_ready:
        # A living server reports failed requests; only its wrappers speak of its own death.
        return Fatality.NONE
    if suspect.role is Role.CAUSE:
        return Fatality.CERTAIN
    if suspect.role is None and suspect.mark.shape in _FATAL_SHAPES:
        return Fatality.CERTAIN if suspect.mark.shape is Shape.USAGE else Fatality.LIKELY
    return Fatality.NONE


def _cause_of(suspect: Suspect) -> Cause:
    rule, line = suspect.named or suspect.rule, suspect.line
    remedy = None
    if rule is not None:
        remedy = rule.remedies.get(suspect.stage, rule.remedy)
    return Cause(
        failure=(rule.failure if rule and rule.failure else UNCLASSIFIED),
        rule=rule.name if rule is not None else None,
        line=line.text[:MAX_LINE_CHARS],
        line_number=line.number or None,
        offset=line.offset,
        rank=suspect.rank,
        stage=suspect.stage,
        meaning=rule.meaning if rule and rule.meaning else _meaning(suspect),
        remedy=remedy,
        evidence=(Evidence("line", line.text[:MAX_LINE_CHARS], line.number or None, line.offset),),
    )


def _meaning(suspect: Suspect) -> str:
    shapes = {
        Shape.EXCEPTION: "An exception that no rule knows ended the process that raised it.",
        Shape.LONE: "An error that no rule knows was reported; nothing clearer was printed.",
        Shape.USAGE: "The command line was refused by the engine.",
        Shape.NATIVE: "Native code aborted the process.",
    }
    return shapes.get(suspect.mark.shape, "The process reported a failure that no rule knows.")
