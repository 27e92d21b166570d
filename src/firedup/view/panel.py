"""The live picture of one moment: stages, bar, ranks, last line, what is waited for."""

from __future__ import annotations

from firedup.core.model import Ownership, Progress, Snapshot, Stage, State, Verdict
from firedup.view.bar import render_bar
from firedup.view.headline import VERDICT_LOOKS
from firedup.view.now import render_now
from firedup.view.pace import Pace
from firedup.view.paper import COMPACT_BELOW, Paper, count_columns, pad
from firedup.view.passage import Passage, gather_startup
from firedup.view.phrase import name_server, say_progress
from firedup.view.quantity import render_duration, render_offset, render_percent

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_SPINS_PER_S = 8
_BAR_COLUMNS = 30
_MOST_TELLING_STAGES = 4  # the last ones, which a low terminal shows before anything else


def render_panel(
    snapshot: Snapshot,
    paper: Paper,
    *,
    pace: Pace | None = None,
    ranks: str | None = None,
    age_s: float = 0.0,
    rows: int = 40,
    is_closed: bool = False,
) -> list[str]:
    """The lines of the picture, each no wider than the paper and no more than `rows`.

    `ranks` is what to say of ranks that stand apart, None for what the snapshot says. `age_s` is
    how old the snapshot is; running times go on by so much. `is_closed` leaves out what only
    matters while it goes on.
    """
    age_s = 0.0 if snapshot.is_final or is_closed else age_s
    drawing = _Drawing(snapshot, paper, age_s)
    stages = drawing.stages()
    facts: list[str] = []
    if not is_closed:
        facts = render_now(snapshot, paper, pace=pace or Pace(), ranks=ranks, age_s=age_s)
    head = drawing.head()
    over = max(0, len(head) + len(stages) + len(facts) - rows)
    dropped = min(over, max(0, len(stages) - _MOST_TELLING_STAGES))
    facts = facts[: max(0, len(facts) - (over - dropped))]
    lines = (head + stages[dropped:] + facts)[:rows]
    return [paper.spell(paper.clip(line, paper.columns).rstrip()) for line in lines]


