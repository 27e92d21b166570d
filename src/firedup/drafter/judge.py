"""Runs all checks on one pair and weighs what they find for the engine and version asked about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module

from firedup.core.checked import CheckFinding, Consequence
from firedup.core.version import parse_version
from firedup.drafter.case import Case, Check
from firedup.drafter.checks import MODULES

_OPERATORS = (">=", "<=", "==", "!=", ">", "<")


@dataclass(frozen=True, slots=True)
class Described:
    """A check as its module describes it: `ids` with what each means, and the text of its page."""

    name: str
    ids: Mapping[str, str]
    text: str
    run: Check


@cache
def all_checks() -> tuple[Described, ...]:
    """The checks in their order. ValueError when two give the same id."""
    found, owners = [], dict[str, str]()
    for name in MODULES:
        described = _describe(name)
        found.append(described)
        for ident in described.ids:
            if ident in owners:
                raise ValueError(f"{owners[ident]} and {name} both find {ident}")
            owners[ident] = name
    return tuple(found)


def _describe(name: str) -> Described:
    module = import_module(f"firedup.drafter.checks.{name}")
    title, _, rest = (module.__doc__ or "").strip().partition("\n")
    ids = dict(getattr(module, "IDS", None) or {module.ID: title.strip()})
    return Described(name, ids, rest.strip(), module.check)


def page_of(ident: str) -> str | None:
    """The page about a finding, in the documentation; None for an id that no check has."""
    known = any(ident in one.ids for one in all_checks())
    return f"docs/reference/checks/{ident}.md" if known else None


def judge(case: Case) -> tuple[tuple[CheckFinding, ...], tuple[tuple[str, str], ...]]:
    """The findings, worst first, and the checks that could not be made, each with the reason."""
    found: list[CheckFinding] = []
    skipped: list[tuple[str, str]] = []
    for described in all_checks():
        try:
            found += [weighed for one in described.run(case) if (weighed := weigh(one, case))]
        except Exception as error:  # noqa: BLE001 - a strange checkpoint must not stop the others
            why = f"failed on this checkpoint ({type(error).__name__}: {error})"
            skipped.append((described.name.replace("_", "-"), why[:200]))
    unique = {(one.id, one.message): one for one in found}
    return tuple(sorted(unique.values(), key=lambda one: (one.harm.rank, one.id))), tuple(skipped)


def weigh(finding: CheckFinding, case: Case) -> CheckFinding | None:
    """The finding with the consequences that bear on the question; None when none of its does."""
    if not finding.consequences:
        return finding
    bearing = tuple(bears_on(finding.consequences, case.engine, case.version))
    if not bearing:
        return None
    worst = min((one.harm for one in bearing), key=lambda harm: harm.rank)
    return replace(finding, harm=worst, consequences=bearing)


def bears_on(
    consequences: tuple[Consequence, ...], engine: str | None, version: str | None
) -> Iterator[Consequence]:
    """Those that `engine` at `version` has; None stands for any."""
    for one in consequences:
        if engine is None or (one.engine == engine and is_within(version, one.versions)):
            yield one


def is_within(version: str | None, versions: str) -> bool:
    """Whether a version meets a specifier such as ">=0.5.6,<0.5.12"; one not known meets all."""
    number = parse_version(version or "")
    parts = [part.strip() for part in versions.split(",") if part.strip()]
    return number is None or all(_meets(number, part) for part in parts)


def _meets(number: tuple[int, ...], part: str) -> bool:
    operator = next((sign for sign in _OPERATORS if part.startswith(sign)), "==")
    bound = parse_version(part.removeprefix(operator).strip())
    if bound is None:
        return True
    size = max(len(number), len(bound))
    left = number + (0,) * (size - len(number))
    right = bound + (0,) * (size - len(bound))
    match operator:
        case ">=":
            return left >= right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case "<":
            return left < right
        case "!=":
            return left != right
    return left == right
