"""Which rank has passed what, and which of them the others wait for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from firedup.core.model import Evidence, Line, Stage
from firedup.core.rule import Edge, Hit
from firedup.core.verdict.suspect import MAX_LINE_CHARS

# A start passes a few dozen milestones; a log that repeats one for ever may not fill memory.
MAX_MILESTONES = 200
MAX_RANKS = 4096  # more than any engine has; beyond that, lines look like ranks and are none
_NUMBERED = re.compile(r"^([A-Z_]+)(\d+)$")
_TORCH = re.compile(r"^rank(\d+)$")


@dataclass(frozen=True, slots=True)
class Milestone:
    """The `count`-th time that a rank printed the line of one stage rule."""

    rule: str
    count: int
    stage: Stage
    edge: Edge | None

    def __str__(self) -> str:
        verb = {Edge.BEGIN: "begun", Edge.END: "finished"}.get(self.edge or Edge.PROGRESS)
        return f"{verb or 'passed'} {self.stage}"


_Way = tuple[Milestone, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Ranks that the others wait for: `ranks` of `total`, and what the others have reached.

    `milestone` is None where it is only known that they did not report what the others did.
    """

    ranks: tuple[str, ...]
    total: int
    milestone: Milestone | None
    evidence: tuple[Evidence, ...]

    def __str__(self) -> str:
        there = self.total - len(self.ranks)
        who = name_some(self.ranks)
        has = "has" if len(self.ranks) == 1 else "have"
        if self.milestone is None:
            return f"{there} of {self.total} ranks report that they wait in vain; {who} {has} not."
        return f"{there} of {self.total} ranks have {self.milestone}; {who} {has} not."


@dataclass(slots=True)
class _Member:
    passed: dict[Milestone, Evidence] = field(default_factory=dict)  # in the order of its lines
    last: Evidence | None = None
    complaint: Evidence | None = None


