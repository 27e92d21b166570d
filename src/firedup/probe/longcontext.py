"""Builds documents of a wanted length from invented facts, with questions that they answer."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from random import Random
from typing import Any

from firedup.core.error import UsageError
from firedup.core.measure.prompt import LONG_CONTEXT, Prompt, single
from firedup.probe.grammar import Grammar, Words
from firedup.probe.invent import Inventor, Syllables

SOURCE = "built"
SHORTEST, LONGEST = 3_000, 8_000_000
DEFAULT_CHARACTERS = 24_000
# Counted: 4.08 with a vocabulary of 100,000 tokens in general use, 4.13 with one of 200,000.
CHARACTERS_PER_TOKEN = 4.1
# What the questions and the last paragraph may take; and when a length is near enough.
_RESERVE, _TOLERANCE = 1_200, 0.01
_MANY_QUESTIONS = 8_000
_TRIES = 200
# No two documents of a probe begin with the same characters.
_BEGINNING = 12
# One or two remarks are about as long as this.
_TAIL = 240


@dataclass(frozen=True, slots=True)
class FactForm:
    """A sentence with gaps, a question about it, and the part of the sentence that answers it."""

    text: str
    ask: str
    answer: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of document: its sentences and its words."""

    id: str
    noun: str
    title: tuple[str, ...]
    intro: tuple[str, ...]
    heading: tuple[str, ...]
    tasks: tuple[str, ...]
    remark: tuple[str, ...]
    facts: tuple[FactForm, ...]
    lead: tuple[str, ...]
    words: Words
    own_words: frozenset[str]
    syllables: Syllables


@dataclass(frozen=True, slots=True)
class Question:
    """A question, its short answer, and the sentence of the document in which that stands."""

    text: str
    answer: str
    evidence: str


@dataclass(frozen=True, slots=True)
class Document:
    """An invented document and its questions; `text` holds both, the questions at the end."""

    kind: str
    text: str
    questions: tuple[Question, ...]


def load_kinds() -> tuple[Kind, ...]:
    """The kinds of documents that come with firedup."""
    file = resources.files("firedup.probe") / "prompts" / f"{LONG_CONTEXT}.toml"
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    syllables = Syllables(**{name: tuple(parts) for name, parts in table["names"].items()})
    return tuple(_make_kind(item, table, syllables) for item in table["kind"])


def build_prompts(
    kinds: tuple[Kind, ...], count: int, *, seed: int, characters: int = DEFAULT_CHARACTERS
) -> tuple[Prompt, ...]:
    """`count` prompts of about `characters` each; all differ from their first line on.

    A larger `count` only adds prompts. Another seed or length gives other documents.
    """
    order = list(kinds)
    Random(seed).shuffle(order)  # noqa: S311 - repeatable is what it must be
    prompts: list[Prompt] = []
    beginnings: set[str] = set()
    for index in range(count):
        kind = order[index % len(order)]
        document = build_document((kind,), f"{seed}/{index}", characters)
        retry = 0
        while document.text[:_BEGINNING] in beginnings:
            retry += 1
            document = build_document((kind,), f"{seed}/{index}/{retry}", characters)
        beginnings.add(document.text[:_BEGINNING])
        id_ = f"{LONG_CONTEXT}/{kind.id}-{characters}-{seed}-{index + 1}"
        prompts.append(single(id_, LONG_CONTEXT, document.text, SOURCE))
    return tuple(prompts)


def characters_for(tokens: int) -> int:
    """About how many characters make `tokens`; vocabularies differ by some 15 %."""
    return round(tokens * CHARACTERS_PER_TOKEN)


def build_document(kinds: tuple[Kind, ...], seed: str, characters: int) -> Document:
    """A document of `characters`, right within 1 %, that depends on nothing but the arguments.

    Raises UsageError for a length that cannot be built.
    """
    if not SHORTEST <= characters <= LONGEST:
        raise UsageError(
            f"a long document of {characters:,} characters cannot be built",
            todo=f"Ask for {SHORTEST:,} to {LONGEST:,} characters "
            f"({SHORTEST / CHARACTERS_PER_TOKEN:,.0f} tokens and more).",
        )
    random = Random(f"{seed}/{characters}")  # noqa: S311 - repeatable is what it must be
    return _Builder(random, random.choice(kinds), characters).build()


