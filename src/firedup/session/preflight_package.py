"""Whether the packages of an engine fit each other, by what each of them says that it needs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from firedup.core.model import Evidence, Finding, Severity
from firedup.core.version import parse_version

# Engine → its own package, and those whose wrong version ends a start.
ENGINES: dict[str, tuple[str, ...]] = {
    "sglang": ("sglang", "sgl-kernel", "sglang-kernel", "flashinfer-python", "torch"),
    "vllm": ("vllm", "torch", "flashinfer-python", "flashinfer-cubin", "triton"),
}
PACKAGES = tuple(dict.fromkeys(name for names in ENGINES.values() for name in names))
_NEED = re.compile(r"^([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(;.*)?$")
_BOUND = re.compile(r"(===|==|>=|<=|~=|!=|<|>)\s*([^,\s]+)")


def check_packages(engine: str | None, packages: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """A finding for each package that another one of the engine's cannot work with.

    `packages` are those found, by name, each with `version` and `requires`.
    """
    if engine not in ENGINES or ENGINES[engine][0] not in packages:
        return []
    found = []
    for name in ENGINES[engine]:
        facts = packages.get(name, {})
        for need in facts.get("requires", ()):
            parsed = _NEED.match(str(need))
            if parsed is None or parsed[3]:  # for an extra, or another machine
                continue
            other = re.sub(r"[-_.]+", "-", parsed[1]).lower()
            version = str(packages.get(other, {}).get("version") or "")
            if other in ENGINES[engine] and version and not meets(version, parsed[2]):
                found.append(_mismatch(name, str(facts["version"]), other, version, parsed[2]))
    return found


def meets(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as ">=0.3,<0.4"; what cannot be read is met."""
    number = parse_version(version)
    for sign, text in _BOUND.findall(bounds):
        wanted = parse_version(text.removesuffix(".*"))
        if number is None or wanted is None:
            continue
        size = max(len(number), len(wanted))
        one, other = (part + (0,) * (size - len(part)) for part in (number, wanted))
        is_prefix = number[: len(wanted)] == wanted
        is_met = {
            "==": is_prefix if text.endswith(".*") else one == other,
            "===": one == other,
            "!=": not (is_prefix if text.endswith(".*") else one == other),
            ">=": one >= other,
            "<=": one <= other,
            ">": one > other,
            "<": one < other,
            "~=": one >= other and number[: len(wanted) - 1] == wanted[:-1],
        }[sign]
        if not is_met:
            return False
    return True


def _mismatch(name: str, own: str, other: str, version: str, bounds: str) -> Finding:
    wanted = bounds.strip()
    # Compiled parts are bound to the first two numbers of a version; a patch may pass.
    bound = _BOUND.search(wanted)
    pinned = parse_version(bound[2]) if bound else None
    is_near = pinned is not None and (parse_version(version) or ())[:2] == pinned[:2]
    return Finding(
        "package-mismatch",
        Severity.WARNING if is_near else Severity.SEVERE,
        f"{name} {own} and {other} {version} do not fit each other.",
        (Evidence("file", f"{name} {own} needs {other}{wanted}; {other} {version} is installed"),),
        f"pip install '{other}{wanted}'",
    )