class Roster:
    """Feed it the known lines of a start; what it says depends on each rank's own order alone."""

    def __init__(self) -> None:
        self._members: dict[str, _Member] = {}
        self._expected = 0
        self.pids: dict[int, str] = {}  # whose lines name both, as the engine calls the rank

    def expect(self, ranks: int) -> None:
        """There are `ranks` of them on this host, whether or not each has printed something."""
        self._expected = ranks

    @property
    def has_complaints(self) -> bool:
        """Whether any rank said that it waited for others in vain."""
        return any(member.complaint is not None for member in self._members.values())

    def feed(self, rank: str, line: Line, hits: Iterable[Hit]) -> None:
        """Take one line that `rank` wrote."""
        member = self._member(rank)
        if member is None:
            return
        if line.source.pid is not None:
            self.pids[line.source.pid] = rank
        text = line.text[:MAX_LINE_CHARS]
        member.last = Evidence("line", text, line.number or None, line.offset)
        for hit in hits:
            rule = hit.rule
            if rule.awaits_ranks and member.complaint is None:
                member.complaint = member.last
            if rule.stage is None or rule.edge is Edge.PROGRESS:
                continue
            count = sum(known.rule == rule.name for known in member.passed)
            if len(member.passed) < MAX_MILESTONES:
                milestone = Milestone(rule.name, count, rule.stage, rule.edge)
                member.passed[milestone] = member.last

    def missing(self) -> Missing | None:
        """Whom most of the ranks wait for; None where nobody is behind or too few say so."""
        members = self._with_unseen()
        if len(members) < 2:
            return None
        return self._silent(members) or self._behind(members)

    def _member(self, rank: str) -> _Member | None:
        # torch counts all ranks of a group, and engines call those TP0, TP1, … where it is theirs.
        torch = _TORCH.match(rank)
        name = f"TP{torch[1]}" if torch else rank
        if name not in self._members and len(self._members) >= MAX_RANKS:
            return None
        return self._members.setdefault(name, _Member())

    def _with_unseen(self) -> Mapping[str, _Member]:
        """All ranks, those included that printed nothing although others of their kind did."""
        found = dict(self._members)
        numbered = [match for name in found if (match := _NUMBERED.match(name))]
        kinds = {match[1] for match in numbered}
        if len(numbered) == len(found) and len(kinds) == 1:
            numbers = {int(match[2]) for match in numbered}
            last = max(*numbers, self._expected - 1)
            if last < 2 * max(len(numbers), self._expected):
                kind = kinds.pop()
                for number in range(min(numbers) if not self._expected else 0, last + 1):
                    found.setdefault(f"{kind}{number}", _Member())
        return dict(sorted(found.items(), key=lambda item: _sort_key(item[0])))

    def _silent(self, members: Mapping[str, _Member]) -> Missing | None:
        """Those that do not complain of a wait while most others do."""
        said = [member.complaint for member in members.values() if member.complaint is not None]
        silent = tuple(name for name, member in members.items() if member.complaint is None)
        if not silent or len(said) <= len(silent):
            return None
        return Missing(silent, len(members), None, (said[0], *_last_words(members, silent)))

    def _behind(self, members: Mapping[str, _Member]) -> Missing | None:
        """Those whose last milestone most others have left behind."""
        reached = Counter(key for member in members.values() for key in member.passed)
        first = next(iter(members))
        # What only the first rank prints is no milestone of all.
        shared = {
            key
            for key, count in reached.items()
            if 2 * count > len(members)
            or (2 * count == len(members) and key not in members[first].passed)
        }
        ways = {
            name: tuple(key for key in m.passed if key in shared) for name, m in members.items()
        }
        kinds = Counter(ways.values())  # many ranks, few different ways
        next_after = {way: _next_step(way, kinds, len(members)) for way in kinds}
        next_of = {name: step for name, way in ways.items() if (step := next_after[way])}
        if not next_of or 2 * len(next_of) > len(members):
            return None
        # Who is furthest behind is waited for by all; the others of these wait for it, too.
        least = min(len(ways[name]) for name in next_of)
        ranks = tuple(name for name in next_of if len(ways[name]) == least)
        milestone = next_of[ranks[0]]
        ahead = next(m.passed[milestone] for m in members.values() if milestone in m.passed)
        absent = sum(milestone not in member.passed for member in members.values())
        if absent != len(ranks):
            return None
        return Missing(ranks, len(members), milestone, (ahead, *_last_words(members, ranks)))


def name_some(ranks: tuple[str, ...], most: int = 4) -> str:
    """The names of `ranks`, of many the first and how many more there are."""
    if len(ranks) > most:
        return f"{', '.join(ranks[:most])} and {len(ranks) - most} more"
    return " and ".join([", ".join(ranks[:-1]), ranks[-1]] if len(ranks) > 1 else ranks)


def _next_step(way: _Way, kinds: Mapping[_Way, int], total: int) -> Milestone | None:
    """What most of those did next that have left the end of `way` behind, if they are half."""
    after: Counter[Milestone] = Counter()
    for other, count in kinds.items():
        if step := _step_after(way, other):
            after[step] += count
    if not after or 2 * after.total() < total:
        return None
    return after.most_common(1)[0][0]


def _step_after(way: _Way, other: _Way) -> Milestone | None:
    """The next milestone of `other` behind the last one of `way`; None when it is no further."""
    if not way:
        return other[0] if other else None
    if way[-1] not in other:
        return None
    at = other.index(way[-1]) + 1
    return other[at] if at < len(other) else None


def _last_words(members: Mapping[str, _Member], ranks: tuple[str, ...]) -> Iterable[Evidence]:
    return [last for name in ranks[:3] if (last := members[name].last) is not None]


def _sort_key(name: str) -> list[tuple[int, str]]:
    return [
        (int(piece) if piece.isdigit() else -1, piece) for piece in re.findall(r"\d+|\D+", name)
    ]
