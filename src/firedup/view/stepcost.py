"""What a step costs by how many tokens it drafts: a table, a sentence, and the same as JSON."""

from __future__ import annotations

from firedup.core.measure.stepcost import StepCost
from firedup.view.headline import render_section
from firedup.view.paper import Paper

TITLE = "cost of a step"


def render_step_cost(costs: tuple[StepCost, ...], paper: Paper) -> list[str]:
    """A section for each load; where there is none, what it would take."""
    if not costs:
        why = (
            "no line yet: it takes measurements of this server with two numbers of draft tokens"
            " at least, whatever their acceptance. Restart it with another number and probe again."
        )
        return render_section(TITLE, paper.fold(why, indent="  ", rest="  "), paper)
    lines: list[str] = []
    for cost in costs:
        title = TITLE if len(costs) == 1 else f"{TITLE}, load {cost.load.word}"
        lines += render_section(title, _body(cost, paper), paper)
    return lines


def _body(cost: StepCost, paper: Paper) -> list[str]:
    body = [
        f"  {point.draft_tokens:3} draft tokens   {1000 * point.step_s:8.2f} ms measured,"
        f" {1000 * cost.step_s(point.draft_tokens):8.2f} on the line   {point.requests} answers"
        for point in cost.points
    ]
    says = (
        f"A step takes {1000 * cost.base_s:.2f} ms and {1000 * cost.per_token_s:.2f} ms more for"
        " each draft token"
    )
    if cost.worst is None:
        says += "; two points always lie on a line, a third would test it."
    else:
        says += f"; the line misses what was measured by {cost.worst:.0%} at most."
    best = cost.best
    if best is None:
        says += " Which number is best is not known: no acceptance by position was measured."
    else:
        says += (
            f" By the acceptance at each position, {best} draft tokens are the best of those"
            f" measured: {cost.tokens_per_s(best):.1f} tokens/s of a stream."
        )
        if best == len(cost.reached):
            says += (
                " More than that may be better still: nobody measured how often they are accepted."
            )
    return body + paper.fold(says, indent="  ", rest="  ")


def record_step_cost(costs: tuple[StepCost, ...]) -> list[dict[str, object]]:
    """The same for programs."""
    return [
        {
            "load": cost.load.word,
            "base_s": cost.base_s,
            "per_draft_token_s": cost.per_token_s,
            "worst_miss": cost.worst,
            "points": [
                {"draft_tokens": p.draft_tokens, "step_s": p.step_s, "requests": p.requests}
                for p in cost.points
            ],
            "accepted_by_position": list(cost.reached),
            "best_draft_tokens": cost.best,
        }
        for cost in costs
    ]