class _Builder:
    """The making of one document."""

    def __init__(self, random: Random, kind: Kind, characters: int) -> None:
        self._random = random
        self._kind = kind
        self._characters = characters
        self._grammar = Grammar(random, kind.words, Inventor(random, kind.syllables).makers())
        self._seen: set[str] = set()

    def build(self) -> Document:
        kind, random = self._kind, self._random
        title = self._grammar.fill(random.choice(kind.title), {})
        parts = [title, random.choice(kind.intro)]
        size = sum(map(len, parts)) + 2 * len(parts)
        facts: list[Question] = []
        while True:
            entry, fact = self._entry()
            if facts and size + len(entry) + 2 > self._characters - _RESERVE:
                break
            parts.append(entry)
            facts.append(fact)
            size += len(entry) + 2
        questions = self._choose(facts)
        task = self._task(questions)
        gap = self._characters - size - len(task)
        if gap > self._characters * _TOLERANCE:
            parts.append(self._fill(gap - 2))
        return Document(kind.id, "\n\n".join([*parts, task]), questions)

    def _entry(self) -> tuple[str, Question]:
        kind, grammar = self._kind, self._grammar
        bound: dict[str, str] = {}
        heading = grammar.fill(grammar.draw("heading", kind.heading), bound)
        form = kind.facts[int(grammar.draw("fact", tuple(map(str, range(len(kind.facts))))))]
        sentence = grammar.fill(form.text, bound)
        question = Question(
            grammar.fill(form.ask, bound), grammar.fill(form.answer, bound), sentence
        )
        sentences = [sentence]
        sentences += [self._remark(bound) for _ in range(self._random.randint(1, 4))]
        # The fact stands anywhere in its entry.
        place = self._random.randrange(len(sentences))
        sentences[0], sentences[place] = sentences[place], sentences[0]
        return f"{heading} {' '.join(sentences)}", question

    def _remark(self, bound: Mapping[str, str]) -> str:
        """A sentence that no other equals; it keeps what the entry says in the kind's own words."""
        kept = {key: text for key, text in bound.items() if key[:-2] in self._kind.own_words}
        kept |= {key: text for key, text in bound.items() if key in self._kind.own_words}
        sentence = ""
        for _ in range(_TRIES):
            form = self._grammar.draw("remark", self._kind.remark)
            sentence = self._grammar.fill(form, dict(kept))
            if sentence not in self._seen:
                break
        self._seen.add(sentence)
        return sentence

    def _choose(self, facts: list[Question]) -> tuple[Question, ...]:
        """Facts from different parts of the document, in an order of their own."""
        wanted = 2 if self._characters < _MANY_QUESTIONS else 4
        count = min(wanted, len(facts))
        edges = [len(facts) * part // count for part in range(count + 1)]
        chosen = [facts[self._random.randrange(low, high)] for low, high in pairwise(edges)]
        self._random.shuffle(chosen)
        return tuple(chosen)

    def _task(self, questions: tuple[Question, ...]) -> str:
        asked = "\n".join(
            f"{number}. {question.text}" for number, question in enumerate(questions, start=1)
        )
        lead = self._grammar.fill(self._random.choice(self._kind.lead), {"noun": self._kind.noun})
        return f"{lead}\n{asked}\n\n{self._random.choice(self._kind.tasks)}"

    def _fill(self, gap: int) -> str:
        """A paragraph of remarks of almost exactly `gap` characters."""
        text = ""
        while len(text) < gap - _TAIL:
            text += self._remark({}) + " "
        # What comes last is chosen for its length.
        best = ""
        for _ in range(_TRIES):
            tail = self._remark({})
            if self._random.getrandbits(1):
                tail += " " + self._remark({})
            if abs(gap - len(text + tail)) < abs(gap - len(text + best)):
                best = tail
        return text + best


def _make_kind(item: dict[str, Any], table: dict[str, Any], syllables: Syllables) -> Kind:
    own = _make_words(item["words"])
    return Kind(
        id=item["id"],
        noun=item["noun"],
        title=tuple(item["title"]),
        intro=tuple(item["intro"]),
        heading=tuple(item["heading"]),
        tasks=tuple(item["tasks"]),
        remark=(*item["remark"], *table["text"]["remark"]),
        facts=tuple(FactForm(fact["text"], fact["ask"], fact["answer"]) for fact in item["facts"]),
        lead=tuple(table["text"]["lead"]),
        words={**_make_words(table["words"]), **own},
        own_words=frozenset(own),
        syllables=syllables,
    )


def _make_words(table: dict[str, Any]) -> dict[str, tuple[str, ...] | range]:
    """Words by name; two numbers are the ends of a range."""
    words: dict[str, tuple[str, ...] | range] = {}
    for name, choices in table.items():
        match choices:
            case [int(low), int(high)]:
                words[name] = range(low, high + 1)
            case _:
                words[name] = tuple(choices)
    return words
