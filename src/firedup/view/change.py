"""What became of one flag or variable of a command that is launched again, as one line."""

from __future__ import annotations

from firedup.view.redact import MARK, clean, is_secret_name, redact_argv


def render_change(name: str, old: str | None, new: str | None) -> str:
    """Such as "--tp 8 → 4" or "NCCL_ALGO unset → Tree"; None is what was not given.

    Of a secret it is said only that it changed. `name` of a flag begins with "-".
    """
    if is_secret_name(name) and old and new:
        return f"{clean(name)} changed"
    return f"{clean(name)} {_show(name, old)} → {_show(name, new)}"


def record_change(name: str, old: str | None, new: str | None) -> dict[str, object]:
    """The same as an object; a secret's value is `[redacted]`, a side without one null."""
    return {"name": clean(name), "old": _record(name, old), "new": _record(name, new)}


def _record(name: str, value: str | None) -> str | None:
    if not value:
        return value
    return MARK if is_secret_name(name) else _show(name, value)


def _show(name: str, value: str | None) -> str:
    is_flag = name.startswith("-")
    if value is None:
        return "not given" if is_flag else "unset"
    if not value:
        return "given" if is_flag else "empty"
    if is_secret_name(name):
        return "given" if is_flag else "set"
    # Some values are secrets by the name before them, whatever that name is.
    if is_flag:
        return clean(redact_argv((name, value))[-1])
    return clean(f"{name}={value}").removeprefix(f"{name}=")
