"""Which command is launched: the user's own, or one that is composed."""

from __future__ import annotations

from typing import Any

import pytest

from firedup.cli.compose import read_command
from firedup.core.error import UsageError
from firedup.profile.load import load_catalogue
from firedup.profile.schema import Catalogue

NOTHING = dict.fromkeys(("engine", "target", "draft", "tp", "port", "bind"))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue(environ={"XDG_CONFIG_HOME": "/nonexistent"})


def read(catalogue: Catalogue, *words: str, **given: Any) -> tuple[Any, tuple[str, ...]]:
    return read_command(words, catalogue, **{**NOTHING, **given})


@pytest.mark.parametrize("words", ["A=1 B=2 serve x=y -- z", "A=1 B=2 -- serve x=y -- z"])
def test_words_before_the_command_are_environment(words: str, catalogue: Catalogue) -> None:
    env, argv = read(catalogue, *words.split())

    assert env == (("A", "1"), ("B", "2"))
    assert argv == ("serve", "x=y", "--", "z")


def test_a_composed_command_is_shown_and_takes_more_words(
    catalogue: Catalogue, capsys: pytest.CaptureFixture[str]
) -> None:
    env, argv = read(
        catalogue,
        *("CUDA_VISIBLE_DEVICES=0,1", "--mem-fraction-static", "0.8"),
        engine="sglang",
        target="/models/K2 INT4",
        draft="/models/eagle",
        tp=8,
        port=30000,
        bind="127.0.0.1",
    )

    assert env == (("CUDA_VISIBLE_DEVICES", "0,1"),)
    assert argv[-2:] == ("--mem-fraction-static", "0.8")
    for words in (("/models/K2 INT4",), ("/models/eagle",), ("8",), ("30000",), ("127.0.0.1",)):
        assert set(words) <= set(argv)
    shown = capsys.readouterr().err
    assert shown.startswith("firedup: CUDA_VISIBLE_DEVICES=0,1 python")
    assert "'/models/K2 INT4'" in shown


def test_a_composed_command_needs_no_further_word(catalogue: Catalogue) -> None:
    env, argv = read(catalogue, engine="vllm", target="m")

    assert (env, argv) == ((), ("vllm", "serve", "m"))


def test_secrets_are_not_shown_in_a_composed_command(
    catalogue: Catalogue, capsys: pytest.CaptureFixture[str]
) -> None:
    read(catalogue, "X_KEY=tulip", "--api-key", "rosebud", "sled", engine="vllm", target="m")

    shown = capsys.readouterr().err
    assert shown == ("firedup: X_KEY=[redacted] vllm serve m --api-key [redacted] [redacted]\n")


@pytest.mark.parametrize(
    "given", [{"tp": 8}, {"draft": "d"}, {"port": 1}, {"bind": "::"}, {"target": "m"}]
)
def test_an_option_that_composes_nothing_is_wrong_use(
    given: dict[str, Any], catalogue: Catalogue
) -> None:
    with pytest.raises(UsageError):
        read(catalogue, "serve", **given)
