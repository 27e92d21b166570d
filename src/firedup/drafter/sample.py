"""Reads the few rows and small tensors that checks look into: never more than four megabytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from firedup.drafter.case import DraftFacts, Samples, TargetFacts
from firedup.drafter.checkpoint import Checkpoint, Tensor
from firedup.drafter.number import FLOATS, ITEM_BYTES, decode_floats, decode_integers
from firedup.drafter.place import Place, Range
from firedup.drafter.tell import some

COLUMNS = 4096  # of a row; what follows tells the same
_LEAST_ROWS, _MOST_ROWS, _EMBED_ROWS, _FC_ROWS = 32, 64, 16, 4
_REST_ROWS, _REST_COLUMNS, _MOST_REST = 2, 512, 24  # enough for a matrix that is NaN throughout
_ROWS_BYTES = 256 << 10  # for the rows of one head, as far as they are more than the least
_MAP_BYTES, _MASK_BYTES = 2 << 20, 1 << 20
_SMALL_BYTES, _MOST_SMALL = 64 << 10, 16

Rows = dict[int, tuple[float, ...]]
_SAMPLED = frozenset({"lm_head.weight", "embed_tokens.weight", "fc.weight"})


@dataclass(frozen=True, slots=True)
class Sampled:
    """The samples, what was left out with the reason, and how many bytes were read."""

    samples: Samples
    skipped: tuple[tuple[str, str], ...]
    read_bytes: int


class _Reader:
    """Collects what is wanted of one checkpoint and reads it at once."""

    def __init__(self, place: Place, checkpoint: Checkpoint) -> None:
        self._place, self._checkpoint = place, checkpoint
        self._ranges: list[Range] = []
        self._found: list[bytes | None] = []
        self.read_bytes = 0

    def whole(self, tensor: Tensor) -> int:
        """Wants all of a tensor; the number of its range."""
        size = tensor.end - tensor.begin
        self._ranges.append((tensor, 0, size, ITEM_BYTES[tensor.dtype]))
        return len(self._ranges) - 1

    def rows(self, tensor: Tensor, numbers: Sequence[int], most: int = COLUMNS) -> dict[int, int]:
        """Wants the first columns of some rows, `most` of each: row → number of its range."""
        item = ITEM_BYTES[tensor.dtype]
        columns = tensor.shape[1]
        wanted = {}
        for number in numbers:
            wanted[number] = len(self._ranges)
            size = min(columns, most) * item
            self._ranges.append((tensor, number * columns * item, size, item))
        return wanted

    async def read(self) -> None:
        """Reads all that is wanted."""
        if self._ranges:
            self._found = await self._place.slices(self._checkpoint.path, self._ranges)
            self.read_bytes = sum(size for _, _, size, _ in self._ranges)

    def data(self, number: int) -> bytes | None:
        """The bytes of a range, None when it could not be read."""
        return self._found[number]

    def floats(self, wanted: Mapping[int, int], tensor: Tensor | None) -> Rows:
        """The rows as numbers."""
        if tensor is None:
            return {}
        found = {row: self.data(number) for row, number in wanted.items()}
        return {r: decode_floats(d, tensor.dtype) for r, d in found.items() if d is not None}


async def take_samples(
    target_place: Place,
    draft_place: Place,
    target: Checkpoint,
    draft: Checkpoint,
    facts: tuple[TargetFacts, DraftFacts],
) -> Sampled:
    """Reads from both what the checks of an EAGLE drafter look into; nothing for other kinds."""
    about_target, about = facts
    if about.kind not in ("eagle3", "eagle"):
        none = (("values", "weights are looked into in EAGLE drafters alone"),)
        return Sampled(Samples(), none if draft.tensors else (), 0)
    skipped: dict[str, str] = {}
    head = _matrix(draft, about.names.get("lm_head.weight"), "head of the drafter", skipped)
    embed = _matrix(draft, about.names.get("embed_tokens.weight"), "embedding", skipped)
    theirs = their_embed = None
    if head is not None:
        # A target without a head of its own takes its embedding for it.
        tied = None if target.damages else about_target.embed_name
        name = about_target.head_name or tied
        theirs = _matrix(target, name, "head of the target", skipped)
    if embed is not None:
        name = about_target.embed_name
        their_embed = _matrix(target, name, "embedding of the target", skipped)
    reader = _Reader(draft_place, draft)
    take_map = _map_reader(reader, draft, about, skipped)
    small = _take_small(reader, draft, about)
    head_rows = reader.rows(head, spread_rows(head.shape[0], count_rows(head))) if head else {}
    fc = _matrix(draft, about.names.get("fc.weight"), "fc", skipped)
    fc_rows = reader.rows(fc, spread_rows(fc.shape[0], _FC_ROWS)) if fc else {}
    common = min(embed.shape[0], their_embed.shape[0]) if embed and their_embed else 0
    ids = spread_rows(common, _EMBED_ROWS)
    embed_rows = reader.rows(embed, ids) if embed else {}
    rest = _take_rest(reader, draft, about)
    await reader.read()
    read = {"lm_head.weight": head_rows, "embed_tokens.weight": embed_rows, "fc.weight": fc_rows}
    read |= {name: rows for name, (rows, _) in rest.items()}
    if unread := _tell_unread(draft, about, read, {*small, *take_map.numbers}):
        skipped["values"] = unread
    samples = Samples(
        d2t=take_map("d2t"),
        t2d=_set_ids(take_map("t2d")),
        draft_head=reader.floats(head_rows, head),
        draft_embed=reader.floats(embed_rows, embed),
        draft_fc=reader.floats(fc_rows, fc),
        draft_rest={name: reader.floats(rows, tensor) for name, (rows, tensor) in rest.items()},
        small={
            name: decode_floats(data, tensor.dtype)
            for name, (number, tensor) in small.items()
            if (data := reader.data(number)) is not None
        },
    )
    other = _Reader(target_place, target)
    rows = _targets(samples, theirs.shape[0]) if theirs else []
    their_rows = other.rows(theirs, rows) if theirs else {}
    their_ids = other.rows(their_embed, ids) if their_embed else {}
    await other.read()
    samples = replace(
        samples,
        target_head=other.floats(their_rows, theirs),
        target_embed=other.floats(their_ids, their_embed),
    )
    return Sampled(samples, tuple(skipped.items()), reader.read_bytes + other.read_bytes)


def _matrix(
    checkpoint: Checkpoint, name: str | None, role: str, skipped: dict[str, str]
) -> Tensor | None:
    """The tensor `name` when its rows can be read as numbers; else None, and why in `skipped`."""
    tensor = checkpoint.tensors.get(name or "")
    if tensor is None:
        return None
    is_plain = tensor.dtype in FLOATS and len(tensor.shape) == 2 and all(tensor.shape)
    stem = tensor.name.removesuffix("weight")
    scales = (f"{tensor.name}_scale", f"{tensor.name}_scale_inv", f"{stem}weight_scale")
    if not is_plain or any(scale in checkpoint.tensors for scale in scales):
        skipped[f"rows of the {role}"] = f"{tensor.name} is {tensor.dtype}: quantised, not read"
        return None
    return tensor


def count_rows(head: Tensor) -> int:
    """How many rows are sampled: more of short ones."""
    size = min(head.shape[1], COLUMNS) * ITEM_BYTES[head.dtype]
    return max(_LEAST_ROWS, min(_MOST_ROWS, _ROWS_BYTES // size))


def spread_rows(rows: int, wanted: int) -> list[int]:
    """`wanted` of `rows` row numbers, evenly spread."""
    if rows <= wanted:
        return list(range(rows))
    return [(2 * number + 1) * rows // (2 * wanted) for number in range(wanted)]


def _targets(samples: Samples, rows: int) -> list[int]:
    """The rows of the target's head that the sampled rows of the drafter's stand for."""
    d2t = samples.d2t
    found = []
    for number in samples.draft_head:
        row = number if d2t is None else number + d2t[number] if number < len(d2t) else -1
        if 0 <= row < rows:
            found.append(row)
    return list(dict.fromkeys(found))


class _Maps:
    """The tensors d2t and t2d, as they come out of the reader."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader
        self.numbers: dict[str, tuple[int, Tensor]] = {}

    def __call__(self, name: str) -> tuple[int, ...] | None:
        """The whole numbers of one, None when it was not read."""
        if name not in self.numbers:
            return None
        number, tensor = self.numbers[name]
        data = self._reader.data(number)
        return None if data is None else decode_integers(data, tensor.dtype)


