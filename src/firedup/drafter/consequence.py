"""What engines do with a fault, in all versions that are known, out of the data on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from firedup.core.checked import Consequence, Harm
from firedup.drafter.case import Case
from firedup.drafter.known import Capture, Engine, captured, engines
from firedup.drafter.ranges import outside, read_range, shared


def consequences(
    fault: str, *, versions: str = "", engine: str | None = None, more: str = ""
) -> tuple[Consequence, ...]:
    """What each engine does with `fault`; `versions` narrows it, `more` is said besides.

    `fault` is a name in the data: an id of a finding or one case of it.
    """
    return tuple(
        Consequence(one.engine, span, said.harm, f"{said.text}{more}")
        for one in engines()
        if engine in (None, one.engine)
        for said in one.behaviour
        if said.fault == fault and (span := shared(said.versions, versions)) is not None
    )


def without_architecture(engine: Engine, architecture: str, kind: str) -> tuple[str, ...]:
    """The versions of `engine` that cannot load a drafter of this architecture and kind."""
    return outside(
        one.versions
        for one in engine.drafter
        if architecture in one.architectures and one.kind == kind
    )


def without_capture(engine: Engine, architecture: str) -> tuple[str, ...]:
    """The versions in which this target does not hand out hidden states."""
    if engine.any_target:
        return ()
    return outside(one.versions for one in engine.target if architecture in one.architectures)


def without_key(engine: Engine, key: str) -> tuple[str, ...]:
    """The versions that do not look for layer ids under this key of the drafter's config."""
    return outside(one.versions for one in engine.id_key if one.key == key)


def without_norm(engine: Engine, flag: str, *, is_nested: bool) -> tuple[str, ...]:
    """The versions that do not honour this flag of the drafter's config."""
    return outside(
        one.versions for one in engine.norm if flag in one.flags and (one.nested or not is_nested)
    )


def captures(
    engine: Engine, architecture: str, ids: tuple[int, ...] | None, key: str | None, layers: int
) -> Iterator[tuple[str, tuple[int, ...], Capture]]:
    """(versions, hidden states that are captured, by which rule) for a target of so many layers.

    Ids under a `key` that is not read count as none.
    """
    unread = without_key(engine, key) if ids is not None and key else ()
    read = outside(unread) if unread else ("",)
    for capture in _captures_of(engine, architecture):
        for spans, known in ((read, ids), (unread, None)):
            for span in spans:
                if (versions := shared(capture.versions, span)) is not None:
                    yield versions, captured(capture, known, layers), capture


def _captures_of(engine: Engine, architecture: str) -> tuple[Capture, ...]:
    own = tuple(one for one in engine.capture if architecture in one.architectures)
    return own or tuple(one for one in engine.capture if not one.architectures)


def worst_of(found: tuple[Consequence, ...], default: Harm) -> Harm:
    """The worst harm among them."""
    return min((one.harm for one in found), key=lambda harm: harm.rank, default=default)


def as_asked(case: Case, found: Iterable[Consequence]) -> tuple[Consequence, ...]:
    """The same; what another engine, or a newer version, does not do is a risk when none is named.

    The files alone do not show then whether it happens.
    """
    known = tuple(found)
    has_way_out = case.engine is None and not {"sglang", "vllm"} <= {one.engine for one in known}
    return tuple(
        replace(one, harm=Harm.RISK)
        if one.harm.rank < Harm.RISK.rank
        and (has_way_out or (case.version is None and read_range(one.versions)[1]))
        else one
        for one in known
    )
