"""What can be mended in a drafter without guessing: keys of its config, names, maps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firedup.core.checked import CheckFinding
from firedup.drafter.case import Case
from firedup.drafter.checks.draft_vocab import rows_of
from firedup.drafter.checks.layer_count import layers_held
from firedup.drafter.checks.layer_names import layers_by_number
from firedup.drafter.checks.lost_flag import lost_flags
from firedup.drafter.checks.norm_names import old_norms
from firedup.drafter.config import inner
from firedup.drafter.expected import held
from firedup.drafter.placed import place_of_ids
from firedup.drafter.rename import FIRST_LAYER, MIDLAYER, renames_of
from firedup.drafter.tell import some
from firedup.drafter.vocabmap import holds_ids

_NESTED = "transformer_layer_config"
_EAGLE = "eagle_config"
Key = tuple[str, ...]
REMOVED = object()  # in place of a value: the key goes


@dataclass(slots=True)
class Repair:
    """What is to be written: config keys by path, new names of tensors, maps, and what is dropped.

    `offsets` becomes d2t, `marked` the ids that t2d marks. `done` says each change in a sentence.
    """

    config: dict[Key, Any] = field(default_factory=dict)
    renames: dict[str, str] = field(default_factory=dict)
    offsets: tuple[int, ...] | None = None
    marked: tuple[int, ...] | None = None
    dropped: set[str] = field(default_factory=set)
    done: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is to be written."""
        return not self.done


def plan_repair(case: Case, findings: Iterable[CheckFinding]) -> Repair:
    """Mend what `findings` say is mendable; nothing of a drafter whose files are not whole."""
    repair = Repair()
    for finding in findings if not case.draft.damages else ():
        mend = _MENDERS.get(finding.id)
        if finding.fixable and mend is not None:
            mend(case, repair)
    return repair


def _set(case: Case, repair: Repair, key: str, value: object, *, nested: bool = False) -> None:
    """Set a key at the top, or where the layer is described, unless it has that value."""
    config = case.draft.config
    path: Key = (_NESTED, key) if nested and inner(config, _NESTED) else (key,)
    place = inner(config, _NESTED) if len(path) == 2 else config
    if key in place and place[key] == value:
        return
    old = f"was {_json(place[key])}" if key in place else "was not there"
    repair.config[path] = value
    repair.done.append(f"config.json: {'.'.join(path)} = {_json(value)} ({old})")


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _vocab(case: Case, repair: Repair) -> None:
    _set(case, repair, "vocab_size", case.target_facts.vocab, nested=True)


def _draft_vocab(case: Case, repair: Repair) -> None:
    if rows := rows_of(case):
        _set(case, repair, "draft_vocab_size", rows)


def _layers(case: Case, repair: Repair) -> None:
    if found := layers_held(case):
        _set(case, repair, "num_hidden_layers", found, nested=True)


def _flags(case: Case, repair: Repair) -> None:
    for flag in lost_flags(case):
        _set(case, repair, flag.keys[0], value=True)
        if flag.keys[0] in inner(case.draft.config, _EAGLE):
            repair.config[_EAGLE, flag.keys[0]] = True


def _untie(case: Case, repair: Repair) -> None:
    _set(case, repair, "tie_word_embeddings", value=False, nested=True)
    if case.draft.config.get("tie_word_embeddings") is True:
        repair.config["tie_word_embeddings",] = False


def _names(case: Case, repair: Repair) -> None:
    renames = renames_of(case)
    if renames and not renames.items() <= repair.renames.items():
        repair.renames |= renames
        shown = some(f"{old} → {new}" for old, new in sorted(renames.items())[:2])
        more = f" and {len(renames) - 2} more" if len(renames) > 2 else ""
        repair.done.append(f"tensors renamed: {shown}{more}")


def _midlayer(case: Case, repair: Repair) -> None:
    tensors = layers_by_number(case)
    for tensor in tensors:
        repair.renames[tensor.name] = MIDLAYER + tensor.name.removeprefix(FIRST_LAYER)
    repair.done.append(f"{len(tensors)} tensors renamed: {FIRST_LAYER}* → {MIDLAYER}*")


def _norm_names(case: Case, repair: Repair) -> None:
    tensors = old_norms(case)
    repair.renames |= {tensor.name: name for name, tensor in tensors.items()}
    repair.done.append(f"{len(tensors)} norms renamed: aux_norm_* → fc_norm.*")


def _offsets(case: Case, repair: Repair) -> None:
    ids = case.samples.d2t or ()
    repair.offsets = tuple(i - row for row, i in enumerate(ids))
    repair.done.append("d2t: ids replaced by offsets, each less the number of its row")


def _from_mask(case: Case, repair: Repair) -> None:
    marked, rows = case.samples.t2d, rows_of(case)
    head = held(case, "lm_head.weight")
    count = head.shape[0] if head is not None and head.shape else rows
    if marked is None or len(marked) != count:
        _names(case, repair)  # d2t lies there under another name
        return
    repair.offsets = tuple(i - row for row, i in enumerate(marked))
    repair.done.append(f"d2t: made of the {len(marked):,} tokens that t2d marks")


def _mask(case: Case, repair: Repair) -> None:
    d2t, vocab = case.samples.d2t, case.target_facts.vocab
    if d2t is None or vocab is None or holds_ids(d2t, vocab, case.samples.t2d):
        return
    repair.marked = tuple(row + more for row, more in enumerate(d2t))
    repair.done.append(f"t2d: made of the {len(d2t):,} tokens that d2t leads to")


def _no_map(case: Case, repair: Repair) -> None:
    for name in ("d2t", "t2d"):
        if (tensor := held(case, name)) is not None:
            repair.dropped.add(tensor.name)
    repair.done.append("d2t and t2d left out: all tokens are drafted")


def _layer_ids(case: Case, repair: Repair) -> None:
    ids, old, new = case.draft_facts.layer_ids, case.draft_facts.layer_ids_key, place_of_ids(case)
    if ids is None or old is None or new is None:
        return
    repair.config[tuple(new.split("."))] = list(ids)
    repair.config[tuple(old.split("."))] = REMOVED
    repair.done.append(f"config.json: {new} = {list(ids)} (was {old})")


_MENDERS: Mapping[str, Callable[[Case, Repair], None]] = {
    "vocab-size-differs": _vocab,
    "draft-vocab-size-wrong": _draft_vocab,
    "draft-vocab-size-missing": _draft_vocab,
    "layer-count-differs": _layers,
    "norm-flag-missing": _flags,
    "head-tied-to-embedding": _untie,
    "tensor-missing": _names,
    "tensor-unknown": _names,
    "layer-name-not-read": _midlayer,
    "norm-name-not-read": _norm_names,
    "d2t-absolute-ids": _offsets,
    "d2t-never-filled": _from_mask,
    "d2t-missing": _from_mask,
    "t2d-differs": _mask,
    "d2t-not-needed": _no_map,
    "layer-ids-not-read": _layer_ids,
}