class _Drawing:
    """One snapshot being drawn."""

    def __init__(self, snapshot: Snapshot, paper: Paper, age_s: float) -> None:
        self._at = snapshot
        self._paper = paper
        self._age_s = age_s
        self._is_compact = paper.columns < COMPACT_BELOW
        end_s = snapshot.ended_after_s
        self._late_s = 0.0 if end_s is None else max(0.0, snapshot.elapsed_s - end_s)  # to look

    def head(self) -> list[str]:
        """Whom it is about, and how long it has taken, at the right edge."""
        paper = self._paper
        time = render_offset(self._at.elapsed_s - self._late_s + self._age_s)
        room = paper.columns - count_columns(time) - 2
        name, *rest = name_server(self._at) or ["watching"]
        name = paper.cut_middle(name, room)
        tail = "" if self._is_compact else "".join(f" · {part}" for part in rest)
        tail = paper.cut(tail, room - count_columns(name))
        gap = " " * (paper.columns - count_columns(name + tail + time))
        return [paper.paint(name, "bold") + paper.paint(tail, "faint") + gap + time]

    def stages(self) -> list[str]:
        """A row per stage that was reached, and one for what ready needs."""
        explanation = self._at.explanation
        passages = [p for p in gather_startup(explanation) if p.stage is not Stage.READY]
        stage = explanation.stage
        is_known = stage in (None, Stage.READY, Stage.SERVING) or any(
            p.stage is stage for p in passages
        )
        if stage is not None and not is_known:
            passages.append(Passage(stage, None, "host", None, is_over=False))
        names = max((count_columns(p.stage) for p in passages), default=0)
        lines = [line for p in passages for line in self._stage(p, max(names, 12))]
        is_between = not any(p.stage is stage and not p.is_over for p in passages)
        return [*lines, *self._ready(is_next=is_between)]

    def _stage(self, passage: Passage, names: int) -> list[str]:
        paper, at = self._paper, self._at
        is_current = passage.stage is at.explanation.stage and not passage.is_over
        symbol, tone = self._symbol(is_over=passage.is_over, is_current=is_current)
        seconds = passage.seconds if passage.is_over else self._running_s(passage, is_current)
        took = "" if seconds is None else render_duration(seconds)
        head = f"{paper.paint(symbol, tone)} "
        name = pad(passage.stage, names)
        head += paper.paint(name, "bold") if is_current else name
        progress = at.progress if is_current else None
        if progress is not None and progress.stage is not passage.stage:
            progress = None
        if self._is_compact:
            room = paper.columns - count_columns(head)
            lines = [head + pad(took, room, to_the_right=True)]
            return lines + (self._compact_bar(progress) if progress else [])
        head += f"  {pad(took, 11, to_the_right=True)}  "
        room = paper.columns - count_columns(head)
        if progress is not None:
            return [head + self._bar_and_text(progress, room)]
        return [
            head + (paper.paint(passage.spread, "faint") if len(passage.spread) <= room else "")
        ]

    def _running_s(self, passage: Passage, is_current: bool) -> float | None:  # noqa: FBT001
        """How long a stage has gone on, in whole seconds because tenths that run are noise."""
        at = self._at
        seconds = at.stage_elapsed_s if is_current else None
        is_known = passage.clock == "host" and at.wall_ns is not None
        if seconds is None and is_known and passage.began_ns is not None:
            seconds = ((at.wall_ns or 0) - passage.began_ns) / 1e9
        if seconds is None:
            return passage.seconds
        age_s = 0.0 if at.state is State.EXITED else self._age_s
        return max(0.0, float(int(seconds + age_s - self._late_s)))

    def _symbol(self, *, is_over: bool, is_current: bool) -> tuple[str, str]:
        if is_over:
            return "✓", "green"
        verdict = self._at.explanation.verdict
        if verdict not in (Verdict.LOADING, Verdict.UNKNOWN) or self._at.is_final:
            return VERDICT_LOOKS[verdict]
        return self._spinner(), "cyan" if is_current else "faint"

    def _spinner(self) -> str:
        seconds = self._at.elapsed_s + self._age_s
        return _SPINNER[int(seconds * _SPINS_PER_S) % len(_SPINNER)]

    def _bar_and_text(self, progress: Progress, room: int) -> str:
        text = self._say(progress)
        columns = min(_BAR_COLUMNS, room - count_columns(text) - 2)
        return (
            self._paper.cut(text, room)
            if columns < 6
            else f"{self._bar(progress.fraction, columns)}  {text}"
        )

    def _say(self, progress: Progress) -> str:
        is_moving = self._at.explanation.verdict is Verdict.LOADING
        text = say_progress(progress, is_moving=is_moving)
        # A full bar is not the end of its stage: what it counts is often the quick part.
        return f"{text}, and goes on" if is_moving and progress.fraction >= 1 else text

    def _compact_bar(self, progress: Progress) -> list[str]:
        share = render_percent(progress.fraction)
        columns = self._paper.columns - count_columns(share) - 4
        text = self._say(progress).replace(f" {share}", "", 1)
        return [
            f"  {self._bar(progress.fraction, columns)}  {share}",
            f"  {self._paper.cut(text, self._paper.columns - 2)}",
        ]

    def _bar(self, fraction: float, columns: int) -> str:
        is_stuck = self._at.explanation.verdict not in (Verdict.LOADING, Verdict.READY)
        return render_bar(fraction, columns, self._paper, tone="yellow" if is_stuck else "green")

    def _ready(self, *, is_next: bool) -> list[str]:
        """Ready, or the four checks as far as they are answered; `is_next` when no stage runs."""
        paper, checks = self._paper, self._at.checks
        verdict = self._at.explanation.verdict
        if verdict is Verdict.READY:
            after_s = self._at.ready_after_s
            after = "" if after_s is None else f"  after {render_duration(after_s)}"
            ready = f"{paper.paint('✓', 'green')} {paper.paint('ready', 'bold')}"
            return [ready + paper.paint(after, "faint")]
        if verdict not in (Verdict.LOADING, Verdict.STALLED, Verdict.TIMED_OUT):
            return []
        is_late = verdict is not Verdict.LOADING  # until then, no is only not yet
        answers = (
            ("log", checks.log or (False if is_late else None)),
            ("health", checks.health == 200 or (False if is_late else None)),
            (
                "port" if self._is_compact else "own port",
                None if checks.owner is None else checks.owner is not Ownership.NO,
            ),
            ("token", checks.token),
        )
        looks = {True: ("✓", "green"), False: ("✗", "red"), None: ("·", "faint")}
        gap = " " if self._is_compact else "  "
        said = gap.join(
            paper.paint(looks[answer][0], looks[answer][1]) + f" {name}" for name, answer in answers
        )
        is_turning = is_next and verdict is Verdict.LOADING and not self._at.is_final
        symbol = paper.paint(self._spinner(), "cyan") if is_turning else paper.paint("○", "faint")
        return [f"{symbol} {paper.paint('ready', '' if is_turning else 'faint')}{gap}{said}"]
