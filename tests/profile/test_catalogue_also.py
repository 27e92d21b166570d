"""What a rule declares about its neighbours is still so."""

from firedup.profile.load import load_catalogue
from firedup.profile.regex import Expression
from firedup.profile.schema import SHARED, Entry

ENTRIES = load_catalogue().entries
BY_NAME = {entry.rule.name: entry for entry in ENTRIES}


def meets(entry: Entry, name: str) -> bool:
    """Whether the neighbour of that name hits an example of the rule."""
    own = BY_NAME.get(f"{entry.rule.engine or SHARED}/{name}") or BY_NAME.get(f"{SHARED}/{name}")
    if own is None:
        return False
    pattern = Expression(own.rule.pattern).compile_re2()
    return any(pattern.search(line.encode()) for line in entry.rule.matches)


def test_every_neighbour_that_a_rule_declares_hits_an_example_of_it() -> None:
    stale = [(e.rule.name, name) for e in ENTRIES for name in e.also if not meets(e, name)]

    assert stale == []
