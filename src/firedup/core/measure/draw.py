"""Draws prompts for a probe: balanced over categories, the same for the same seed, none twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from firedup.core.error import UsageError
from firedup.core.measure.prompt import Prompt, content_key, salted

_SALT_DIGITS = 12


def draw(
    prompts: Iterable[Prompt],
    count: int,
    *,
    seed: int,
    categories: Sequence[str] | None = None,
    may_repeat: bool = False,
) -> tuple[Prompt, ...]:
    """`count` prompts of `categories` (None: all that occur), in the order to ask them in.

    The categories take turns, so any beginning of the result is balanced too, and is what a
    smaller `count` gives. One that is used up leaves its turns to the others. The order of
    `prompts` does not matter, and one more prompt does not move the others about.

    Raises UsageError when a category has no prompt, and when there are fewer than `count` unless
    `may_repeat`: then all are gone through again, as copies with a salt before the first word.
    """
    if count < 1:
        raise UsageError(f"{count} prompts were asked for", todo="Ask for at least 1.")
    pools = _pool(prompts, categories)
    available = sum(len(pool) for pool in pools.values())
    if available < count and not may_repeat:
        held = ", ".join(f"{name} {len(pool)}" for name, pool in sorted(pools.items()))
        raise UsageError(
            f"{count} prompts were asked for and there are {available} different ones",
            evidence=held,
            why="a prompt that is asked twice is answered from caches, and the figures would lie",
            todo="Ask for fewer, or from more categories; add own prompts; or let them repeat, "
            "each with a number before it.",
        )
    drawn: list[Prompt] = []
    lap = 0
    while len(drawn) < count:
        for prompt in _take_turns(pools, seed, lap):
            drawn.append(salted(prompt, _salt(prompt, seed, lap)) if lap else prompt)
            if len(drawn) == count:
                break
        lap += 1
    return tuple(drawn)


def salt_all(prompts: Iterable[Prompt], *, seed: int) -> tuple[Prompt, ...]:
    """Copies with a salt each, for a server that has been asked these prompts before.

    Two times with one `seed` are the same copies, which the server then knows too.
    """
    return tuple(salted(prompt, _salt(prompt, seed, -1)) for prompt in prompts)


def _pool(
    prompts: Iterable[Prompt], categories: Sequence[str] | None
) -> dict[str, dict[bytes, Prompt]]:
    """The different prompts of each category by their rank-giving key."""
    wanted = None if categories is None else dict.fromkeys(categories)
    pools: dict[str, dict[bytes, Prompt]] = {name: {} for name in wanted or ()}
    seen: set[bytes] = set()
    known: set[str] = set()
    for prompt in sorted(prompts, key=lambda prompt: (prompt.category, prompt.id)):
        known.add(prompt.category)
        if wanted is not None and prompt.category not in wanted:
            continue
        key = content_key(prompt)
        if key not in seen:
            seen.add(key)
            pools.setdefault(prompt.category, {})[key] = prompt
    empty = [name for name, pool in pools.items() if not pool]
    if empty or not pools:
        raise UsageError(
            f"there is no prompt of the category {empty[0]}" if empty else "there are no prompts",
            evidence=f"categories at hand: {', '.join(sorted(known))}" if known else None,
            todo="Name categories that exist, or give prompts for it.",
        )
    return pools


def _take_turns(pools: dict[str, dict[bytes, Prompt]], seed: int, lap: int) -> Iterator[Prompt]:
    """All prompts once: one of each category per turn, in an order that differs by turn."""
    queues = {
        name: sorted(pool, key=lambda key: _rank(seed, lap, key)) for name, pool in pools.items()
    }
    for turn in range(max(len(queue) for queue in queues.values())):
        names = sorted(queues, key=lambda name: _rank(seed, lap, f"{turn}/{name}".encode()))
        for name in names:
            if turn < len(queues[name]):
                yield pools[name][queues[name][turn]]


def _rank(seed: int, lap: int, key: bytes) -> bytes:
    # A hash and not a generator: the same in every version of Python, whatever else is drawn.
    return hashlib.sha256(b"%d/%d/" % (seed, lap) + key).digest()


def _salt(prompt: Prompt, seed: int, lap: int) -> str:
    return _rank(seed, lap, b"salt/" + content_key(prompt)).hex()[:_SALT_DIGITS]
