"""Tensors of a drafter under names that no engine reads, and the names that they should have."""

from __future__ import annotations

from firedup.drafter.case import Case
from firedup.drafter.checkpoint import Tensor
from firedup.drafter.expected import BENIGN, expected_tensors, held, is_split
from firedup.drafter.layershape import Shape

MIDLAYER = "midlayer."
FIRST_LAYER = "layers.0."


def unknown_tensors(case: Case) -> tuple[Tensor, ...]:
    """Tensors whose names are not those of this kind of drafter."""
    expected = expected_tensors(case)
    if expected is None or expected.is_open or case.draft.gguf:
        return ()
    known = {
        name
        for canonical, name in case.draft_facts.names.items()
        if expected.shape_of(canonical) is not None and is_plain(name)
    }
    return tuple(
        tensor
        for name, tensor in case.draft.tensors.items()
        if name not in known and not BENIGN.search(name)
    )


def is_plain(name: str) -> bool:
    """Whether a name stands without the prefix that vLLM adds by itself."""
    return not name.startswith("model.")


def renames_of(case: Case) -> dict[str, str]:
    """Name in the file → name that engines read, where there is no doubt.

    A tensor is renamed when its name ends with that of one expected tensor which is not there, its
    shape is the expected one, and no other tensor could take its place.
    """
    expected = expected_tensors(case)
    if expected is None:
        return {}
    taken = {
        canonical
        for canonical in case.draft_facts.names
        if (tensor := held(case, canonical)) is not None and is_plain(tensor.name)
    }
    candidates: dict[str, list[str]] = {}
    for tensor in unknown_tensors(case):
        wanted = _wanted(tensor, {**expected.required, **expected.optional})
        if wanted and wanted not in taken and not is_split(case, wanted):
            candidates.setdefault(wanted, []).append(tensor.name)
    style = MIDLAYER if _says_midlayer(case) else FIRST_LAYER
    return {
        names[0]: _in_style(wanted, style)
        for wanted, names in candidates.items()
        if len(names) == 1
    }


def _wanted(tensor: Tensor, expected: dict[str, Shape]) -> str | None:
    """The longest expected name with which the tensor's name ends, if its shape fits."""
    name = tensor.name.replace(MIDLAYER, FIRST_LAYER)
    fitting = [
        wanted
        for wanted, shape in expected.items()
        if name.endswith(f".{wanted}") and _fits(tensor.shape, shape)
    ]
    return max(fitting, key=len, default=None)


def _fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    return len(shape) == len(wanted) and all(
        size in {None, length} for length, size in zip(shape, wanted, strict=True)
    )


def _says_midlayer(case: Case) -> bool:
    return any(MIDLAYER in name for name in case.draft.tensors)


def _in_style(wanted: str, style: str) -> str:
    return style + wanted.removeprefix(FIRST_LAYER) if wanted.startswith(FIRST_LAYER) else wanted
