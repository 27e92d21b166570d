"""Files of the user's own prompts: four forms, and a word for everything that is wrong."""

from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import FiredupError, UsageError
from firedup.core.measure.prompt import Message, Prompt
from firedup.probe import promptset
from firedup.probe.promptline import FORMS, parse_line
from firedup.probe.promptset import PromptFile, load_prompts

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "role": st.sampled_from(["user", "assistant", "system", "x"]) | JSON_VALUES,
            "content": JSON_VALUES,
            "from": st.sampled_from(["human", "gpt", "system", "x"]) | JSON_VALUES,
            "value": JSON_VALUES,
        },
    ),
    max_size=3,
)

SYSTEM = {"from": "system", "value": "b"}


def load(folder: Path, *lines: object, name: str = "own.jsonl") -> PromptFile:
    path = folder / name
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return load_prompts(path)


def test_a_prompt_is_one_message_of_the_user(tmp_path: Path) -> None:
    found = load(tmp_path, {"prompt": "Name a river.", "id": "river", "category": "chat"})

    path = tmp_path / "own.jsonl"
    message = Message("user", "Name a river.")
    assert found.prompts == (Prompt("river", "chat", (message,), f"{path}:1"),)
    assert found.notes == ()


def test_without_id_and_category_the_place_names_a_prompt(tmp_path: Path) -> None:
    found = load(tmp_path, "", {"prompt": "Name a river."})

    assert (found.prompts[0].id, found.prompts[0].category) == ("own:2", "own")


def test_messages_are_sent_as_they_are(tmp_path: Path) -> None:
    said = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Name a "}, {"text": "river."}]},
    ]

    found = load(tmp_path, {"messages": said})

    assert found.prompts[0].messages == (
        Message("system", "Be brief."),
        Message("user", "Name a river."),
    )


def test_of_turns_the_first_is_asked_and_the_rest_comes_later(tmp_path: Path) -> None:
    found = load(tmp_path, {"turns": ["Name a river.", "And its source?"]})

    assert found.prompts[0].messages == (Message("user", "Name a river."),)
    assert found.prompts[0].later == ("And its source?",)


def test_of_a_conversation_the_answers_are_left_to_the_server(tmp_path: Path) -> None:
    said = [
        {"from": "system", "value": "You teach."},
        {"from": "human", "value": "Name a river."},
        {"from": "gpt", "value": "The Elbe."},
        {"from": "human", "value": "And its source?"},
        {"from": "gpt", "value": "In the Giant Mountains."},
    ]

    found = load(tmp_path, {"conversations": said})

    assert found.prompts[0].messages == (
        Message("system", "You teach."),
        Message("user", "Name a river."),
    )
    assert found.prompts[0].later == ("And its source?",)


def test_of_messages_the_last_answer_is_left_to_the_server(tmp_path: Path) -> None:
    roles = ("user", "assistant", "user", "assistant")
    said = [{"role": role, "content": f"{number}"} for number, role in enumerate(roles)]

    found = load(tmp_path, {"messages": said})

    assert [message.content for message in found.prompts[0].messages] == ["0", "1", "2"]
    assert found.prompts[0].later == ()


def test_an_entry_in_which_nobody_asks_is_left_out_with_a_note(tmp_path: Path) -> None:
    found = load(
        tmp_path, {"conversations": [{"from": "gpt", "value": "Hello."}]}, {"prompt": "A river?"}
    )

    assert [prompt.source for prompt in found.prompts] == [f"{tmp_path / 'own.jsonl'}:2"]
    assert found.notes == ("line 1 is left out: it holds nothing that a user says",)


def test_a_prompt_that_comes_again_is_left_out_with_a_note(tmp_path: Path) -> None:
    found = load(tmp_path, {"prompt": "A river?"}, {"prompt": "A lake?"}, {"prompt": "A river?"})

    assert len(found.prompts) == 2
    assert found.notes == ("line 3 is left out: it asks what line 1 asks",)


def test_notes_about_many_lines_are_counted_after_the_fifth(tmp_path: Path) -> None:
    found = load(tmp_path, *[{"prompt": "A river?"}] * 9)

    assert len(found.notes) == 6
    assert found.notes[-1] == "3 more lines are left out for the same reasons"


def test_unknown_keys_are_named_and_not_used(tmp_path: Path) -> None:
    found = load(tmp_path, {"prompt": "A river?", "temperature": 0.7, "reference": ["Elbe"]})

    assert found.notes == ("keys that are not used: temperature, reference",)


