"""What firedup knows of engines that serve drafters: data files as values, checked as they load."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from firedup.core.checked import Harm
from firedup.core.error import ProfileError, UsageError
from firedup.core.version import parse_version

SCHEMA = 1
ENGINES = ("sglang", "vllm", "llama-cpp")
_OPERATORS = (">=", "<")
Text = Annotated[str, Meta(min_length=1)]
# What id k among the layers that feed fc means: the hidden state that goes into layer k, or the one
# that comes out of it. The third is SGLang's for DeepSeek: out if the first id is 1, else in. The
# fourth is its for gpt-oss: in if the greatest id is the number of layers, else out.
Meaning = Literal["input", "output", "output-if-first-is-1", "output-unless-last"]


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`versions` as in `Consequence`; `source` says where in the engine's source it is read."""

    versions: str = ""
    source: str = ""


class Drafter(_Entry, frozen=True, kw_only=True):
    """Architectures of drafters that an engine loads, the kind and the layout that it expects."""

    architectures: Annotated[tuple[Text, ...], Meta(min_length=1)]
    kind: Literal["eagle3", "eagle", "mtp"]
    layout: Literal["llama", "mla", ""] = ""


class Target(_Entry, frozen=True, kw_only=True):
    """Architectures of targets that hand out the hidden states EAGLE-3 needs."""

    architectures: Annotated[tuple[Text, ...], Meta(min_length=1)]


class ModelType(_Entry, frozen=True, kw_only=True):
    """In these versions the target's model type must contain one of these words besides."""

    contains: Annotated[tuple[Text, ...], Meta(min_length=1)]


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target of so many layers, the ids of a config (empty: none), the states captured."""

    layers: int
    ids: tuple[int, ...]
    captures: tuple[int, ...]


class Capture(_Entry, frozen=True, kw_only=True):
    """What ids mean for targets of these architectures, or for all others when there are none."""

    meaning: Meaning
    architectures: tuple[Text, ...] = ()
    shifts_default: bool = False  # whether the default ids, too, are taken for outputs
    takes_last: bool = False  # whether what the last layer gives can be captured
    examples: Annotated[tuple[Example, ...], Meta(min_length=1)]


class IdKey(_Entry, frozen=True, kw_only=True):
    """A key of the drafter's config that is read for the ids; the first that is there counts."""

    key: Text


class Norm(_Entry, frozen=True, kw_only=True):
    """A flag of the drafter's config that changes how norms are applied, where it is honoured."""

    flags: Annotated[tuple[Text, ...], Meta(min_length=1)]
    nested: bool = True  # in the format of speculators, too


class Behaviour(_Entry, frozen=True, kw_only=True):
    """What the engine does with a fault. `fault` is the id of a finding, or one of its cases."""

    fault: Text
    harm: Harm
    text: Text


class Option(_Entry, frozen=True, kw_only=True):
    """A launch flag without its dashes, or a key of the JSON that `--speculative-config` takes."""

    names: Annotated[tuple[Text, ...], Meta(min_length=1)]


class Engine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One engine; `read` are the versions whose sources the facts were read in."""

    schema: int
    engine: Text
    title: Text
    read: Annotated[tuple[Text, ...], Meta(min_length=1)]
    source: Text
    drafter: tuple[Drafter, ...] = ()
    target: tuple[Target, ...] = ()
    without: tuple[Target, ...] = ()  # models that are served and do not hand them out
    any_target: bool = False  # every model that it serves hands them out
    model_type: tuple[ModelType, ...] = ()
    capture: tuple[Capture, ...] = ()
    id_key: tuple[IdKey, ...] = ()
    norm: tuple[Norm, ...] = ()
    behaviour: tuple[Behaviour, ...] = ()
    option: tuple[Option, ...] = ()


@cache
def engines() -> tuple[Engine, ...]:
    """All engines that are known, from the data files of the package."""
    folder = files("firedup.drafter.knowledge")
    return tuple(
        read_engine((folder / f"{name}.toml").read_text("utf-8"), f"{name}.toml")
        for name in ENGINES
    )


def engine_named(name: str) -> Engine | None:
    """What is known of the engine called `name`."""
    return next((one for one in engines() if one.engine == name), None)


def demand_known(engine: str | None, version: str | None) -> None:
    """UsageError for an engine of which no drafters are known, and a version that is none of it."""
    names = ", ".join(one.engine for one in engines())
    if engine is not None and engine_named(engine) is None:
        raise UsageError(
            f"nothing is known of drafters in {engine or 'an engine without a name'}",
            todo=f"There are: {names}.",
        )
    if version is None:
        return
    if parse_version(version) is None:
        raise UsageError(
            f'"{version}" is no version of an engine', todo="A version is such as 0.5.9 or b11434."
        )
    if engine is None:
        raise UsageError("a version needs its engine (--engine)", todo=f"Name one: {names}.")


def read_engine(text: str, path: str) -> Engine:
    """A data file as a value. ProfileError with everything that its examples contradict."""
    try:
        found = msgspec.convert(tomllib.loads(text), Engine)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ProfileError(f"{path} is no data file of an engine", why=str(error)) from error
    if problems := tuple(problems_of(found)):
        raise ProfileError(f"{path} contradicts itself", evidence="\n  ".join(problems))
    return found


def problems_of(engine: Engine) -> Iterator[str]:
    """What is wrong with it that the schema does not show."""
    if engine.schema != SCHEMA:
        yield f"schema {engine.schema} is not known; this version reads {SCHEMA}"
    kinds: Mapping[str, tuple[_Entry, ...]] = {
        "drafter": engine.drafter,
        "target": engine.target,
        "without": engine.without,
        "model_type": engine.model_type,
        "capture": engine.capture,
        "id_key": engine.id_key,
        "norm": engine.norm,
        "behaviour": engine.behaviour,
        "option": engine.option,
    }
    for kind, entries in kinds.items():
        for number, entry in enumerate(entries, 1):
            if not _is_specifier(entry.versions):
                yield f'{kind} {number}: "{entry.versions}" is no range such as ">=0.5.6,<0.5.12"'
    for number, capture in enumerate(engine.capture, 1):
        for one in capture.examples:
            found = captured(capture, one.ids or None, one.layers)
            if found != one.captures:
                yield f"capture {number}: {list(one.ids)} gives {list(found)}, not the example's"


def captured(capture: Capture, ids: tuple[int, ...] | None, layers: int) -> tuple[int, ...]:
    """The hidden states that are captured, k = that which goes into layer k, in this order.

    Engines walk through the layers once, so that states come in ascending order, each one once;
    `layers` itself is what the last layer gives.
    """
    shift = 0
    if ids is None:
        ids, shift = (2, layers // 2, layers - 3), int(capture.shifts_default)
    elif capture.meaning == "output":
        shift = 1
    elif capture.meaning == "output-if-first-is-1":
        shift = int(bool(ids) and ids[0] == 1)
    elif capture.meaning == "output-unless-last":
        shift = int(not ids or max(ids) != layers)
    return tuple(sorted({k + shift for k in ids}))


def _is_specifier(text: str) -> bool:
    parts = [part.strip() for part in text.split(",")] if text else []
    return all(
        (sign := next((o for o in _OPERATORS if part.startswith(o)), None)) is not None
        and parse_version(part.removeprefix(sign).strip()) is not None
        for part in parts
    )
