"""Hits and block marks → the first fault, what followed from it, and whether it was fatal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum

from firedup.core.log.block import Mark, Shape
from firedup.core.model import Cause, Followed, Line, Stage
from firedup.core.rule import Hit, Role
from firedup.core.verdict.startup import Moment
from firedup.core.verdict.suspect import (
    FATAL_SHAPES,
    MAIN,
    MAX_LINE_CHARS,
    Fatality,
    Suspect,
    cause_of,
    role_of,
)

# Failed requests of a long life fill memory: of those that a living server outlives, only so many
# are kept, the newest. Lines that tell of its own end are always kept, up to the second bound.
MAX_OUTLIVED = 500
MAX_SUSPECTS = 4000
MAX_FOLLOWED = 100
_CHAIN = 16  # exceptions of one chain, of which the outer ones may show the stage of all


class Aftermath(Enum):
    """What went on after a complaint."""

    STAGE = "stage"  # its writer reached or moved a stage
    NEW_STAGE = "new-stage"  # somebody entered a stage that nobody was in before
    UP = "up"  # the engine said that it is up
    PROVEN = "proven"  # it answered and generated
    SERVING = "serving"  # it goes on to serve


class Diagnosis:
    """Feed it every candidate line of the last start, in log order."""

    def __init__(self, stop_asked_ns: int | None = None) -> None:
        self._suspects: list[Suspect] = []
        self._stop: Suspect | None = None
        self._count = 0
        # The block whose frames showed a stage last, and at which exception of its chain.
        self._placed: tuple[int | None, int] = (None, 0)
        self.stop_asked_ns = stop_asked_ns  # host time at which the operator asked for the end

    @property
    def stop_line(self) -> Line | None:
        """The line by which the operator's wish to end the server shows."""
        return self._stop.line if self._stop else None

    @property
    def stopped_at(self) -> Moment | None:
        """When that line came."""
        return self._stop.at if self._stop else None

    def feed(
        self,
        line: Line,
        mark: Mark,
        hits: Sequence[Hit],
        stage: Stage | None,
        at: Moment,
        *,
        is_ready: bool,
    ) -> None:
        """Take one line with everything that is known about it."""
        role, rule, named = role_of(hits)
        if mark.shape is Shape.FRAME and line.message[:1].isspace():
            return  # the source line of a frame quotes messages without meaning them
        if role is None and mark.shape not in (*FATAL_SHAPES, Shape.LONE):
            return
        if role in (Role.BENIGN, Role.GAUGE):
            return
        self._count += 1
        rules = tuple(hit.rule for hit in hits if hit.rule.role is not None)
        placed_by = mark.position if (mark.block, mark.position) == self._placed else None
        suspect = Suspect(
            self._count, line, mark, role, rule, named, stage, at, is_ready, rules, placed_by
        )
        if rule is not None and rule.is_stop and self._stop is None:
            self._stop = suspect
        self._suspects.append(suspect)
        if len(self._suspects) > MAX_SUSPECTS + MAX_OUTLIVED:  # not with each line anew
            self._thin_out()

    def place(self, mark: Mark, stage: Stage) -> None:
        """A frame at `mark` shows in which stage its traceback was raised.

        In a chain only the next exception may tell where all of it was called from.
        """
        self._placed = (mark.block, mark.position)
        for suspect in self._suspects[-_CHAIN:]:
            if suspect.mark.block == mark.block and suspect.placed_by in (None, mark.position):
                suspect.stage, suspect.placed_by = stage, mark.position

    def go_on(self, writer: str | None, aftermath: Aftermath) -> None:
        """Something went on, so that what was complained about before is survived.

        A stage forgives what its own `writer` said and no rule knows, a new stage also what the
        main process said; being up forgives known causes too, and proof of it all but what is
        final. Serving on forgives failed requests.
        """
        for suspect in self._suspects:
            suspect.has_later_life = True
            if not suspect.is_final and _is_outlived(suspect, writer, aftermath):
                suspect.has_survived = True

    def fatality(self) -> Fatality:
        """Whether the log tells of a failure that ended the start or the server."""
        return max((s.fatality for s in self._before_stop()), default=Fatality.NONE)

    def fatal_at(self) -> Moment | None:
        """When the first fatal line came."""
        return next((s.at for s in self._before_stop() if s.fatality), None)

    def last_word_at(self) -> Moment | None:
        """When the first victim spoke after which nobody went on; None where there is none."""
        return next((s.at for s in self._before_stop() if s.is_last_word), None)

    def cause(
        self,
        *,
        allows_weak: bool = True,
        version: str | None = None,
        later: Stage | None = None,
    ) -> Cause | None:
        """The first fault; None when no line deserves the name.

        `allows_weak` lets errors stand in that are only named in passing. What to do may hang on
        the engine's `version`; `later` is the first stage of a log that shows none before it.
        """
        chosen = self._choose(allows_weak=allows_weak)
        if chosen is None:
            return None
        detail = self._detail(chosen)
        if detail is None:
            return cause_of(chosen, version, later)
        known = replace(
            chosen, role=detail.role, rule=detail.rule, named=detail.named, rules=detail.rules
        )
        cause, told = cause_of(known, version, later), cause_of(detail).evidence
        return replace(cause, evidence=(*cause.evidence, *told))

    def followed(self, cause: Cause | None) -> tuple[Followed, ...]:
        """What was printed after the cause and because of it, one line per message."""
        first = next((s for s in self._suspects if cause and _is_line_of(s, cause)), None)
        if cause is None or first is None:
            return ()
        found: dict[str, Followed] = {}
        for suspect in self._suspects:
            is_aside = suspect.mark.shape is Shape.LONE and suspect.role is None
            if suspect.order <= first.order or suspect.has_survived or is_aside:
                continue
            line = suspect.line
            text = line.message[:200]
            if text not in found and line.message != first.line.message:
                role = suspect.role or Role.CAUSE
                found[text] = Followed(
                    line.text[:MAX_LINE_CHARS], line.number or None, role.value, line.offset
                )
        return tuple(found.values())[:MAX_FOLLOWED]

    def certainty(self, cause: Cause | None) -> float:
        """Confidence in 0..1 that `cause` is right, from what supports it."""
        if cause is None:
            return 0.0
        has_wrapper = any(s.role is Role.WRAPPER for s in self._suspects)
        suspect = next((s for s in self._suspects if _is_line_of(s, cause)), None)
        if suspect is not None and suspect.role in (Role.VICTIM, Role.WRAPPER):
            return 0.5 if has_wrapper else 0.4  # it failed, and what failed first is not here
        if cause.rule is not None and (suspect is None or suspect.role is not None):
            return 0.95 if has_wrapper else 0.9
        return 0.75 if has_wrapper else 0.6

    def _before_stop(self) -> list[Suspect]:
        """Those that count: not survived, and not printed because the operator ended it all."""
        found = [s for s in self._suspects if not s.has_survived]
        if self._stop is not None:
            found = [s for s in found if s.order < self._stop.order]
        asked_ns = self.stop_asked_ns
        if asked_ns is not None:
            found = [s for s in found if s.at.host_ns is None or s.at.host_ns < asked_ns]
        return found

    def _choose(self, *, allows_weak: bool) -> Suspect | None:
        suspects = self._before_stop()
        inner = _innermost(suspects)
        shown = [s for s in suspects if s.mark.shape is Shape.EXCEPTION]
        victims = {_place(s): s for s in shown if s.role is Role.VICTIM}
        strong = [
            s for s in suspects if (s.role is Role.CAUSE and not s.is_weak) or s.order in inner
        ]
        # What a victim's message tells of its end is a cause only where there is no other.
        whole = [s for s in strong if s.mark.shape is not Shape.DETAIL or _place(s) not in victims]
        if strong:
            return whole[0] if whole else victims[_place(strong[0])]
        weak = [s for s in suspects if s.role is Role.CAUSE]
        for others in (weak, *([s for s in suspects if s.role is r] for r in _STAND_INS)):
            able = [s for s in others if allows_weak or not s.is_weak]
            if able:
                return next((s for s in able if s.named is not None), able[0])
        return None

    def _detail(self, chosen: Suspect) -> Suspect | None:
        """A later line of the same exception's message that knows another class of failure.

        NCCL's exception says in its first line which kind of call failed, and further down at what;
        that of a remote call, whether anybody was there.
        """
        if chosen.role not in (Role.CAUSE, Role.VICTIM) or chosen.named is None:
            return None
        if chosen.mark.shape is not Shape.EXCEPTION:
            return None
        return next(
            (
                s
                for s in self._suspects
                if _place(s) == _place(chosen)
                and s.mark.shape is Shape.DETAIL
                and s.role is Role.CAUSE
                and s.named is not None
                and s.named.failure != chosen.named.failure
            ),
            None,
        )

    def _thin_out(self) -> None:
        """Forget the oldest of those that a living server outlives, and of the rest the newest."""
        outlived = [s.order for s in self._suspects if s.role is None and s.is_after_ready]
        dropped = set(outlived[:-MAX_OUTLIVED])
        self._suspects = [s for s in self._suspects if s.order not in dropped][:MAX_SUSPECTS]


