"""Both engines find the same, and the scan misses no line."""

from __future__ import annotations

import dataclasses
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firedup.core.log.block import OPENERS
from firedup.core.model import Line
from firedup.core.rule import Role, Rule
from firedup.profile.join import join_files
from firedup.profile.match import CatalogueMatcher
from firedup.profile.piece import as_pieces
from firedup.profile.read import builtin_files
from firedup.profile.scan import SetScanner

CATALOGUE = join_files(builtin_files()).catalogue
RULES = CATALOGUE.rules_for(None)
FAST = CatalogueMatcher(RULES, OPENERS)
PLAIN = CatalogueMatcher(RULES, OPENERS, uses_hyperscan=False)
EXAMPLES = sorted({text for rule in RULES for text in (*rule.matches, *rule.misses)})
SERVING = (
    b"[2026-01-05 10:00:00 TP0] Decode batch, #running-req: 1, #token: 50, gen throughput: 10.3\n"
)


def line(text: str) -> Line:
    return Line(0, len(text), 1, text, text)


def rule(identifier: str, pattern: str, **more: object) -> Rule:
    return dataclasses.replace(Rule(id=identifier, pattern=pattern), **more)  # type: ignore[arg-type]  # fields by name


def records(block: bytes) -> list[tuple[int, int]]:
    """(start, end) of each piece that LF or CR ends, the terminator included."""
    found, start = [], 0
    for index, byte in enumerate(block):
        if byte in b"\r\n":
            found.append((start, index + 1))
            start = index + 1
    return [*found, (start, len(block))] if start < len(block) else found


def matching(matcher: CatalogueMatcher, block: bytes) -> list[tuple[int, int]]:
    """The records in which a rule other than a gauge matches."""
    return [
        (start, end)
        for start, end in records(block)
        if any(
            hit.rule.role is not Role.GAUGE
            for hit in matcher.match(line(block[start:end].decode(errors="replace").strip("\r\n")))
        )
    ]


def test_both_engines_say_the_same_of_every_example() -> None:
    for text in EXAMPLES:
        assert FAST.match(line(text)) == PLAIN.match(line(text)), text


def test_every_rule_hits_its_own_examples() -> None:
    for known in RULES:
        for text in known.matches:
            assert known in [hit.rule for hit in FAST.match(line(text))], known.name


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.sampled_from(EXAMPLES).map(str.encode), st.binary(max_size=40)),
            st.sampled_from([b"\n", b"\r\n", b"\r", b"\n\n"]),
        ),
        max_size=12,
    ),
    st.sampled_from(EXAMPLES).map(str.encode),
)
def test_each_matching_record_has_a_position(
    pieces: list[tuple[bytes, bytes]], last: bytes
) -> None:
    block = b"".join(text + end for text, end in pieces) + last

    for matcher in (FAST, PLAIN):
        positions = matcher.scan(block)
        assert positions == sorted(positions)
        assert all(0 <= at < len(block) for at in positions)
        for start, end in matching(matcher, block):
            assert any(start <= at < end for at in positions), block[start:end]


@pytest.mark.parametrize("uses_hyperscan", [True, False])
def test_words_in_any_case_are_found_in_each(uses_hyperscan: bool) -> None:
    patterns = ["(?i)peer has gone|link went down", "no (?i:memory left)", "(?i)oom"]
    rules = [Rule(id=f"r-{n}", pattern=pattern) for n, pattern in enumerate(patterns)]
    matcher = CatalogueMatcher(rules, uses_hyperscan=uses_hyperscan)
    lines = [b"Peer Has Gone\n", b"LINK WENT DOWN\n", b"no Memory Left\n", b"OoM\n", b"peer\n"]

    found = [bool(matcher.scan(b"fine\n" * 3 + line + b"fine\n")) for line in lines]

    assert found == [True, True, True, True, False]


@pytest.mark.parametrize("uses_hyperscan", [True, False])
def test_lines_end_at_carriage_returns_and_line_feeds_alike(uses_hyperscan: bool) -> None:
    matcher = CatalogueMatcher([rule("killed", "^Killed$")], uses_hyperscan=uses_hyperscan)
    block = b"one\rKilled\r50%\r\nKilled\r\nKilled by whom\nso Killed\nKilled"

    hit = {
        (start, end)
        for at in matcher.scan(block)
        for start, end in records(block)
        if start <= at < end
    }

    texts = [block[start:end].strip() for start, end in sorted(hit)]
    assert texts.count(b"Killed") == 3
    assert b"Killed by whom" not in texts


def test_a_line_begins_where_a_collectors_words_end() -> None:
    matcher = CatalogueMatcher([rule("killed", "^Killed$")])

    carried = dataclasses.replace(line("[pod/sgl-0/engine] Killed"), collected=19)
    assert matcher.match(carried)
    assert not matcher.match(line("so Killed"))
    assert matcher.scan(b"[pod/sgl-0/engine] Killed\n")


@pytest.mark.parametrize("uses_hyperscan", [True, False])
def test_openers_are_found_and_are_no_hits(uses_hyperscan: bool) -> None:
    matcher = CatalogueMatcher([], OPENERS, uses_hyperscan=uses_hyperscan)
    block = b"fine\nTraceback (most recent call last):\nfine\n"

    assert any(5 <= at < 41 for at in matcher.scan(block))
    assert matcher.match(line("Traceback (most recent call last):")) == ()


