"""Quantiles of the normal and of Student's distribution, for degrees of freedom of any size."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p, pi
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_MANY_DEGREES = 1e6  # from here on the two distributions are one
_MOST_TERMS, _MOST_STEPS = 300, 200


def normal_quantile(tail: float) -> float:
    """What a standard normal value exceeds with probability `tail` on either side together."""
    return -_NORMAL.inv_cdf(tail / 2)


def student_tail(value: float, degrees: float) -> float:
    """The probability that Student's t lies further from 0 than `value`, on either side."""
    if degrees >= _MANY_DEGREES:
        return 2 * _NORMAL.cdf(-abs(value))
    return _beta_share(degrees / 2, 0.5, degrees / (degrees + value * value))


def student_quantile(tail: float, degrees: float) -> float:
    """What Student's t exceeds with probability `tail` on either side together.

    Infinite where `tail` or `degrees` is not above 0: then no value is certain enough.
    """
    if tail <= 0 or degrees <= 0:
        return inf
    if degrees >= _MANY_DEGREES:
        return normal_quantile(tail)
    low, high = 0.0, 2.0
    while (above := student_tail(high, degrees)) > tail:
        low, high = high, 2 * high
        if high == inf:
            return inf
    # Newton's steps on the logarithm of the tail, which is nearly a line; halving where they leave
    # what is known.
    value = high
    for _ in range(_MOST_STEPS):
        step = above * log(above / tail) / (2 * _density(value, degrees)) if above > 0 else -inf
        if abs(step) <= 1e-10 * value:
            break
        value = value + step if low < value + step < high else (low + high) / 2
        above = student_tail(value, degrees)
        low, high = (value, high) if above > tail else (low, value)
    return value


def _density(value: float, degrees: float) -> float:
    front = lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2
    return exp(front - (degrees + 1) / 2 * log1p(value * value / degrees))


def _beta_share(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Its continued fraction, by Lentz's method."""
    c, d = 1.0, 1 / _not_0(1 - (a + b) * x / (a + 1))
    result = d
    for n in range(1, _MOST_TERMS):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        for term in (even, odd):
            d = 1 / _not_0(1 + term * d)
            c = _not_0(1 + term / c)
            result *= c * d
        if abs(c * d - 1) < 1e-14:
            break
    return result


def _not_0(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def pooled_degrees(parts: tuple[tuple[float, float], ...]) -> float:
    """Degrees of freedom of a sum of variances, each (variance, degrees); Satterthwaite's rule."""
    total = sum(variance for variance, _ in parts)
    below = sum(variance * variance / degrees for variance, degrees in parts if degrees > 0)
    return total * total / below if below > 0 else inf
