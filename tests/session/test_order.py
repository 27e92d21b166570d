"""What somebody asks for is read with care: names, words, files of variables."""

from pathlib import Path

import pytest

from firedup.core.error import UsageError
from firedup.session.order import check_name, parse_words, read_env_file


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


def test_a_file_of_variables_may_have_quotes_comments_and_exports(tmp_path: Path) -> None:
    file = tmp_path / "env"
    file.write_text("# c\n\nA=1\nexport B='two words'\nC=\"x\"\nD=a'b\n")

    assert read_env_file(str(file)) == (("A", "1"), ("B", "two words"), ("C", "x"), ("D", "a'b"))


@pytest.mark.parametrize("line", ['A="half', "A='", "no pair"])
def test_a_line_that_is_no_pair_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "env"
    file.write_text(f"OK=1\n{line}\n")

    with pytest.raises(UsageError, match="line 2"):
        read_env_file(str(file))
