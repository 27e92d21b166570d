"""A whole probe: which prompts, which servers, measured until it is certain, and kept."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from firedup.core.error import MeasureError, StoreError
from firedup.core.measure.judged import Judged, judge_arms
from firedup.core.measure.measured import Arm, Load, Request
from firedup.core.measure.pairing import Design
from firedup.session.comparing import refuse_incomparable
from firedup.session.probeplan import ProbeOrder, make_plan
from firedup.session.probing import Plan, Side, measure
from firedup.session.side import OpenedSide, Opening, is_address, open_side
from firedup.store.probe import StoredProbe, find_probe, new_id, save_probe

BASELINE, CANDIDATE = "baseline", "candidate"


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a probe is: requests answered of those planned, for how many seconds."""

    answered: int
    planned: int
    elapsed_s: float
    newest: Request | None = None

    @property
    def remaining_s(self) -> float | None:
        """By the pace so far; None before the first answer."""
        if not self.answered:
            return None
        return self.elapsed_s / self.answered * (self.planned - self.answered)


@dataclass(frozen=True, slots=True)
class Probed:
    """What a probe measured: the candidate, and the baseline where there is one.

    `judged` is what follows, None without a baseline. `kept` are the files in which they lie.
    `is_cut_short`: the budget was spent, or all was certain, before everything was asked. `notes`
    say what of the plan is missing. `failure` is why a server answered no more: then nothing is
    kept.
    """

    candidate: Arm
    baseline: Arm | None
    design: Design = Design.SEQUENTIAL
    judged: Judged | None = None
    kept: tuple[Path, ...] = ()
    is_cut_short: bool = False
    notes: tuple[str, ...] = ()
    failure: str | None = None


async def probe(
    order: ProbeOrder,
    opening: Opening,
    folder: Path,
    *,
    tell: Callable[[Standing], None],
) -> Probed:
    """Measure the target, beside its baseline or after it, and keep the results in `folder`.

    A baseline that was measured before is used as it is kept; else it is asked in turn with the
    target. Stops early when every load is decided, or when the budget is spent. IncomparableError
    when the two are not comparable, before anything is measured.
    """
    stored = _find_stored(order, folder)
    past = replace(stored.arm, name=BASELINE) if stored else None
    is_in_turn = order.baseline is not None and past is None
    plan, generation = make_plan(order, past, is_in_turn=is_in_turn)
    async with AsyncExitStack() as stack:
        words = [(order.baseline, BASELINE)] if order.baseline is not None and is_in_turn else []
        opened = []
        for text, name in (*words, (order.target, CANDIDATE)):
            one = await stack.enter_async_context(open_side(text, name, opening, generation))
            known = one.side.conditions
            one.side.conditions = replace(known, prompts=plan.name, seed=plan.seed)
            opened.append(one)
        refuse_incomparable(past or opened[0].side.arm(), opened[-1].side.arm())
        measuring = _Measuring(plan, past, tell, is_in_turn=is_in_turn)
        try:
            await measuring.run([one.side for one in opened])
        except asyncio.CancelledError:
            if not any(cell.kept for arm in measuring.arms[-1:] for cell in arm.cells):
                opening.say("broken off before anything counted; nothing is kept")
            else:
                kept = _keep_all(folder, opened, measuring.arms, opening.say)
                opening.say(f"broken off; kept as {', '.join(path.stem for path in kept)}")
            raise
    measuring.conclude()
    arms = measuring.arms
    # What a server did that then died is no baseline for others.
    kept = () if measuring.failure else _keep_all(folder, opened, arms, opening.say)
    return Probed(
        arms[-1],
        measuring.baseline,
        measuring.design,
        measuring.judged,
        kept,
        is_cut_short=measuring.answered < measuring.planned,
        notes=measuring.notes,
        failure=measuring.failure,
    )


def _find_stored(order: ProbeOrder, folder: Path) -> StoredProbe | None:
    if order.baseline is None or is_address(order.baseline):
        return None
    return find_probe(folder, order.baseline)


