"""Why a drafter is worth its use or not: the numbers behind a decision, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firedup.core.measure.decision import Advice, Decision, dear_step_ratio, imply_lengths
from firedup.core.measure.measured import Estimate, Load
from firedup.core.measure.sequential import Outlook, Side
from firedup.core.measure.speedup import Speedup
from firedup.view.quantity import render_estimate

_UNTOLD = "Whether the drafter or the step is to blame cannot be told."
_MOSTLY = 0.5  # of the variance: then it is drift that keeps a verdict open


def name_loads(loads: Sequence[Load]) -> str:
    """Such as "concurrency 1, 8"."""
    words = ", ".join(load.word for load in loads)
    return f"a load of {words}" if any(load.rate for load in loads) else f"concurrency {words}"


def say_reasons(
    one: Decision, outlook: Outlook | None = None, accuracy: float | None = None
) -> Iterator[str]:
    """Sentences with the numbers behind a decision.

    `outlook` is that of the last look, `accuracy` what somebody took for acceptance.
    """
    figures = one.figures
    if one.advice is Advice.UNDECIDED:
        yield _say_open(one, outlook)
    if figures is None:
        yield "The server does not say how much is accepted: what a step costs is not known."
        if one.side in (Side.NO_GAIN, Side.SLOWER) and one.pays_at is None:
            yield _UNTOLD
        return
    yield _say_lengths(one, figures)
    yield _say_step(one, figures)
    if not figures.is_doubtful or _most_step_ratio(one, figures) >= 1:
        yield _say_bounds(one, figures)
        if one.side in (Side.NO_GAIN, Side.SLOWER):
            yield from _say_levers(one, figures)
    if accuracy is not None:
        yield _say_accuracy(accuracy, figures)


def _say_open(one: Decision, outlook: Outlook | None) -> str:
    share = one.case.drift_share
    if one.case.speed_up.low is None:
        return "Too few prompts were answered by both to give an interval."
    if share is not None and share > _MOSTLY:
        return (
            f"Drift between visits is {100 * share:.0f} % of what keeps it open, and more prompts"
            " do not help against that: measure both servers in turn, while both are up."
        )
    if outlook is Outlook.HOPELESS:
        return (
            "What was left to ask would hardly have made it certain: so close to where a gain"
            " begins it takes many more prompts (--requests)."
        )
    return "More prompts make the interval narrower."


def _say_lengths(one: Decision, figures: Speedup) -> str:
    length = one.case.acceptance_length or Estimate(figures.acceptance_length)
    text = f"Acceptance length {render_estimate(length)}"
    tokens = figures.draft_tokens
    if tokens is None:
        return f"{text}; how many tokens a step drafts is not known."
    share = (figures.acceptance_length - 1) / tokens
    return f"{text} of {tokens + 1} at most: {100 * share:.0f} % of drafted tokens are accepted."


def _say_step(one: Decision, figures: Speedup) -> str:
    times = f"{1000 * figures.step_s:.1f} ms against {1000 * figures.plain_step_s:.1f}"
    if not figures.is_doubtful:
        return (
            f"A step costs {figures.step_ratio:.2f} times a plain one ({times}), so it breaks even"
            f" at an acceptance length of {figures.break_even:.2f}."
        )
    cheaper = (
        f"By these figures a step with drafts costs {figures.step_ratio:.2f} times a plain one"
        f" ({times}), and it does more"
    )
    most = _most_step_ratio(one, figures)
    if most >= 1:
        return f"{cheaper}; within their intervals it may be {most:.2f}."
    return (
        f"{cheaper}: they do not belong together. Look whether both are the same model on the same"
        " hardware, and whether the counters are of these requests alone."
    )


def _most_step_ratio(one: Decision, figures: Speedup) -> float:
    """The highest that the intervals of acceptance and speed allow."""
    length, speed_up = one.case.acceptance_length, one.case.speed_up
    longest = length.high if length and length.high is not None else figures.acceptance_length
    least = speed_up.low if speed_up.low is not None else speed_up.value
    return longest / least


def _say_bounds(one: Decision, figures: Speedup) -> str:
    plain = (
        f"this drafter at the step cost of the baseline {figures.at_plain_step:.0f} tok/s"
        f" ({figures.acceptance_length:.2f}x)"
    )
    if figures.perfect is None or one.perfect_speed_up is None:
        return f"{plain[0].upper()}{plain[1:]}."
    return (
        f"A perfect drafter at this step cost would give {figures.perfect:.0f} tok/s"
        f" ({one.perfect_speed_up:.2f}x), {plain}."
    )


def _say_levers(one: Decision, figures: Speedup) -> Iterator[str]:
    tokens = figures.draft_tokens
    if one.pays_at is not None:
        yield (
            f"It pays at {name_loads([one.pays_at])}: under more load a step with drafts does more"
            " work than the hardware has to spare, and it is the load that it does not fit."
        )
        return
    advice = (one.advice, one.also)
    if Advice.FINE_TUNE in advice:
        if tokens is not None:
            needed = (figures.break_even - 1) / tokens
            yield (
                f"The drafter is a lever: from {100 * needed:.0f} % of drafted tokens accepted on"
                " it would pay at this step cost."
            )
        else:
            yield "The drafter is a lever: next to nothing of what it drafts is accepted."
    if Advice.FIX_SYSTEM in advice and tokens is not None:
        if one.perfect_speed_up is not None and one.perfect_speed_up <= 1:
            yield "No drafter pays here, however good: the step has to become cheaper."
        elif Advice.FINE_TUNE not in advice:
            yield "The drafter is not the trouble, the step is."
        yield (
            f"The step is a lever: with {tokens} draft tokens it should cost no more than about"
            f" {dear_step_ratio(tokens):.2f} plain ones. Look at CUDA graphs, at communication"
            " between GPUs, at the drafter's own parallelism and attention, and at fewer draft"
            " tokens."
        )
    if one.advice is Advice.DO_NOT_USE:
        is_excluded = one.is_acceptance_low is False and one.is_step_dear is False
        yield _say_near_its_best(one.side) if is_excluded else _UNTOLD


def _say_near_its_best(side: Side) -> str:
    end = "and loses" if side is Side.SLOWER else "and that is no gain worth having"
    return f"Neither low acceptance nor a dear step explains it: it is near its best, {end}."


def _say_accuracy(accuracy: float, figures: Speedup) -> str:
    text = f"A validation accuracy of {100 * accuracy:.1f} % is no acceptance:"
    first, each = imply_lengths(accuracy, figures.draft_tokens or 1)
    text += f" at the first position alone it would mean a length of {first:.2f}"
    if figures.draft_tokens is not None:
        text += f", at each of {figures.draft_tokens} one of {each:.2f}"
    return f"{text}; {figures.acceptance_length:.2f} was measured."