def _map_reader(
    reader: _Reader, draft: Checkpoint, about: DraftFacts, skipped: dict[str, str]
) -> _Maps:
    maps = _Maps(reader)
    for name, most in (("d2t", _MAP_BYTES), ("t2d", _MASK_BYTES)):
        tensor = draft.tensors.get(about.names.get(name, ""))
        if tensor is None:
            continue
        size = tensor.end - tensor.begin
        is_whole = tensor.dtype in ITEM_BYTES and tensor.dtype not in FLOATS
        if len(tensor.shape) != 1 or size > most or not is_whole:
            shape = ", ".join(map(str, tensor.shape))
            skipped[name] = f"{tensor.name} is {tensor.dtype} [{shape}], not a list of numbers"
        else:
            maps.numbers[name] = (reader.whole(tensor), tensor)
    return maps


def _set_ids(mask: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """The ids whose mask is set."""
    return None if mask is None else tuple(i for i, is_set in enumerate(mask) if is_set)


def _take_small(
    reader: _Reader, draft: Checkpoint, about: DraftFacts
) -> dict[str, tuple[int, Tensor]]:
    """The norms and biases: canonical name → number of the range, and the tensor."""
    small: dict[str, tuple[int, Tensor]] = {}
    for name, real in about.names.items():
        tensor = draft.tensors[real]
        is_float = tensor.dtype in FLOATS and len(tensor.shape) == 1
        if is_float and tensor.end - tensor.begin <= _SMALL_BYTES and len(small) < _MOST_SMALL:
            small[name] = (reader.whole(tensor), tensor)
    return small


def _take_rest(
    reader: _Reader, draft: Checkpoint, about: DraftFacts
) -> dict[str, tuple[dict[int, int], Tensor]]:
    """A few rows of the matrices within the layers: canonical name → rows, and the tensor."""
    rest: dict[str, tuple[dict[int, int], Tensor]] = {}
    for name, real in about.names.items():
        tensor = draft.tensors[real]
        is_matrix = tensor.dtype in FLOATS and len(tensor.shape) == 2 and all(tensor.shape)
        if name not in _SAMPLED and is_matrix and len(rest) < _MOST_REST:
            numbers = spread_rows(tensor.shape[0], _REST_ROWS)
            rest[name] = (reader.rows(tensor, numbers, _REST_COLUMNS), tensor)
    return rest


def _tell_unread(
    draft: Checkpoint, about: DraftFacts, read: Mapping[str, Mapping[int, int]], whole: set[str]
) -> str:
    """In which weights a value that is no number would not be seen; "" when all were read.

    `read` are the rows that were, by canonical name, `whole` the tensors of which all was.
    """
    parts, none, most = [], [], 0
    for name, real in sorted(about.names.items()):
        shape, rows = draft.tensors[real].shape, read.get(name, {})
        if name in whole:
            continue
        if not rows:
            none.append(name)
        elif name in _SAMPLED and len(rows) < shape[0]:
            parts.append(f"{len(rows)} of {shape[0]:,} rows of {name}")
        elif name not in _SAMPLED:
            most = max(most, len(rows))
    said = [*parts, f"{most} of each matrix in its layers"] if most else parts
    told = [f"NaN was looked for in {', '.join(said)}"] if said else []
    told += [f"not read: {some(none)}"] if none else []
    return "; ".join(told)
