"""What somebody asks for is read with care: names and words."""

import pytest

from firedup.core.error import UsageError
from firedup.session.order import check_name, parse_words


@pytest.mark.parametrize("name", ["kimi", "my server", "ümlaut-8B", "a.b_c"])
def test_a_name_that_can_be_typed_is_taken(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", "  ", "a\nb", "x" * 81, "20261129-182259-kimi-4f2a", "kimi~1", "\x1b[31m"]
)
def test_a_name_that_cannot_be_typed_or_told_apart_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


def test_leading_pairs_are_environment_and_the_rest_is_the_command() -> None:
    env, argv = parse_words(["A=1", "B=x=y", "serve", "C=3"])

    assert env == (("A", "1"), ("B", "x=y"))
    assert argv == ("serve", "C=3")


def test_words_without_a_command_are_refused() -> None:
    with pytest.raises(UsageError, match="no command"):
        parse_words(["A=1"])
