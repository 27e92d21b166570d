"""The prompts that come with firedup: enough of each category, all different, in real languages."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections import Counter
from importlib import resources
from typing import Any

import pytest

from firedup.core.error import UsageError
from firedup.core.measure.draw import draw
from firedup.core.measure.prompt import CATEGORIES, LONG_CONTEXT, WRITTEN
from firedup.probe.promptset import PER_CATEGORY, load_builtin, load_set

# By which script a sentence of the language is known.
SCRIPTS = {
    "ar": "ARABIC",
    "el": "GREEK",
    "hi": "DEVANAGARI",
    "ja": "HIRAGANA",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "uk": "CYRILLIC",
    "zh": "CJK",
}
# Frequent words by which a language with Latin letters is known.
FREQUENT = {
    "cs": "a v na se je kde jen pak nebo proč když tento",
    "de": "und der die das nicht ein ist wie mir bitte danach für",
    "es": "y los que con para una mi qué solo después quiero tengo",
    "fr": "et les je que des une pas avec dans nous puis qui",
    "id": "yang dan untuk saya dari di tidak dengan supaya tetapi baru kecil",
    "it": "e il con di che la mia per ogni una come senza",
    "nl": "en de het een niet ik van zo die te om maar",
    "pl": "i w na nie się od do jak co mam po żeby",
    "pt": "e o de com meu uma não do que vou onde dias",
    "sv": "och att det inte vi är på en som ska för jag",
    "tr": "bir ve için ise bana bu kadar hangi neden çok gün de",
}


def read(category: str) -> list[dict[str, Any]]:
    file = resources.files("firedup.probe") / "prompts" / f"{category}.toml"
    items: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8"))["prompt"]
    return items


def test_each_written_category_has_its_number_of_prompts() -> None:
    counts = Counter(prompt.category for prompt in load_builtin())

    assert counts == dict.fromkeys(WRITTEN, PER_CATEGORY)


def test_the_whole_set_has_eight_categories_of_equal_size() -> None:
    counts = Counter(prompt.category for prompt in load_set(seed=1, long_characters=4_000))

    assert counts == dict.fromkeys(CATEGORIES, PER_CATEGORY)


def test_no_two_prompts_have_the_same_id_or_begin_alike() -> None:
    prompts = load_set(seed=3, long_characters=4_000)

    assert len({prompt.id for prompt in prompts}) == len(prompts)
    # 16 characters are some four tokens: less than a block of any prefix cache.
    assert len({prompt.messages[0].content[:16] for prompt in prompts}) == len(prompts)


def test_no_two_prompts_share_a_sentence() -> None:
    seen: Counter[str] = Counter()
    for prompt in load_builtin():
        text = " ".join(message.content for message in prompt.messages)
        seen.update({part.strip() for part in re.split(r"[.!?]\s|。", text) if len(part) > 60})

    assert [sentence for sentence, count in seen.items() if count > 1] == []


def test_ids_are_short_words_with_the_category_before_them() -> None:
    for prompt in load_builtin():
        assert re.fullmatch(rf"{prompt.category}/[a-z]+(-[a-z0-9]+)*", prompt.id)
        assert len(prompt.id) < 48


def test_conversations_end_with_the_user() -> None:
    for prompt in load_builtin():
        roles = [message.role for message in prompt.messages]
        assert roles[-1] == "user"
        assert set(roles) <= {"system", "user", "assistant"}
        assert all(message.content for message in prompt.messages)


def test_each_summary_brings_a_passage_of_150_to_400_words() -> None:
    for item in read("summary"):
        task, _, passage = item["text"].strip().partition("\n\n")
        assert 150 <= len(passage.split()) <= 400, item["id"]
        assert len(task.split()) < 80, item["id"]


def test_each_extraction_asks_for_json() -> None:
    for item in read("extraction"):
        assert "JSON" in item["text"] or '": ' in item["text"] or '["' in item["text"], item["id"]


def test_there_are_ten_languages_and_more() -> None:
    assert len({item["language"] for item in read("multilingual")}) >= 10


@pytest.mark.parametrize("item", read("multilingual"), ids=lambda item: item["id"])
def test_a_prompt_is_in_the_language_that_it_is_said_to_be_in(item: dict[str, Any]) -> None:
    text, language = item["text"], item["language"]
    letters = [char for char in text if char.isalpha()]
    if script := SCRIPTS.get(language):
        named = [char for char in letters if unicodedata.name(char).startswith(script)]
        assert len(named) > len(letters) * (0.3 if language == "ja" else 0.95)
    else:
        words = set(re.findall(r"\w+", text.lower()))
        hits = {name: len(words & set(frequent.split())) for name, frequent in FREQUENT.items()}
        assert max(hits, key=hits.__getitem__) == language
        assert hits[language] >= 5
    assert item["id"].startswith(f"{language}-")


def test_only_russian_and_ukrainian_share_a_script_and_their_letters_tell_them_apart() -> None:
    texts = {item["language"]: item["text"] for item in read("multilingual")}

    assert "ї" in texts["uk"]
    assert "ї" not in texts["ru"]
    assert "ы" in texts["ru"]
    assert "ы" not in texts["uk"]


def test_a_probe_draws_from_all_eight_categories() -> None:
    drawn = draw(load_set(seed=9, long_characters=4_000), 16, seed=9)

    assert Counter(prompt.category for prompt in drawn) == dict.fromkeys(CATEGORIES, 2)


def test_an_unknown_category_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(UsageError, match="'poetry'") as caught:
        load_set(["chat", "poetry"], seed=1)

    assert LONG_CONTEXT in str(caught.value)
