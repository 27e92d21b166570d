"""The hosts that the user's configuration of OpenSSH names."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

_MOST_DEPTH = 8


def list_ssh_hosts(home: Path) -> tuple[str, ...]:
    """The names after `Host` in ~/.ssh/config and what it includes, without patterns, in order.

    A file that cannot be read names none.
    """
    return tuple(dict.fromkeys(_read(home / ".ssh" / "config", home, _MOST_DEPTH)))


def _read(path: Path, home: Path, depth: int) -> Iterator[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        words = _split(line)
        match words[:1]:
            case ["host"]:
                yield from (word for word in words[1:] if not set(word) & set("*?!"))
            case ["include"] if depth:
                for pattern in words[1:]:
                    for found in _find(pattern, home):
                        yield from _read(found, home, depth - 1)


def _split(line: str) -> list[str]:
    """The words of a line, the keyword in small letters; `Host=box` is written as `Host box`."""
    head, _, rest = line.strip().replace("=", " ", 1).partition(" ")
    try:
        return [head.lower(), *shlex.split(rest, comments=True)]
    except ValueError:  # a quote without its other half
        return []


def _find(pattern: str, home: Path) -> list[Path]:
    """The files that an Include means; relative ones lie beside the configuration."""
    text = pattern.replace("~", str(home), 1) if pattern.startswith("~") else pattern
    path = home / ".ssh" / text
    try:
        return sorted(Path(path.anchor).glob(str(path.relative_to(path.anchor))))
    except (ValueError, OSError):
        return []
