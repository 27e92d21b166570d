"""What the reader of patterns accepts, refuses and finds."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.profile.pattern import PatternError, parse_pattern
from firedup.profile.regex import Expression, compile_hyperscan


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [
        (r"Load weight begin\.", ("Load weight begin.",)),
        (r"took (?P<s>\d+) seconds in all", (" seconds in all",)),
        (r"a(?:bcde|fghij)k", ("bcde", "fghij")),
        (r"one|two words", ("one", "two words")),
        (r"(?:maybe)?always", ("always",)),
        (r"x+yz{2}w", ("yz",)),
        (r"(?i)CUDA Error", ("cuda error",)),
        (r"\d+\s*", None),
        (r"\w+|fixed", None),
        (r"\[rank\d\]: done \(ok\)", ("]: done (ok)",)),
    ],
)
def test_the_fixed_text_is_what_every_match_holds(
    pattern: str, fixed: tuple[str, ...] | None
) -> None:
    assert parse_pattern(pattern).fixed == fixed


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        (r"a(?=b)", 1),
        (r"(?<!x)a", 0),
        (r"(?P<n>a)(?P=n)", 8),
        (r"(?P<n>a)\1", 8),
        (r"a(b)", 1),
        (r"(?>a)", 0),
        (r"(?s)a", 0),
        (r"\pL", 0),
        (r"\Aabc", 0),
        (r"a**", 2),
        (r"*a", 0),
        (r"a{x}", 1),
        (r"a{1,999}", 1),
        (r"(a", 0),
        (r"a)", 1),
        (r"[a", 0),
        (r"[é]", 1),
        (r"(?i)é", 4),
        ("a\\", 1),
        (r"\xzz", 0),
        (r"\xe9", 0),
        (r"(?P<1>a)", 0),
        (r"a^b", 1),
        (r"x(?:^|y)a", 4),
        (r"a$b", 1),
        (r"(?:a$)b", 4),
        (r"(?:^a)*b", 3),
        (r"a\b+", 1),
    ],
)
def test_what_the_engines_do_not_share_is_refused_with_its_place(pattern: str, at: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse_pattern(pattern)

    assert caught.value.at == at


PIECES = st.sampled_from(
    ["abc", "x", r"\.", r"\d", r"\s", ".", "[a-f]", "[^b]", "(?:ab|cd)", "(?P<n>q)", r"\b"]
)
COUNTS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{0,3}", "+?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Patterns in which at most one group has a name."""
    pieces = []
    for piece in draw(st.lists(PIECES, min_size=1, max_size=6)):
        count = "" if piece == r"\b" else draw(COUNTS)
        wrapped = f"(?:{piece})" if count and len(piece) > 1 and piece[0] not in "([\\" else piece
        pieces.append(wrapped + count)
    text = draw(st.sampled_from(["", "^"])) + "".join(pieces) + draw(st.sampled_from(["", "$"]))
    head, name, tail = text.partition("(?P<n>")
    return head + name + tail.replace("(?P<n>", "(?:")


@given(patterns(), st.text("abcdefxq. 01\t", max_size=30))
def test_a_match_always_holds_a_fixed_text(pattern: str, text: str) -> None:
    shape = parse_pattern(pattern)
    found = re.search(pattern, text)
    if found and shape.fixed:
        assert any(fixed in found[0] for fixed in shape.fixed)


@settings(max_examples=50)
@given(patterns().filter(lambda pattern: r"\b" not in pattern))  # a border may be impossible
def test_an_accepted_pattern_compiles_in_both_engines(pattern: str) -> None:
    parse_pattern(pattern)
    assert re2.compile(pattern)
    if Expression(pattern).compile_re2().search(b"") is None:
        assert compile_hyperscan([Expression(pattern).for_blocks])
