"""How a good pair of the zoo is broken: one change to its config, its tensors or its files."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from firedup.core.checked import Harm
from tests.drafter.zoo import (
    END,
    HIDDEN,
    VOCAB,
    Model,
    Pair,
    Raw,
    bf16,
    draft_ids,
    head_rows,
    mask,
    matrix,
    offsets,
    token_rows,
)
from tests.drafter.zoo_pairs import SGLANG, good

Engine = tuple[str, str]
OLD_SGLANG, OLD_VLLM = ("sglang", "0.5.11"), ("vllm", "0.20.0")


@dataclass(frozen=True)
class Mutation:
    """One fault: `finding` must be raised with `harm` when `pair` is checked for `engine`.

    `command` is the launch command that is checked with it, `{target}` and `{draft}` in it.
    """

    name: str
    pair: str
    change: Callable[[Pair], None]
    finding: str
    harm: Harm
    engine: Engine = SGLANG
    also: tuple[str, ...] = ()
    fixable: bool = False
    command: str = ""

    def apply(self) -> Pair:
        """The pair with the fault."""
        pair = good(self.pair).copy()
        self.change(pair)
        return pair


def config(**keys: Any) -> Callable[[Pair], None]:
    """Set keys of the drafter's config; None removes one."""

    def change(pair: Pair) -> None:
        for key, value in keys.items():
            if value is None:
                pair.draft.config.pop(key)
            else:
                pair.draft.config[key] = value

    return change


def put(name: str, raw: Raw | Callable[[], Raw]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.tensors[name] = raw() if callable(raw) else raw

    return change


def drop(*names: str) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        for name in names:
            del pair.draft.tensors[name]

    return change


def rename(change_name: Callable[[str], str]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        held = pair.draft.tensors
        pair.draft.tensors = {change_name(name): raw for name, raw in held.items()}

    return change


def both(*changes: Callable[[Pair], None]) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        for one in changes:
            one(pair)

    return change


def file(name: str, content: object) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.files[name] = content

    return change


def stale_map(pair: Pair) -> None:
    """A map of another text, as fine-tuning leaves it beside the old head."""
    ids = draft_ids(seed=99)
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}


def no_end(pair: Pair) -> None:
    """A map of a text that never ends: another token has the place."""
    known = draft_ids()
    spare = next(i for i in range(END + 1, VOCAB) if i not in known)
    ids = sorted({*known, spare} - {END})
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}
    pair.draft.tensors["lm_head.weight"] = matrix(head_rows(ids))


def swapped(pair: Pair) -> None:
    ids = list(draft_ids())
    ids[10], ids[40] = ids[40], ids[10]
    pair.draft.tensors["d2t"] = offsets(ids)


def doubled(pair: Pair) -> None:
    ids = list(draft_ids())
    ids[11] = ids[10]
    pair.draft.tensors["d2t"] = offsets(ids)


def shifted(pair: Pair) -> None:
    """Each row stands for the token after its own."""
    ids = [(i + 1) % VOCAB for i in draft_ids()]
    pair.draft.tensors |= {"d2t": offsets(ids), "t2d": mask(ids)}


def random_rows(seed: int) -> Raw:
    draw = random.Random(seed)
    return matrix([draw.gauss(0, 0.5) for _ in range(HIDDEN)] for _ in range(VOCAB))


def other_copy(pair: Pair) -> None:
    """Head rows of a target that was trained further."""
    rows = [[x * 1.5 + 0.25 for x in token_rows("head")[i]] for i in draft_ids()]
    pair.draft.tensors["lm_head.weight"] = matrix(rows)


def not_finite(pair: Pair) -> None:
    raw = pair.draft.tensors["norm.weight"]
    data = struct.pack("<H", 0x7FC0) + raw.data[2:]
    pair.draft.tensors["norm.weight"] = Raw(raw.dtype, raw.shape, data)


def ones(pair: Pair) -> None:
    for name in [name for name in pair.draft.tensors if name.endswith("norm.weight")]:
        size = pair.draft.tensors[name].shape[0]
        pair.draft.tensors[name] = Raw("BF16", (size,), bf16([1.0] * size))


def nested(**keys: Any) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.config["transformer_layer_config"] |= keys

    return change


def verifier(name: str) -> Callable[[Pair], None]:
    def change(pair: Pair) -> None:
        pair.draft.config["speculators_config"]["verifier"]["name_or_path"] = name

    return change


def other_tokens(pair: Pair) -> None:
    vocab = pair.draft.files["tokenizer.json"]["model"]["vocab"]
    vocab["t100"], vocab["t101"] = vocab["t101"], vocab["t100"]


def cut(model: str, file: str) -> Callable[[Pair], None]:
    """Keep half of a file: as bytes written over the whole one afterwards."""

    def change(pair: Pair) -> None:
        part: Model = getattr(pair, model)
        part.cut.append(file)

    return change


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 546160\n"
