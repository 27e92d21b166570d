"""The arithmetic of speculative decoding: speed = acceptance length ÷ time of a step."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_CLOSE = 0.02  # given figures that agree within this are the same measurement, rounded

_ASSUMPTION = re.compile(r"(accept|speed|step)=(\d+(?:\.\d+)?)(ms)?")


@dataclass(frozen=True, slots=True)
class Speedup:
    """One stream with a drafter against the same server without one.

    `baseline` and `speed` are tokens a second, `acceptance_length` counts the bonus token.
    `draft_tokens` is how many tokens a step proposes one after the other, None when not known.
    """

    baseline: float
    speed: float
    acceptance_length: float
    draft_tokens: int | None = None

    @property
    def plain_step_s(self) -> float:
        """Time of a step without a drafter, which gives one token."""
        return 1 / self.baseline

    @property
    def step_s(self) -> float:
        """Time of a step: drafting and verifying."""
        return self.acceptance_length / self.speed

    @property
    def step_ratio(self) -> float:
        """How many times a plain step one with the drafter takes."""
        return self.step_s / self.plain_step_s

    @property
    def break_even(self) -> float:
        """The acceptance length from which on it pays at this step cost: the step ratio itself."""
        return self.step_ratio

    @property
    def speed_up(self) -> float:
        """Speed against the baseline; below 1 it is a loss."""
        return self.speed / self.baseline

    @property
    def doubling(self) -> float:
        """The acceptance length at which the speed would be twice the baseline's."""
        return 2 * self.step_ratio

    @property
    def at_plain_step(self) -> float:
        """Tokens a second of this drafter if its step cost no more than a plain one."""
        return self.acceptance_length * self.baseline

    @property
    def perfect(self) -> float | None:
        """Tokens a second at this step cost if every drafted token were accepted."""
        return None if self.draft_tokens is None else (self.draft_tokens + 1) / self.step_s

    def with_acceptance(self, length: float) -> Speedup:
        """The same step cost with another acceptance length."""
        return replace(self, speed=length / self.step_s, acceptance_length=length)

    def with_step(self, step_s: float) -> Speedup:
        """The same drafter on a system whose step takes `step_s`."""
        return replace(self, speed=self.acceptance_length / step_s)

    def with_speed(self, speed: float) -> Speedup:
        """The same step cost where `speed` was measured: which acceptance length that implies."""
        return replace(self, speed=speed, acceptance_length=speed * self.step_s)


def solve(
    baseline: float,
    *,
    speed: float | None = None,
    acceptance_length: float | None = None,
    step_s: float | None = None,
    draft_tokens: int | None = None,
) -> Speedup:
    """The whole from the baseline and two of the other three, all above 0.

    With all three they must agree. Raises ValueError with a sentence when they are too few, or
    contradict each other or themselves.
    """
    given = {"speed": speed, "acceptance length": acceptance_length, "step time": step_s}
    known = [name for name, value in given.items() if value is not None]
    if len(known) < 2:
        has = f"only the {known[0]} is given" if known else "none of them is given"
        raise ValueError(f"two of speed, acceptance length and step time tell the third, and {has}")
    if acceptance_length is None:
        acceptance_length = (speed or 0.0) * (step_s or 0.0)
    if speed is None:
        speed = acceptance_length / (step_s or 1.0)
    if step_s is not None and abs(acceptance_length / speed / step_s - 1) > _CLOSE:
        raise ValueError(
            f"an acceptance length of {acceptance_length:g} at {speed:g} tokens a second means"
            f" steps of {1000 * acceptance_length / speed:.1f} ms, not {1000 * step_s:.1f}"
        )
    return _checked(Speedup(baseline, speed, acceptance_length, draft_tokens))


def assume(found: Speedup, text: str) -> Speedup:
    """What would be if "accept=3.2" or "speed=60" held at this step cost, or "step=20ms".

    Raises ValueError with a sentence when `text` is no such assumption, or an impossible one.
    """
    match = _ASSUMPTION.fullmatch(text.strip())
    value = float(match[2]) if match else 0.0
    if match is None or not value or (match[3] and match[1] != "step"):
        raise ValueError(f"{text!r} is no assumption")
    if match[1] == "accept":
        return _checked(found.with_acceptance(value))
    if match[1] == "step":
        return found.with_step(value / 1000)
    return _checked(found.with_speed(value))


def _checked(one: Speedup) -> Speedup:
    """`one`, if there can be such an acceptance length."""
    length, most = one.acceptance_length, (one.draft_tokens or 0) + 1
    if length < 1:
        raise ValueError(
            f"an acceptance length is at least 1, the token that every step gives; these figures"
            f" mean {length:.2f}"
        )
    if one.draft_tokens is not None and length > most:
        raise ValueError(
            f"{one.draft_tokens} draft tokens give an acceptance length of {most} at most, and"
            f" these figures mean {length:.2f}"
        )
    return one
