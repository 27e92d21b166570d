"""Short pieces of text that stand for many patterns: a line with none of them matters to none."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from firedup.profile.regex import Expression

# Longer pieces are shared by fewer patterns, shorter ones stand in too many lines.
LENGTH = 7
SHORTEST = 5
# How much dearer than another a piece is for being made of what usual lines are full of.
_COMMONNESS = 100.0
# A web server's line for each request: half of what a serving engine writes.
_ACCESS = 'INFO:     127.0.0.1:38204 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
# Hyperscan steps through a block by up to four bytes, by what its shortest text allows. With some
# hundred texts it is fastest at two (half the time of four): longer steps see too little of each.
_PACE = rb"\x01\x02\x03"


def as_pieces(patterns: Sequence[str], usual: Sequence[str] = ()) -> list[bytes]:
    """Expressions of which each match of each of `patterns` in a block holds one.

    They are few and mostly fixed texts, so that a search for them is fast. `usual` are lines that
    logs are full of: what stands in them is avoided.
    """
    common = "\n".join([_ACCESS, *usual]).encode()
    expressions = [Expression(pattern) for pattern in patterns]
    texts = {text for e in expressions for text in e.texts if len(text) >= SHORTEST}
    chosen, missed = _choose(texts, common)
    rest = [
        piece
        for e in expressions
        if not e.texts or any(len(text) < SHORTEST or text in missed for text in e.texts)
        for piece in _of_caseless(e, common.lower()) or [e.for_blocks]
    ]
    return [*map(re.escape, chosen), *dict.fromkeys(rest), _PACE]


def _of_caseless(expression: Expression, common: bytes) -> list[bytes]:
    """A piece of each text that a match may spell in any case; none where one is too common."""
    pairs = _pairs(common)
    pieces = []
    for text in expression.caseless_texts:
        starts = range(max(1, len(text) - LENGTH + 1))
        choice = [text[at : at + LENGTH] for at in starts if text[at : at + LENGTH] not in common]
        if len(text) < SHORTEST or not choice:
            return []
        pieces.append(min(choice, key=lambda piece: _price(piece, pairs, len(common))))
    return [b"(?i)" + re.escape(piece) for piece in pieces]


def _choose(texts: Iterable[bytes], common: bytes) -> tuple[list[bytes], set[bytes]]:
    """Pieces of which each text holds one, and the texts of which every piece is common."""
    holders: Mapping[bytes, set[bytes]] = defaultdict(set)
    for text in texts:
        length = min(LENGTH, len(text))
        for at in range(len(text) - length + 1):
            holders[text[at : at + length]].add(text)
    pairs = _pairs(common)
    left = set(texts)
    # The piece of most texts for its price comes first; what it holds is struck from the others
    # when their turn comes.
    heap = [
        (-len(found) / _price(piece, pairs, len(common)), piece)
        for piece, found in holders.items()
        if piece not in common
    ]
    heapify(heap)
    chosen = []
    while heap:
        worth, piece = heappop(heap)
        count = len(holders[piece] & left)
        now = -count / _price(piece, pairs, len(common))
        if now > worth and count:
            heappush(heap, (now, piece))
        elif count:
            chosen.append(piece)
            left -= holders[piece]
    return chosen, left


def _pairs(text: bytes) -> Counter[bytes]:
    return Counter(text[at : at + 2] for at in range(len(text) - 1))


def _price(piece: bytes, pairs: Mapping[bytes, int], total: int) -> float:
    steps = len(piece) - 1
    seen = sum(pairs.get(piece[at : at + 2], 0) for at in range(steps))
    return 1.0 + _COMMONNESS * seen / steps / total
