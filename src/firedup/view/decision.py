"""The advice about a drafter and the numbers behind it, in plain sentences and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.core.measure.comparable import Obstacle, Weight
from firedup.core.measure.decision import Advice, Crossing, Decision, sum_up
from firedup.core.measure.judged import Judged
from firedup.core.measure.measured import Load
from firedup.core.measure.rival import Claim
from firedup.core.measure.sequential import Look, Side
from firedup.core.measure.stepcost import StepCost
from firedup.view.change import record_change, render_change
from firedup.view.headline import render_section
from firedup.view.paper import Paper
from firedup.view.probed import record_estimate
from firedup.view.quantity import render_estimate
from firedup.view.reason import name_loads, say_reasons
from firedup.view.record import SCHEMA
from firedup.view.redact import clean
from firedup.view.speedup import describe_speed_up

_LOOKS = {
    Advice.USE: ("✓", "green"),
    Advice.DO_NOT_USE: ("✗", "red"),
    Advice.FINE_TUNE: ("✗", "yellow"),
    Advice.FIX_SYSTEM: ("✗", "yellow"),
    Advice.UNDECIDED: ("○", "yellow"),
}
_MOST_RIVALS = 3


def render_decision(
    judged: Judged,
    paper: Paper,
    *,
    costs: Sequence[StepCost] = (),
    accuracy: float | None = None,
) -> list[str]:
    """The verdict in one line, then each load in one, then why, for the first that is not used.

    `costs` of a step, where they are known, tell the best number of draft tokens. `accuracy` is a
    validation accuracy that somebody took for acceptance.
    """
    decisions = judged.decisions
    untold = [
        line
        for one in judged.unmeasured
        for line in paper.fold(
            f"{name_loads([one.load])}: nothing can be said: {one.why}", indent="  ", rest="      "
        )
    ]
    if not decisions:
        return ["no verdict: there are no answers of both arms that may be compared", *untold]
    word = sum_up(decisions)
    symbol, tone = _LOOKS[word]
    lines = [paper.paint(f"{symbol} {_headline(decisions, word)}", tone, "bold")]
    for one in decisions:
        lines += paper.fold(_say_load(one), indent="  ", rest="      ")
    lines += untold
    if judged.crossing is not None:
        lines += paper.fold(_say_crossing(judged.crossing), indent="  ", rest="      ")
    for one in decisions:
        if (cost := _cost_of(one, costs)) is not None and cost.best is not None:
            lines += paper.fold(_say_best(one, cost, cost.best), indent="  ", rest="      ")
    told = next((one for one in decisions if one.advice is not Advice.USE), decisions[0])
    look = judged.looks.get(told.case.load)
    reasons = say_reasons(told, look.outlook if look else None, accuracy)
    why = [line for text in reasons for line in _item(text, paper)]
    lines += render_section(_title(told, decisions), why, paper)
    lines += _render_rivals(told.rivals, paper)
    return lines + render_obstacles(judged.obstacles, paper)


def render_obstacles(obstacles: Sequence[Obstacle], paper: Paper) -> list[str]:
    """What is different between the arms beside the drafter, what forbids a comparison first."""
    body: list[str] = []
    for one in obstacles:
        if one.weight is Weight.HARMLESS:
            continue
        head = "NOT COMPARABLE: " if one.weight is Weight.FORBIDS else ""
        body += _item(f"{head}{_say_difference(one)}", paper)
        body += paper.fold(f"({one.why})", indent="    ", rest="    ")
    return render_section("what differs beside the drafter", body, paper)


def _say_difference(one: Obstacle) -> str:
    if not one.is_condition:
        return render_change(one.name, one.baseline, one.candidate)
    if one.baseline is None and one.candidate is None:
        return one.name
    sides = ("not known" if side is None else clean(side) for side in (one.baseline, one.candidate))
    return f"{one.name} {' → '.join(sides)}"


def _item(text: str, paper: Paper) -> list[str]:
    return paper.fold(text, indent="  ", rest="    ")


def _headline(decisions: Sequence[Decision], word: Advice) -> str:
    if word is Advice.USE:
        return _say_use(decisions)
    first = decisions[0]
    if word is Advice.UNDECIDED:
        return "undecided"
    levers = {Advice.FINE_TUNE: "fine-tune the drafter", Advice.FIX_SYSTEM: "fix the system"}
    todo = [levers[one] for one in (first.advice, first.also) if one in levers]
    return "do not use this drafter as it is" + (f": {' and '.join(todo)}" if todo else "")


def _say_use(decisions: Sequence[Decision]) -> str:
    parts: dict[str, list[Load]] = {"use this drafter": [], "not": [], "undecided": []}
    words = {Advice.USE: "use this drafter", Advice.UNDECIDED: "undecided"}
    for one in decisions:
        parts[words.get(one.advice, "not")].append(one.case.load)
    said = [f"{word} at {name_loads(loads)}" for word, loads in parts.items() if loads]
    return ", ".join(said) if len(said) > 1 else "use this drafter"


def _title(told: Decision, decisions: Sequence[Decision]) -> str:
    return "why" if len(decisions) == 1 else f"why, at {name_loads([told.case.load])}"


def _say_load(one: Decision) -> str:
    head = f"{name_loads([one.case.load])}: {render_estimate(one.case.speed_up, 'x')}"
    if one.side is Side.OPEN:
        return f"{head}, undecided"
    if one.side is Side.NO_GAIN:
        return f"{head}, no gain worth having"
    return f"{head}, {describe_speed_up(one.case.speed_up.value)}"


def _say_crossing(one: Crossing) -> str:
    if one.loses_at == one.pays_at + 1:
        return f"It stops paying above concurrency {one.pays_at}."
    return (
        f"It stops paying between concurrency {one.pays_at} and {one.loses_at}, the measured ones;"
        f" a line between them meets 1.00x at about {one.about:.0f}."
    )


def _cost_of(one: Decision, costs: Sequence[StepCost]) -> StepCost | None:
    return next((cost for cost in costs if cost.load == one.case.load), None)


def _say_best(one: Decision, cost: StepCost, best: int) -> str:
    """By what a step costs and which positions are accepted; no number beyond those is guessed."""
    speed = cost.tokens_per_s(best)
    is_now = ", as now," if best == one.case.draft_tokens else ""
    tokens = "1 draft token" if best == 1 else f"{best} draft tokens"
    verb = "is" if best == 1 else "are"
    return (
        f"By what steps cost at {name_loads([one.case.load])}, {tokens}{is_now} {verb} the best:"
        f" {speed:.0f} tok/s ({speed / one.case.baseline:.2f}x)."
    )


def _render_rivals(claims: Sequence[Claim], paper: Paper) -> list[str]:
    body: list[str] = []
    standing = [claim for claim in claims if claim.excluded_by is None]
    for claim in standing[:_MOST_RIVALS]:
        hint = f" ({claim.hint})" if claim.hint else ""
        body += _item(f"{claim.rival}: {claim.says}{hint}. Look at {claim.test}.", paper)
    if rest := standing[_MOST_RIVALS:]:
        body += _item(f"also: {', '.join(str(claim.rival) for claim in rest)}", paper)
    for claim in claims:
        if claim.excluded_by is not None:
            body += _item(f"not {claim.rival}: {claim.excluded_by}", paper)
    return render_section("before training, exclude", body, paper)


def record_decision(
    judged: Judged, *, costs: Sequence[StepCost] = (), accuracy: float | None = None
) -> dict[str, object]:
    """The same for programs."""
    crossing = judged.crossing
    return {
        "schema": SCHEMA,
        "advice": str(sum_up(judged.decisions)),
        "loads": [
            _record(one, judged.looks.get(one.case.load), _cost_of(one, costs))
            for one in judged.decisions
        ],
        "unmeasured": [{**_record_load(one.load), "why": one.why} for one in judged.unmeasured],
        "stops_paying": None
        if crossing is None
        else {"above": crossing.pays_at, "at": crossing.loses_at, "about": crossing.about},
        "validation_accuracy": accuracy,
        "differs": [
            record_change(one.name, one.baseline, one.candidate)
            | {"weight": str(one.weight), "why": one.why}
            for one in judged.obstacles
        ],
    }


def _record_load(load: Load) -> dict[str, object]:
    return {"concurrency": load.concurrency if load.rate is None else None, "rate": load.rate}


def _record(one: Decision, look: Look | None, cost: StepCost | None) -> dict[str, object]:
    figures = one.figures
    return {
        **_record_load(one.case.load),
        "advice": str(one.advice),
        "also": str(one.also) if one.also else None,
        "certain": str(one.side),
        "outlook": str(look.outlook) if look else None,
        "speed_up": record_estimate(one.case.speed_up),
        "drift_share": one.case.drift_share,
        "baseline_tokens_per_s": one.case.baseline,
        "acceptance_length": record_estimate(one.case.acceptance_length),
        "draft_tokens": one.case.draft_tokens,
        "best_draft_tokens": cost.best if cost else None,
        "step_ratio": figures.step_ratio if figures else None,
        "break_even_acceptance_length": figures.break_even if figures else None,
        "tokens_per_s_if_perfect": figures.perfect if figures else None,
        "tokens_per_s_at_plain_step": figures.at_plain_step if figures else None,
        "rivals": [
            {
                "cause": str(claim.rival),
                "says": claim.says,
                "test": claim.test,
                "excluded_by": claim.excluded_by,
                "hint": claim.hint,
            }
            for claim in one.rivals
        ],
    }