def test_a_mark_of_byte_order_and_blank_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(codecs.BOM_UTF8 + b'{"prompt": "A river?"}\r\n\r\n  \n{"prompt": "A lake?"}')

    assert [prompt.id for prompt in load_prompts(path).prompts] == ["own:1", "own:4"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"prompt": "A river?"', "it is no JSON"),
        ('["A river?"]', "it begins a list"),
        (
            json.dumps({"conversations": [{"from": "human", "value": "a"}, SYSTEM]}),
            "a system message stands within the conversation",
        ),
        ("[", "it begins a list"),
        ('"A river?"', "it is no JSON object"),
        ('{"question": "A river?"}', "none of the keys prompt, messages"),
        ('{"prompt": "A?", "turns": ["B?"]}', "it has prompt and turns"),
        ('{"prompt": "  "}', "prompt is empty"),
        ('{"prompt": 7}', "prompt is no text"),
        ('{"turns": "A?"}', "turns is no list"),
        ('{"turns": ["A?", null]}', "a turn is no text"),
        ('{"messages": [{"role": "user"}]}', "not both role and content"),
        ('{"messages": [{"role": "pirate", "content": "A?"}]}', "nobody is called pirate"),
        ('{"conversations": [{"from": 3, "value": "A?"}]}', "nobody is called 3"),
        (
            '{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}',
            "a part that is no text",
        ),
        ('{"prompt": "A?", "id": "a\\u001bb"}', "id is no name"),
        ('{"prompt": "A?", "category": ["x"]}', "category is no name"),
        ('{"prompt": "A?", "id": "' + "x" * 200 + '"}', "id is longer than"),
        ("[" * 100_000, "it begins a list"),
        ('{"prompt":' * 100_000, "it is no JSON"),
    ],
)
def test_a_wrong_line_is_told_with_file_line_and_cure(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(tmp_path, {"prompt": "A lake?"}, line)

    assert said in caught.value.what
    assert caught.value.where == f"{tmp_path / 'own.jsonl'}:2"
    assert caught.value.todo
    assert len(str(caught.value)) < 1000


def test_a_file_in_utf_16_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes('{"prompt": "A river?"}'.encode("utf-16"))

    with pytest.raises(UsageError, match="it is UTF-16") as caught:
        load_prompts(path)

    assert caught.value.todo == "Save the file as UTF-8."


def test_two_prompts_of_one_id_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two prompts of the file are called a") as caught:
        load(tmp_path, {"prompt": "A river?", "id": "a"}, {"prompt": "A lake?", "id": "a"})

    assert caught.value.evidence == "the other one is in line 1"


def test_a_file_that_is_not_there_or_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_prompts(tmp_path / "missing.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        load_prompts(tmp_path)
    with pytest.raises(UsageError, match="cannot be read"):
        load_prompts(Path("a\0b"))


def test_a_file_without_a_prompt_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no prompt"):
        load(tmp_path, "", "  ")


def test_a_long_file_is_read_up_to_the_limit_and_this_is_told(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(f'{{"prompt": "River {n}?"}}\n' for n in range(50)), encoding="utf-8")

    by_count = load_prompts(path, most_prompts=10)
    by_size = load_prompts(path, most_bytes=200)

    assert len(by_count.prompts) == 10
    assert by_count.notes == ("the file is longer; it was read up to line 10",)
    assert 0 < len(by_size.prompts) < 10
    assert "read up to line" in by_size.notes[0]


def test_a_line_without_an_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promptset, "LONGEST_LINE", 1 << 20)
    path = tmp_path / "own.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole of a terabyte, all of it one line

    with pytest.raises(UsageError, match="longer than 1 MiB"):
        load_prompts(path)


def read_or_complain(data: bytes) -> Prompt | None:
    """What a line gives; a complaint must have its place and do nothing to a terminal."""
    try:
        entry = parse_line(data, "own.jsonl", 1, "own")
    except FiredupError as error:
        complaint = str(error)
    else:
        return entry.prompt if entry is not None else None
    assert "own.jsonl:1" in complaint
    assert all(char.isprintable() or char == "\n" for char in complaint)
    return None


@given(st.binary())
def test_no_bytes_lead_to_anything_but_prompts_or_words(data: bytes) -> None:
    assert read_or_complain(data) is None


@given(st.sampled_from(FORMS), MESSAGES | JSON_VALUES, JSON_VALUES, JSON_VALUES)
def test_no_json_leads_to_anything_but_prompts_or_words(
    form: str, value: Any, id_: Any, category: Any
) -> None:
    line = json.dumps({form: value, "id": id_, "category": category}).encode()

    prompt = read_or_complain(line)

    if prompt is not None:
        assert prompt.messages[-1].role == "user"
        # What is accepted can be sent.
        prompt.text.encode("utf-8")
