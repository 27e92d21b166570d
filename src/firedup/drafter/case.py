"""All that a check may look at: both checkpoints, what they mean, the launch, and small tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from firedup.core.checked import CheckFinding
from firedup.drafter.checkpoint import Checkpoint
from firedup.profile.flags import Refused


@dataclass(frozen=True, slots=True)
class TargetFacts:
    """The text model of a target, nested or not. Sizes are None where the config does not say."""

    architecture: str
    model_type: str
    hidden: int | None
    layers: int | None
    vocab: int | None
    max_positions: int | None
    quantization: str | None  # "compressed-tensors", "fp8", "awq", "gptq", …
    is_mla: bool = False
    is_multimodal: bool = False
    embed_name: str | None = None  # the tensor of that role, found by name
    head_name: str | None = None  # None also when tied to the embedding


@dataclass(frozen=True, slots=True)
class DraftFacts:
    """A drafter as its files say. `kind`: eagle3, eagle, mtp, draft-model, unknown.

    `names` maps canonical tensor names (`fc.weight`, `layers.0.self_attn.q_proj.weight`,
    `lm_head.weight`, `d2t`, …) to the names in the file. `layer_ids` come from `layer_ids_key`;
    None = default. `producer_why` says what `producer` was told by.
    """

    kind: str
    producer: str | None  # eagle, specforge, speculators, modelopt, angelslim, torchspec
    architecture: str
    hidden: int | None
    target_hidden: int | None
    layers: int | None
    vocab: int | None
    draft_vocab: int | None
    heads: int | None
    kv_heads: int | None
    head_dim: int | None
    intermediate: int | None
    max_positions: int | None
    is_mla: bool = False
    layer_ids: tuple[int, ...] | None = None
    layer_ids_key: str | None = None  # dotted path in config.json
    made_for: str | None = None  # the target that the drafter names as its own
    names: Mapping[str, str] = field(default_factory=dict)
    producer_why: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """The flags as the engine would take them; empty when no launch was given.

    `engine` is the one that the command starts, None where that is not known. `typed` has the words
    of a flag, `refused` those that the parser of version `read` does not take.
    """

    argv: tuple[str, ...] = ()
    flags: Mapping[str, str] = field(default_factory=dict)  # "speculative-algorithm" → "EAGLE3"
    env: Mapping[str, str] = field(default_factory=dict)
    tp: int | None = None
    engine: str | None = None
    typed: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[Refused, ...] = ()
    read: str = ""


@dataclass(frozen=True, slots=True)
class Samples:
    """Small tensors and rows of big ones, as numbers: sampled rows by their row number.

    A row of many columns is cut: the first 4,096 of it are read. Target rows are those that `d2t`
    leads to (as offsets), or the same rows where there is no map. `d2t` is as stored; `t2d` are the
    ids whose mask is set. `small` holds whole one-dimensional tensors of the drafter by canonical
    name, `draft_rest` the beginnings of a few rows of its other matrices.
    """

    d2t: tuple[int, ...] | None = None
    t2d: tuple[int, ...] | None = None
    draft_head: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    target_head: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    draft_embed: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    target_embed: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    draft_fc: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    draft_rest: Mapping[str, Mapping[int, tuple[float, ...]]] = field(default_factory=dict)
    small: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """One question: whether `draft` fits `target` in `engine` at `version` (None: in any).

    `tokens` are those of a text that is served, and how often each comes; empty when none is given.
    """

    target: Checkpoint
    draft: Checkpoint
    target_facts: TargetFacts
    draft_facts: DraftFacts
    engine: str | None = None
    version: str | None = None
    launch: Launch = field(default_factory=Launch)
    samples: Samples = field(default_factory=Samples)
    tokens: Mapping[int, int] = field(default_factory=dict)


# A check yields what it finds, and nothing where it does not apply.
Check = Callable[[Case], Iterator[CheckFinding]]
