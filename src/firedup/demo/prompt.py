"""Prompts for the demo's model: passages of Python's standard library that it goes on reciting."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from firedup.demo.model import read_resource

# Beside the models; a file of prompts as `firedup probe --prompts` takes it.
PROMPTS = "prompts.jsonl"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A passage of `module` (of Python 3.11) to be continued.

    `continuation` is the beginning of what follows there, which the model knows by heart: at
    temperature 0 its output begins with these 60 characters.
    """

    module: str
    text: str
    continuation: str


def load_prompts() -> tuple[Prompt, ...]:
    """Return the twelve prompts, all different so that no answer comes out of a cache."""
    items = [msgspec.json.decode(line) for line in read_resource(PROMPTS).splitlines()]
    return tuple(Prompt(one["module"], one["prompt"], one["continuation"]) for one in items)
