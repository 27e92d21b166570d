"""Prompts are drawn in balance and never twice, and the same seed draws the same ones."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import UsageError
from firedup.core.measure.draw import draw, salt_all
from firedup.core.measure.prompt import Prompt, content_key, single

# Of three prompts each in chat and code, seed 1.
PINNED = ["code/2", "chat/0", "code/1", "chat/2"]


def pool(sizes: dict[str, int]) -> list[Prompt]:
    return [
        single(f"{name}/{number}", name, f"{name} asks {number}?", "own")
        for name, size in sizes.items()
        for number in range(size)
    ]


SIZES = st.dictionaries(
    st.sampled_from(["chat", "code", "summary", "own", "reasoning"]),
    st.integers(1, 9),
    min_size=1,
)


@given(SIZES, st.data(), st.integers(0, 2**64))
def test_a_draw_is_balanced_and_holds_nothing_twice(
    sizes: dict[str, int], data: st.DataObject, seed: int
) -> None:
    count = data.draw(st.integers(1, sum(sizes.values())))

    drawn = draw(pool(sizes), count, seed=seed)

    assert len(drawn) == count
    assert len({content_key(prompt) for prompt in drawn}) == count
    counts = Counter(prompt.category for prompt in drawn)
    most = max(counts.values())
    for name, size in sizes.items():
        assert counts[name] >= min(size, most - 1)


@given(SIZES, st.data(), st.integers(0, 1000))
def test_a_smaller_draw_is_the_beginning_of_a_larger_one(
    sizes: dict[str, int], data: st.DataObject, seed: int
) -> None:
    total = sum(sizes.values())
    count = data.draw(st.integers(1, total))

    assert draw(pool(sizes), count, seed=seed) == draw(pool(sizes), total, seed=seed)[:count]


@given(st.permutations(pool({"chat": 4, "code": 3, "own": 2})))
def test_the_order_of_the_prompts_does_not_matter(prompts: list[Prompt]) -> None:
    expected = draw(pool({"chat": 4, "code": 3, "own": 2}), 6, seed=5)

    assert draw(prompts, 6, seed=5) == expected


def test_another_seed_draws_others() -> None:
    prompts = pool({"chat": 20, "code": 20})

    drawn = {tuple(prompt.id for prompt in draw(prompts, 6, seed=seed)) for seed in range(10)}

    assert len(drawn) == 10


def test_a_draw_today_is_what_it_was_when_the_baseline_was_measured() -> None:
    prompts = pool({"chat": 3, "code": 3})

    # Fixed: a change of this order would make stored baselines incomparable.
    assert [prompt.id for prompt in draw(prompts, 4, seed=1)] == PINNED


def test_only_the_named_categories_are_drawn_from() -> None:
    drawn = draw(pool({"chat": 5, "code": 5}), 5, seed=1, categories=["code"])

    assert {prompt.category for prompt in drawn} == {"code"}


def test_a_category_without_prompts_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="no prompt of the category poetry") as caught:
        draw(pool({"chat": 2}), 1, seed=1, categories=["chat", "poetry"])

    assert "chat" in str(caught.value)


def test_nothing_to_draw_from_is_refused() -> None:
    with pytest.raises(UsageError, match="there are no prompts"):
        draw([], 1, seed=1)


def test_more_than_there_are_is_refused_and_both_numbers_told() -> None:
    with pytest.raises(UsageError, match="6 prompts were asked for and there are 5") as caught:
        draw(pool({"chat": 2, "code": 3}), 6, seed=1)

    assert "chat 2, code 3" in str(caught.value)


def test_one_prompt_under_two_names_counts_once() -> None:
    twin = single("other", "chat", "chat asks 0?", "own")

    with pytest.raises(UsageError, match="there are 2 different ones"):
        draw([*pool({"chat": 2}), twin], 3, seed=1)


def test_no_prompt_at_all_cannot_be_asked_for() -> None:
    with pytest.raises(UsageError, match="0 prompts"):
        draw(pool({"chat": 2}), 0, seed=1)


@given(SIZES, st.integers(1, 60), st.integers(0, 1000))
def test_repetition_on_request_never_repeats_a_beginning(
    sizes: dict[str, int], count: int, seed: int
) -> None:
    prompts = pool(sizes)

    drawn = draw(prompts, count, seed=seed, may_repeat=True)

    assert len(drawn) == count
    assert len({prompt.id for prompt in drawn}) == count
    repeated = drawn[len(prompts) :]
    assert len({prompt.messages[0].content[:12] for prompt in repeated}) == len(repeated)
    texts = {prompt.messages[0].content for prompt in prompts}
    assert all(prompt.messages[0].content.split("\n\n")[1] in texts for prompt in repeated)


def test_salted_copies_differ_by_seed_and_from_the_prompts() -> None:
    prompts = pool({"chat": 3})

    one, two = salt_all(prompts, seed=1), salt_all(prompts, seed=2)

    beginnings = {prompt.text[:12] for prompt in (*prompts, *one, *two)}
    assert len(beginnings) == 9
