"""A prompt goes on after an answer, and a salted copy asks the same with other first characters."""

from __future__ import annotations

from firedup.core.measure.prompt import Message, Prompt, content_key, digest_of, salted, single

TALK = Prompt(
    "talk",
    "chat",
    (Message("system", "Be brief."), Message("user", "Name a river.")),
    "own.jsonl:1",
    later=("And its source?", "And its mouth?"),
)


def test_a_later_turn_is_asked_after_the_answer_to_the_first() -> None:
    second = TALK.after("The Elbe.")

    assert second is not None
    assert [message.role for message in second.messages] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert second.messages[2:] == (
        Message("assistant", "The Elbe."),
        Message("user", "And its source?"),
    )
    assert second.later == ("And its mouth?",)


def test_after_the_last_turn_there_is_none() -> None:
    assert single("one", "chat", "Name a river.", "built-in").after("The Elbe.") is None


def test_one_message_is_its_own_text() -> None:
    assert single("one", "chat", "Name a river.", "built-in").text == "Name a river."


def test_several_messages_become_a_text_that_the_assistant_goes_on_with() -> None:
    assert TALK.text == "System: Be brief.\n\nUser: Name a river.\n\nAssistant:"


def test_a_salted_copy_begins_with_the_salt_and_ends_with_the_task() -> None:
    copy = salted(TALK, "5d0e")

    assert copy.id == "talk~5d0e"
    assert copy.messages[0].content.startswith("5d0e ")
    assert copy.messages[0].content.endswith("\n\nBe brief.")
    assert copy.messages[1:] == TALK.messages[1:]
    assert copy.later == TALK.later


def test_what_is_asked_makes_the_key_and_not_what_it_is_called() -> None:
    here = single("a", "chat", "Name a river.", "a.jsonl:1")
    there = single("b", "code", "Name a river.", "b.jsonl:9")

    assert content_key(here) == content_key(there)
    assert content_key(here) != content_key(single("a", "chat", "Name a lake.", "a.jsonl:1"))


def test_the_border_between_two_messages_is_part_of_the_key() -> None:
    one = Prompt("x", "chat", (Message("user", "ab"), Message("user", "c")), "own")
    two = Prompt("x", "chat", (Message("user", "a"), Message("user", "bc")), "own")

    assert content_key(one) != content_key(two)


def test_the_order_of_prompts_is_part_of_their_digest() -> None:
    first, second = single("a", "chat", "One?", "own"), single("b", "chat", "Two?", "own")

    assert digest_of([first, second]) != digest_of([second, first])
    assert digest_of([first, second]) == digest_of((first, second))
