"""The arithmetic of speculative decoding in sentences, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from firedup.core.measure.speedup import Speedup
from firedup.view.record import SCHEMA

_EVEN = 0.005  # what rounds to 1.00×


def render_speedup(found: Speedup, assumed: Sequence[tuple[str, Speedup]] = ()) -> list[str]:
    """What the figures mean, a line each, and what they would be under each assumption."""
    lines = [
        f"baseline  {_speed(found.baseline)}  {_ms(found.plain_step_s)} a step, 1 token each",
        (
            f"drafter   {_speed(found.speed)}  {_ms(found.step_s)} a step,"
            f" {found.acceptance_length:.2f} tokens each (acceptance length)"
        ),
        "",
        f"{found.speed_up:.2f}x: {describe_speed_up(found.speed_up)}.",
        *_explain(found),
    ]
    if found.perfect is not None:
        perfect = found.perfect / found.baseline
        lines.append(
            f"With all {found.draft_tokens} draft tokens accepted it would be"
            f" {found.perfect:.0f} tok/s ({perfect:.2f}x) at this step cost:"
        )
        lines.append(f"{_reach(perfect)}.")
    if assumed:
        lines.append("")
        width = max(len(name) for name, _ in assumed)
        lines += [f"{name:{width}}  {_describe(one)}" for name, one in assumed]
    return lines


def _explain(found: Speedup) -> list[str]:
    """What the cost of a step means, or that these figures cannot be of one server."""
    if (doubt := _doubt(found)) is not None:
        return [doubt, "Measure all of them on the same server, with one stream."]
    return [
        (
            f"A step costs {found.step_ratio:.2f} times a plain one, so the drafter pays from an"
            f" acceptance length of {found.break_even:.2f} on."
        ),
        f"To double the speed at this step cost it takes {found.doubling:.2f}.",
        (
            f"If steps cost no more than plain ones, this drafter would give"
            f" {found.at_plain_step:.0f} tok/s ({found.acceptance_length:.2f}x)."
        ),
    ]


def _doubt(one: Speedup) -> str | None:
    if not one.is_doubtful:
        return None
    return (
        f"These figures do not belong together: they make a step with the drafter"
        f" ({_ms(one.step_s)}) cheaper than a plain one ({_ms(one.plain_step_s)})."
    )


def describe_speed_up(ratio: float) -> str:
    """A gain is never said of what is not faster."""
    if abs(ratio - 1) < _EVEN:
        return "neither gain nor loss"
    percent = 100 * abs(ratio - 1)
    digits = 0 if percent >= 1 else 1
    return f"{percent:.{digits}f} % {'faster' if ratio > 1 else 'slower, a loss'}"


def record_speedup(
    found: Speedup, assumed: Sequence[tuple[str, Speedup]] = ()
) -> dict[str, object]:
    """The same for programs."""
    return {
        "schema": SCHEMA,
        **_record(found),
        "baseline_tokens_per_s": found.baseline,
        "plain_step_s": found.plain_step_s,
        "doubling_acceptance_length": found.doubling,
        "tokens_per_s_at_plain_step": found.at_plain_step,
        "tokens_per_s_if_perfect": found.perfect,
        "draft_tokens": found.draft_tokens,
        "doubt": _doubt(found),
        "what_if": [{"assumed": name, **_record(one)} for name, one in assumed],
    }


def _record(one: Speedup) -> dict[str, object]:
    return {
        "tokens_per_s": one.speed,
        "acceptance_length": one.acceptance_length,
        "step_s": one.step_s,
        "step_ratio": one.step_ratio,
        "break_even_acceptance_length": one.break_even,
        "speed_up": one.speed_up,
    }


def _describe(one: Speedup) -> str:
    doubt = ", cheaper than a plain step: that cannot be" if one.is_doubtful else ""
    return (
        f"{_speed(one.speed)}  {one.speed_up:.2f}x, {describe_speed_up(one.speed_up)}"
        f" (acceptance length {one.acceptance_length:.2f}, {_ms(one.step_s)} a step{doubt})"
    )


def _reach(perfect: float) -> str:
    if perfect < 1:
        return "no drafter pays here, the step is what has to become cheaper"
    return "the most that a better drafter can bring"


def _speed(per_s: float) -> str:
    return f"{per_s:6.1f} tok/s" if per_s < 100 else f"{per_s:6.0f} tok/s"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms" if seconds >= 1e-4 else f"{1000 * seconds:.4f} ms"
