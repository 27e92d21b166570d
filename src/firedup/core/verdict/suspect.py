"""One log line that may be the cause of a failure or follow from it, and what it is worth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from firedup.core.log.block import Mark, Shape
from firedup.core.model import Cause, Evidence, Line, Source, Stage
from firedup.core.rule import Hit, Role, Rule
from firedup.core.verdict.startup import Moment
from firedup.core.version import covers, is_rival

UNCLASSIFIED = "unclassified"
MAX_LINE_CHARS = 4000
MAIN = "main"

FATAL_SHAPES = (Shape.EXCEPTION, Shape.GROUP, Shape.USAGE, Shape.NATIVE)

# When one line meets several rules of the same rank of engine, the most cautious role counts: a
# wrapper quotes the cause, a benign line quotes anything.
_CAUTION = (Role.BENIGN, Role.TEARDOWN, Role.VICTIM, Role.WRAPPER, Role.CAUSE)
_MILD_LEVELS = ("DEBUG", "INFO", "WARNING")
_TORCH_RANK = re.compile(r"^rank(\d+)$")


class Fatality(IntEnum):
    """How sure it is that the start (or the server) failed, going by the log alone."""

    NONE = 0
    LIKELY = 1  # an error nobody knows, after which nothing went on yet
    CERTAIN = 2


@dataclass(slots=True)
class Suspect:
    """A line with its role, and where and when it was printed. `order` counts the lines taken."""

    order: int
    line: Line
    mark: Mark
    role: Role | None
    rule: Rule | None  # the rule that gave the role
    named: Rule | None  # the rule that knows the failure's class, if any
    stage: Stage | None  # None where nothing had shown how far the start was
    at: Moment
    is_after_ready: bool
    rules: tuple[Rule, ...] = ()  # all that know the line and give it a role
    placed_by: int | None = None  # which traceback of its chain showed the stage
    has_survived: bool = False
    has_later_life: bool = False  # somebody went on after it, whether or not that forgives it

    @property
    def rank(self) -> str | None:
        """The rank that wrote the line, as far as its block tells."""
        return self.line.source.rank or self.mark.source.rank

    @property
    def writer(self) -> str:
        """Whose line it is."""
        return writer_of(self.line.source if self.line.source != Source() else self.mark.source)

    @property
    def is_final(self) -> bool:
        """Whether nothing that comes later can outweigh it."""
        return self.rule is not None and self.rule.is_final

    @property
    def is_mild(self) -> bool:
        """The engine itself calls it a warning or less."""
        return self.line.level in _MILD_LEVELS

    @property
    def is_bare(self) -> bool:
        """A line by itself: no traceback, abort or refusal of the command line."""
        return self.mark.shape not in (*FATAL_SHAPES, Shape.DETAIL)

    @property
    def is_weak(self) -> bool:
        """An error that is only named in passing: a warning, or a name that no engine knows."""
        is_named_only = self.mark.shape is Shape.LONE
        return self.is_mild or (is_named_only and (self.rule is None or self.rule.engine is None))

    @property
    def is_last_word(self) -> bool:
        """A victim's traceback after which nobody went on: what killed it is told elsewhere."""
        is_traceback = self.role is Role.VICTIM and not self.is_bare and not self.is_mild
        return is_traceback and not self.is_after_ready and not self.has_later_life

    @property
    def fatality(self) -> Fatality:
        """What the line alone says about the death of the start or the server."""
        if self.is_final or self.role is Role.WRAPPER:
            return Fatality.CERTAIN
        if self.is_after_ready:
            # A living server reports failed requests; only its wrappers speak of its own death.
            return Fatality.NONE
        if self.is_mild:
            return Fatality.NONE
        if self.role is Role.CAUSE:
            # A line by itself may be a try that failed and is made again.
            return Fatality.LIKELY if self.is_bare else Fatality.CERTAIN
        if self.role is not None or self.mark.shape not in FATAL_SHAPES:
            return Fatality.NONE
        # An argument parser ends the program; a compiler that was tried complains alike later.
        is_refused = self.mark.shape is Shape.USAGE and self.stage in (None, Stage.ARGS)
        return Fatality.CERTAIN if is_refused else Fatality.LIKELY