class _Measuring:
    """One measurement on its way."""

    def __init__(
        self, plan: Plan, past: Arm | None, tell: Callable[[Standing], None], *, is_in_turn: bool
    ) -> None:
        self.plan = plan
        self.past = past
        self.arms: tuple[Arm, ...] = ()
        self.design = Design.INTERLEAVED if is_in_turn else Design.SEQUENTIAL
        self.judged: Judged | None = None
        self.answered = 0
        self.spared = 0  # requests of loads that were decided before
        self.is_spent = False  # the budget
        self.failure: str | None = None  # why a server answers no more
        self.planned = plan.requests * (2 if is_in_turn else 1)
        self._decided: set[Load] = set()
        self._tell = tell
        self._begun_s = time.monotonic()

    @property
    def baseline(self) -> Arm | None:
        """What was measured before, or is measured too."""
        return self.past or (self.arms[0] if len(self.arms) > 1 else None)

    async def run(self, sides: list[Side]) -> None:
        """Until all is asked, or decided, or the budget is spent."""
        rounds_done = 0
        try:
            async with (
                asyncio.timeout(self.plan.budget_s),
                aclosing(
                    measure(sides, self.plan, tell=self._count, decided=self._decided)
                ) as rounds,
            ):
                async for self.arms in rounds:
                    rounds_done += 1
                    self.failure = next((s.failure for s in sides if s.failure), None)
                    if rounds_done < self.plan.rounds and not self.failure:
                        self._look(rounds_done)
                        if self.judged is not None and self.judged.is_over:
                            return
        except TimeoutError:
            self.is_spent = True
            self.arms = tuple(side.arm() for side in sides)
        except asyncio.CancelledError:
            self.arms = tuple(side.arm() for side in sides)
            raise

    def conclude(self) -> None:
        """Judge what there is. MeasureError when there is nothing that counts."""
        if not self.arms or not all(any(cell.kept for cell in arm.cells) for arm in self.arms):
            raise self._explain_nothing()
        if self.baseline is not None and (self.judged is None or not self.judged.is_over):
            self._judge(1.0)

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the plan is missing, in sentences."""
        found = []
        if self.failure is not None:
            found.append(
                f"a server answered no more after {self.answered} of {self.planned} requests:"
                f" {self.failure}; nothing of this is kept"
            )
        elif self.is_spent:
            found.append(f"the budget was spent after {self.answered} of {self.planned} requests")
        measured = {cell.load for arm in self.arms for cell in arm.cells if cell.kept}
        missing = [load.word for load in self.plan.loads if load not in measured]
        if missing:
            found.append(f"not measured: a load of {', '.join(missing)}")
        return tuple(found)

    def _explain_nothing(self) -> MeasureError:
        asked = [r for arm in self.arms for cell in arm.cells for r in cell.requests]
        answered = [request for request in asked if request.error is None]
        error = next((r.error for r in reversed(asked) if r.error is not None), None)
        if error is not None:
            silent = "server"
            if self.baseline is not None:
                mute = (a.name for a in self.arms if not any(cell.kept for cell in a.cells))
                silent = next(mute, silent)
            return MeasureError(
                f"the {silent} answered nothing that counts",
                evidence=error,
                todo=_advise(error),
            )
        return MeasureError(
            "the budget was spent before anything was measured",
            evidence=f"{len(answered)} requests were answered, all of them to warm up"
            if answered
            else "no request was answered in time",
            todo="Give --budget more time, or ask for fewer --max-tokens.",
        )

    def _look(self, rounds: int) -> None:
        """Judge by a look that is paid for, and ask no load on that it decides."""
        is_uneven = self.design is Design.INTERLEAVED and rounds % 2 == 1
        if self.baseline is None or is_uneven:
            return
        elapsed_s = time.monotonic() - self._begun_s
        used = elapsed_s / self.plan.budget_s if self.plan.budget_s is not None else 0.0
        self._judge(
            {
                load: min(max(rounds / visits, used), 0.999) if rounds < visits else 1.0
                for load, visits in zip(self.plan.loads, self.plan.visits, strict=True)
            }
        )
        decided = self.judged.decided if self.judged else frozenset()
        for number, load in enumerate(self.plan.loads):
            if load in decided and load not in self._decided:
                self._decided.add(load)
                rest = range(rounds, self.plan.visits[number])
                parts = (self.plan.part(number, visit) for visit in rest)
                left = sum(prompt.turns for part in parts for prompt in part)
                self.spared += left * (2 if self.design is Design.INTERLEAVED else 1)

    def _judge(self, share: float | Mapping[Load, float]) -> None:
        assert self.baseline is not None  # noqa: S101 - both callers have looked
        self.judged = judge_arms(
            self.baseline, self.arms[-1], self.design, share=share, before=self.judged
        )

    def _count(self, request: Request) -> None:
        self.answered += 1
        elapsed_s = time.monotonic() - self._begun_s
        self._tell(Standing(self.answered, self.planned - self.spared, elapsed_s, request))


def _advise(error: str) -> str:
    """What to do about a server that answers with `error` alone."""
    if re.search(r" answered 429\b", error):
        return "It limits how much is asked of it: ask less at a time (--rate), or later."
    if re.search(r" answered 4(00|13|22)\b", error):
        return "It refuses such requests: look at --max-tokens, --prompts, --category and --engine."
    return "Ask it once by hand, and look at its log; firedup logs RUN shows that of a run."


def _keep_all(
    folder: Path, opened: Sequence[OpenedSide], arms: Sequence[Arm], say: Callable[[str], None]
) -> tuple[Path, ...]:
    """Keep what can be kept: a full disk takes no result away from who waits for it."""
    kept = []
    for one, arm in zip(opened, arms, strict=True):
        try:
            kept.append(_keep(folder, one, arm))
        except StoreError as error:
            say(f"{error.what}: {error.why}" if error.why else error.what)
    return tuple(kept)


def _keep(folder: Path, one: OpenedSide, arm: Arm) -> Path:
    run = one.run.label if one.run else None
    probe_id = new_id(arm.wall_ns)
    stored = StoredProbe(
        probe_id, arm, one.url, one.host, run.id if run else None, run.name if run else None
    )
    return save_probe(folder, stored)