@pytest.mark.parametrize("uses_hyperscan", [True, False])
def test_gauges_are_matched_but_not_scanned(uses_hyperscan: bool) -> None:
    gauge = rule(
        "speed",
        r"accept len: (?P<accept_length>[\d.]+)",
        role=Role.GAUGE,
        gauges=("accept_length",),
        literal="accept len: ",
    )
    matcher = CatalogueMatcher([gauge], uses_hyperscan=uses_hyperscan)

    assert matcher.scan(b"Decode batch, accept len: 3.20\n") == []
    assert matcher.gauge_literals == (b"accept len: ",)
    (hit,) = matcher.match(line("Decode batch, accept len: 3.20"))
    assert hit.captures == {"accept_length": "3.20"}


def test_groups_that_took_no_part_are_left_out() -> None:
    matcher = CatalogueMatcher([rule("r", r"took (?P<seconds>\d+)(?: of (?P<total>\d+))? s")])

    (hit,) = matcher.match(line("it took 3 s"))

    assert hit.captures == {"seconds": "3"}


def test_hits_come_in_the_order_of_the_rules() -> None:
    rules = [rule("b", "second text"), rule("a", "first text"), rule("c", "text and more")]
    hits = CatalogueMatcher(rules).match(line("first text, second text and more"))

    assert [hit.rule.id for hit in hits] == ["b", "a", "c"]


def test_text_that_is_no_utf8_is_matched_around() -> None:
    matcher = CatalogueMatcher([rule("r", r"weights .* loaded")])
    text = b"weights \xff\xfe loaded"

    assert matcher.scan(b"\xff\n" + text + b"\n")
    assert matcher.match(line(text.decode(errors="replace")))
    assert matcher.match(line("weights \udcff loaded"))


def test_where_fixed_texts_are_common_the_patterns_themselves_are_scanned() -> None:
    # "#running-req: " stands in every line here, the whole pattern in one.
    matcher = CatalogueMatcher([rule("many", r"#running-req: \d{4}")])
    special = SERVING.replace(b"#running-req: 1,", b"#running-req: 4096,")
    block = SERVING * 300 + special + SERVING * 300

    (at,) = set(matcher.scan(block))
    assert len(SERVING) * 300 <= at < len(SERVING) * 300 + len(special)


def test_a_pattern_that_hyperscan_refuses_spoils_no_other() -> None:
    # No word border can be between two letters: Hyperscan refuses that, RE2 just never matches.
    matcher = CatalogueMatcher([rule("no", r"loading\bweights"), rule("yes", "weights are loaded")])
    block = b"loadingweights\n" * 1000 + b"weights are loaded\n"

    assert any(at >= 15000 for at in matcher.scan(block))
    assert [hit.rule.id for hit in matcher.match(line("weights are loaded"))] == ["yes"]
    assert matcher.match(line("loadingweights")) == ()


def test_where_no_text_is_fixed_a_refused_pattern_is_left_to_re2() -> None:
    matcher = CatalogueMatcher([rule("no", r"a\bb"), rule("yes", r"abc+")])

    assert isinstance(matcher._scanner, SetScanner)
    assert matcher.scan(b"x\nabcc\n") == [2]
    assert matcher.match(line("abcc"))


class Shelf:
    """A place for compiled patterns that counts."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.reads = 0

    def get(self, name: str) -> bytes | None:
        self.reads += name in self.kept
        return self.kept.get(name)

    def put(self, name: str, body: bytes) -> None:
        self.kept[name] = body


def test_compiled_patterns_are_kept_and_used_again() -> None:
    shelf = Shelf()
    rules = [rule("r", "loading weights")]
    CatalogueMatcher(rules, blobs=shelf)
    reads = shelf.reads

    again = CatalogueMatcher(rules, blobs=shelf)

    assert shelf.kept
    assert shelf.reads > reads
    assert again.scan(b"loading weights\n")
    assert again.match(line("loading weights"))


def test_a_foreign_database_is_compiled_anew() -> None:
    shelf = Shelf()
    rules = [rule("r", "loading weights")]
    CatalogueMatcher(rules, blobs=shelf)
    shelf.kept = dict.fromkeys(shelf.kept, b"written by another machine")

    assert CatalogueMatcher(rules, blobs=shelf).match(line("loading weights"))


def test_an_empty_catalogue_matches_nothing() -> None:
    for uses_hyperscan in (True, False):
        matcher = CatalogueMatcher([], uses_hyperscan=uses_hyperscan)
        assert matcher.scan(b"a line\n") == []
        assert matcher.match(line("a line")) == ()


def test_a_first_pass_over_a_log_looks_for_whole_texts_alone() -> None:
    patterns = [r.pattern for r in RULES if r.role not in (Role.GAUGE, Role.KIND)]
    usual = [text for r in RULES if r.role is Role.GAUGE for text in r.matches]

    *pieces, _pace = as_pieces([*patterns, *OPENERS], usual)
    texts = [piece.removeprefix(b"(?i)") for piece in pieces]

    # A pattern among them costs a fifth of the time; texts that usual lines hold do, too.
    assert [text for text in texts if re.escape(re.sub(rb"\\(.)", rb"\1", text)) != text] == []
