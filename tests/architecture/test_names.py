"""Test modules have names of their own: pytest imports them by name alone."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_no_two_test_modules_have_the_same_name() -> None:
    names = Counter(path.name for path in TESTS.rglob("test_*.py"))

    assert [name for name, count in names.items() if count > 1] == []
