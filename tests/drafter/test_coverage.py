"""How much of a text a drafter's own vocabulary covers, told from a file of token ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from firedup.cli.checked import check_asked
from firedup.core.checked import CheckFinding
from firedup.core.error import UsageError
from firedup.drafter.tokenfile import count_tokens
from tests.drafter.pairs import found, pair
from tests.drafter.zoo import VOCAB, draft_ids
from tests.drafter.zoo_folder import good_folders

ID = "draft-vocabulary-coverage"


def ask(tmp_path: Path, text: str) -> CheckFinding | None:
    file = tmp_path / "ids.jsonl"
    file.write_text(text)
    target, draft = map(str, good_folders("eagle-repository"))
    checked = check_asked(
        (target, draft),
        engine="sglang",
        version="0.5.23",
        tp=None,
        launch=None,
        run=None,
        host=None,
        tokens=str(file),
    )
    return next((one for one in checked.findings if one.id == ID), None)


def test_a_text_that_the_map_covers_is_a_note(tmp_path: Path) -> None:
    known = list(draft_ids())

    finding = ask(tmp_path, f"{known}\n{known}\n")

    assert finding is not None
    assert finding.harm.value == "note"
    assert finding.message == f"The map covers 100.0% of the text's {2 * len(known)} tokens."


def test_a_text_of_other_tokens_caps_what_is_accepted(tmp_path: Path) -> None:
    known = draft_ids()
    other = next(i for i in range(VOCAB) if i not in known)

    finding = ask(tmp_path, str([known[0], known[1], known[2], other]))

    assert finding is not None
    assert finding.harm.value == "risk"
    assert "75.0%" in finding.message
    assert finding.consequences[0].text == "accepts 2.73 tokens a step at most, with 3 drafted"
    assert f"{other} (25.00%)" in finding.evidence[1].text


def test_without_a_text_nothing_is_said() -> None:
    assert found(pair(), ID) is None
    assert found(replace(pair(), tokens={1: 2}), ID) is None  # there is no map to be read


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("[1, 2, 2]\n\n[3]", {1: 1, 2: 2, 3: 1}),
        ("1 2 2\n3", {1: 1, 2: 2, 3: 1}),
        ('{"input_ids": [1, 2, 3], "loss_mask": [0, 1, 1]}', {2: 1, 3: 1}),
        ('{"output_ids": [5], "text": "x"}', {5: 1}),
    ],
)
def test_ids_are_read_in_the_forms_that_trainers_write(
    text: str, counts: dict[int, int], tmp_path: Path
) -> None:
    file = tmp_path / "ids"
    file.write_text(text)

    assert dict(count_tokens(str(file))) == counts


@pytest.mark.parametrize("text", ["", "{}", "[1.5]", '["a"]', "[-1]", "hello world", "[" * 9999])
def test_what_holds_no_ids_is_wrong_use(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ids"
    file.write_text(text)

    with pytest.raises(UsageError):
        count_tokens(str(file))
    with pytest.raises(UsageError, match="no file"):
        count_tokens(str(tmp_path))
