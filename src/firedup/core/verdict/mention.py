"""What a run was given of the flags and variables that a remedy speaks of."""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.spec import ServerSpec


def quote_settings(words: tuple[str, ...], spec: ServerSpec) -> str | None:
    """A sentence that names those of `words` that the command sets; None when it sets none.

    A word is a flag ("--tp", "-ngl") or the name of a variable ("NCCL_ALGO"). In names of long
    flags an underscore is as good as a dash. Where a flag stands twice the last one counts.
    """
    found = [text for word in words if (text := _find(word, spec)) is not None]
    if not found:
        return None
    return f"This run has {', '.join(found)}."


def _find(word: str, spec: ServerSpec) -> str | None:
    if not word.startswith("-"):
        values = [value for name, value in spec.variables if name == word]
        return f"{word}={values[-1]}" if values else None
    given = [*_flags(spec.argv)]
    values = [value for name, value in given if _same(name, word)]
    if not values:
        return None
    return f"{word} {values[-1]}" if values[-1] else word


def _flags(argv: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each flag with its value, "" for one without."""
    for at, word in enumerate(argv):
        if not word.startswith("-") or word in ("-", "--"):
            continue
        name, joined, value = word.partition("=")
        following = argv[at + 1] if at + 1 < len(argv) else "-"
        is_flag = following.startswith("-") and not following[1:2].isdigit()
        yield name, value if joined or is_flag else following


def _same(one: str, other: str) -> bool:
    return one == other or (one[:2] == "--" and one.replace("_", "-") == other.replace("_", "-"))
