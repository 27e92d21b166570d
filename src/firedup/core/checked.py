"""What a static check of a drafter against its target found, as values for views and callers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from firedup.core.model import Evidence


class Harm(Enum):
    """What a finding costs, worst first."""

    CRASH = "crash"  # the server does not come up, mostly after the target was loaded
    SILENT_LOSS = "silent-loss"  # it comes up, and accepts less than the drafter could
    RISK = "risk"  # harm under conditions that the files alone do not show
    NOTE = "note"  # worth knowing, no harm

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Harm).index(self)


# Findings that a checkpoint is not whole: they speak of its files alone, not of the pair.
NOT_WHOLE = frozenset(
    {"checkpoint-incomplete", "config-missing", "lfs-pointer", "weights-not-found"}
)
# The finding that leaves a drafter unjudged: its weights lie in files that are not read.
NOT_READ = "weights-not-read"


@dataclass(frozen=True, slots=True)
class Consequence:
    """What `engine` does with the finding, in `versions` ("" = all that are known)."""

    engine: str
    versions: str  # a version specifier as in rules: ">=0.5.6,<0.5.12"
    harm: Harm
    text: str


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One conclusion about a pair. `id` names the symptom (kebab-case) and its page.

    `harm` is the worst for the engine and version asked about, over all engines where none was
    named. `subject` is "target", "draft" or "flags"; `fixable` says that `--fix` mends it without
    guessing.
    """

    id: str
    harm: Harm
    subject: str
    message: str
    evidence: tuple[Evidence, ...]
    consequences: tuple[Consequence, ...] = ()
    remedy: str | None = None
    fixable: bool = False


def grave(findings: Iterable[CheckFinding]) -> tuple[CheckFinding, ...]:
    """Those that keep a pair from fitting: crashes and silent losses."""
    return tuple(one for one in findings if one.harm in {Harm.CRASH, Harm.SILENT_LOSS})


@dataclass(frozen=True, slots=True)
class Checked:
    """The result for one pair: worst findings first. `facts` are (name, value) rows for the reader.

    `skipped` names checks that could not be made, and why. `read_bytes` counts tensor data read.
    """

    target: str
    draft: str
    engine: str | None
    version: str | None
    findings: tuple[CheckFinding, ...]
    facts: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    read_bytes: int = 0

    @property
    def worst(self) -> Harm | None:
        """The worst harm found, None when there is no finding."""
        return min((f.harm for f in self.findings), key=lambda harm: harm.rank, default=None)

    @property
    def exit_status(self) -> int:
        """1 when the pair does not fit (crash or silent loss), else 0."""
        return 1 if self.worst in (Harm.CRASH, Harm.SILENT_LOSS) else 0


@dataclass(frozen=True, slots=True)
class Fixed:
    """A corrected copy of a drafter at `out`, which is None where nothing could be mended.

    `done` has a sentence for each change, `left` what a check of the copy (of the drafter itself,
    without a copy) finds above a note. `links` are the files of the copy that are symbolic links,
    each with where it leads: weights that were right already.
    """

    out: str | None
    done: tuple[str, ...] = ()
    left: tuple[CheckFinding, ...] = ()
    links: tuple[tuple[str, str], ...] = ()

    @property
    def exit_status(self) -> int:
        """1 when what is left keeps the pair from fitting, else 0."""
        return 1 if grave(self.left) else 0