def writer_of(source: Source) -> str:
    """A name for who prints: its rank (torch's rank3 is TP3), else its title, else "main"."""
    if source.rank is not None:
        torch = _TORCH_RANK.match(source.rank)
        return f"TP{torch[1]}" if torch else source.rank
    return source.title or MAIN


def role_of(hits: Iterable[Hit]) -> tuple[Role | None, Rule | None, Rule | None]:
    """The role of a line, the rule that gives it, and the rule that names a failure class.

    A rule that only names the kind counts where no other rule speaks, and leaves the role open.
    """
    found = [hit.rule for hit in hits if hit.rule.role is not None]
    with_role = [rule for rule in found if rule.role is not Role.KIND]
    if not with_role:
        return None, None, next((r for r in found if r.engine is not None), next(iter(found), None))
    named = next((rule for rule in with_role if rule.failure is not None), None)
    own = [rule for rule in with_role if rule.engine is not None] or with_role
    for role in _CAUTION:
        for rule in own:
            if rule.role is role:
                return role, rule, rule if rule.failure is not None else named
    return own[0].role, own[0], named


def cause_of(suspect: Suspect, version: str | None = None, later: Stage | None = None) -> Cause:
    """The suspect as the cause that is shown; `version` is that of the engine, None if unknown.

    `later` is the first stage that the log shows after it, for one before which it shows none.
    """
    rule, line = suspect.named or suspect.rule, suspect.line
    stage = suspect.stage or later
    if stage is None and suspect.rank is None:
        stage = Stage.ARGS  # where a start begins; a rank's own line shows that it was further
    remedy = None
    if rule is not None:
        # Rules that contradict each other are of different versions; all apply to an unknown one.
        rivals = [r for r in suspect.rules if r is rule or is_rival(r, rule)]
        able = [r for r in rivals if covers(r, version)] or [rule]
        rule = rule if rule in able else able[0]
        remedy = _join_remedies(able, stage)
    return Cause(
        failure=_failure_of(rule, stage),
        rule=rule.name if rule is not None else None,
        line=line.text[:MAX_LINE_CHARS],
        line_number=line.number or None,
        offset=line.offset,
        rank=suspect.rank,
        stage=stage,
        meaning=rule.meaning if rule and rule.meaning else _meaning(suspect),
        remedy=remedy,
        evidence=(Evidence("line", line.text[:MAX_LINE_CHARS], line.number or None, line.offset),),
        at_ns=suspect.at.host_ns,
        mentions=rule.mentions if rule is not None else (),
        role=UNCLASSIFIED if suspect.role is None or suspect.is_weak else suspect.role.value,
    )


def _failure_of(rule: Rule | None, stage: Stage | None) -> str:
    """The class, with the stage where what to do hangs on it."""
    if rule is None or rule.failure is None:
        return UNCLASSIFIED
    is_told = rule.by_stage and stage not in (None, Stage.OTHER)
    return f"{rule.failure}-{stage}" if is_told else rule.failure


def _join_remedies(rules: Sequence[Rule], stage: Stage | None) -> str | None:
    """What to do; where it depends on a version that is not known, for each of them."""
    said = [(_span(r), r.remedies.get(stage, r.remedy) if stage else r.remedy) for r in rules]
    if len({text for _, text in said}) == 1:
        return said[0][1]
    return " ".join(f"{span}: {text}" for span, text in said if text) or None


def _span(rule: Rule) -> str:
    if rule.since is None:
        return f"Up to version {rule.until}"
    return f"From version {rule.since}" + (f" to {rule.until}" if rule.until else "")


def _meaning(suspect: Suspect) -> str:
    shapes = {
        Shape.EXCEPTION: "An exception that no rule knows ended the process that raised it.",
        Shape.LONE: "An error that no rule knows was reported; nothing clearer was printed.",
        Shape.USAGE: "The command line was refused by the engine.",
        Shape.NATIVE: "Native code aborted the process.",
    }
    return shapes.get(suspect.mark.shape, "The process reported a failure that no rule knows.")
