"""Knows checkpoints: whether their files are whole, and whether a drafter fits its target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firedup.core.checked import Checked, CheckFinding, Consequence, Harm
    from firedup.drafter.pair import assert_drafter_fits, check

__all__ = ["CheckFinding", "Checked", "Consequence", "Harm", "assert_drafter_fits", "check"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are used."""
    if name in ("check", "assert_drafter_fits"):
        from firedup.drafter import pair  # noqa: PLC0415 - so that a command loads what it uses

        return getattr(pair, name)
    if name in __all__:
        from firedup.core import checked  # noqa: PLC0415 - likewise

        return getattr(checked, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