_STAND_INS = (None, Role.VICTIM, Role.WRAPPER)


def _is_outlived(suspect: Suspect, writer: str | None, aftermath: Aftermath) -> bool:
    is_unknown = suspect.role is None or suspect.is_weak
    match aftermath:
        case Aftermath.STAGE:
            return is_unknown and suspect.writer == writer
        case Aftermath.NEW_STAGE:
            return is_unknown and suspect.writer in (writer, MAIN)
        case Aftermath.UP:
            return suspect.role not in (Role.TEARDOWN, Role.WRAPPER)
        case Aftermath.PROVEN:
            return suspect.role is not Role.TEARDOWN
        case Aftermath.SERVING:
            return is_unknown and suspect.is_after_ready


def _place(suspect: Suspect) -> tuple[int | None, int]:
    """Which exception of which message a line belongs to."""
    return suspect.mark.block, suspect.mark.position


def _is_line_of(suspect: Suspect, cause: Cause) -> bool:
    return suspect.line.offset == cause.offset and cause.line.startswith(suspect.line.text[:200])


def _innermost(suspects: list[Suspect]) -> set[int]:
    """For each unknown traceback, the order of its chain's first exception.

    A chain of which a rule knows an exception is left to that rule.
    """
    known = {s.mark.block for s in suspects if s.role is Role.CAUSE and s.mark.block is not None}
    found: dict[int, int] = {}
    for suspect in suspects:
        block = suspect.mark.block
        is_unknown = suspect.role is None and suspect.mark.shape in FATAL_SHAPES
        if is_unknown and block is not None and block not in known:
            found.setdefault(block, suspect.order)
    groups = {s.order for s in suspects if s.mark.shape is Shape.GROUP}
    # A group says less than any of its members; alone it has to do.
    return set(found.values()) - groups or set(found.values())
