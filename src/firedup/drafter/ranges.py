"""Ranges of versions such as ">=0.5.6,<0.5.12": their union, what lies outside, what they share."""

from __future__ import annotations

from collections.abc import Iterable

from firedup.core.version import parse_version

Bound = tuple[int, ...] | None  # None: no bound on this side
Range = tuple[Bound, Bound]  # from the first on, before the second


def read_range(text: str) -> Range:
    """The bounds of a specifier of one ">=" and one "<" at most; "" = all versions."""
    since: Bound = None
    before: Bound = None
    for part in text.split(",") if text else ():
        sign = ">=" if part.strip().startswith(">=") else "<"
        bound = parse_version(part.strip().removeprefix(sign).strip())
        if sign == ">=":
            since = bound
        else:
            before = bound
    return since, before


def write_range(one: Range) -> str:
    """The specifier of these bounds."""
    since, before = one
    parts = [f">={_dotted(since)}"] if since else []
    return ",".join([*parts, f"<{_dotted(before)}"] if before else parts)


def shared(one: str, other: str) -> str | None:
    """The versions that lie in both, None when there are none."""
    (a, b), (c, d) = read_range(one), read_range(other)
    since = max((bound for bound in (a, c) if bound), default=None)
    before = min((bound for bound in (b, d) if bound), default=None)
    if since is not None and before is not None and since >= before:
        return None
    return write_range((since, before))


def outside(texts: Iterable[str]) -> tuple[str, ...]:
    """The versions that lie in none of these ranges, oldest first."""
    found: list[Range] = []
    at: Bound = None  # versions from here on are not accounted for yet
    for since, before in sorted(map(read_range, texts), key=lambda one: one[0] or ()):
        if since is not None and (at is None or since > at):
            found.append((at, since))
        if before is None:
            return tuple(map(write_range, found))
        at = before if at is None else max(at, before)
    return tuple(map(write_range, [*found, (at, None)]))


def _dotted(bound: tuple[int, ...]) -> str:
    return ".".join(map(str, bound))
