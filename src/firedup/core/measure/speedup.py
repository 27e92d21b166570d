"""The arithmetic of speculative decoding: speed = acceptance length ÷ time of a step."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_ROUNDING = 1e-9  # of floats, whose product may be below what it stands for
_CLOSE = 0.02  # given figures that agree within this are the same measurement, rounded

# What a figure can be at all: what lies outside is a slip, and would be printed as nonsense.
SPEEDS = (0.001, 1e7)  # tokens a second
LENGTHS = (1.0, 1000.0)  # acceptance lengths
STEPS_S = (1e-6, 1e4)

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)"
_ASSUMPTION = re.compile(rf"(accept|speed)=({_NUMBER})|step=(.+)")
_STEP = re.compile(rf"({_NUMBER}) ?(ms|s)?")


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
    def is_doubtful(self) -> bool:
        """Whether a step with the drafter would be cheaper than one without, which does less."""
        return self.step_ratio < 1 - _CLOSE

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
    if match is None:
        raise ValueError(f"{text!r} is no assumption")
    if match[3] is not None:
        return found.with_step(parse_step(match[3]))
    if match[1] == "accept":
        return _checked(found.with_acceptance(_within(match[2], LENGTHS)))
    return _checked(found.with_speed(_within(match[2], SPEEDS)))


def parse_step(text: str) -> float:
    """Seconds of "28.8ms", "0.0288s", and of "28.8", which are milliseconds. Raises ValueError."""
    match = _STEP.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no time of a step; such as 28.8ms or 0.0288s")
    step_s = float(match[1]) / (1 if match[2] == "s" else 1000)
    low, high = STEPS_S
    if not low <= step_s <= high:
        raise ValueError(f"a step takes between {1000 * low:g} ms and {high:g} s, not {text}")
    return step_s


def _within(text: str, limits: tuple[float, float]) -> float:
    low, high = limits
    value = float(text)
    if not low <= value <= high:
        raise ValueError(f"{text} is not between {low:g} and {high:.0f}")
    return value


def _checked(one: Speedup) -> Speedup:
    """`one`, if there can be such an acceptance length."""
    length, most = one.acceptance_length, (one.draft_tokens or 0) + 1
    if length < 1 - _ROUNDING:
        raise ValueError(
            f"an acceptance length is at least 1, the token that every step gives; these figures"
            f" mean {length:.2f}"
        )
    if length > LENGTHS[1] * (1 + _ROUNDING):
        raise ValueError(f"no step gives {length:.0f} tokens, which is what these figures mean")
    if one.draft_tokens is not None and length > most * (1 + _ROUNDING):
        raise ValueError(
            f"{one.draft_tokens} draft tokens give an acceptance length of {most} at most, and"
            f" these figures mean {length:.2f}"
        )
    return one
