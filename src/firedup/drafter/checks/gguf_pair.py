"""A drafter in a GGUF file does not fit the target in its file.

llama.cpp ends with a failed assertion when the widths differ, and becomes ready without speculation
when the vocabularies do. A GGUF file holds target ids in d2t, where safetensors hold offsets: a map
that was copied without conversion proposes wrong tokens. Three layers of the target are read; the
converter writes 2, L/2 and L-3 whatever the drafter's config says. llama.cpp loads nothing but GGUF
files, for the target and for the drafter alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from firedup.core.checked import CheckFinding, Harm
from firedup.core.model import Evidence
from firedup.drafter.case import Case
from firedup.drafter.config import whole
from firedup.drafter.consequence import consequences
from firedup.drafter.tell import file_of, llama_cpp, sglang, vllm
from firedup.drafter.vocabmap import read_ids

IDS = {
    "gguf-beside-safetensors": "One of the two is a GGUF file, the other is not.",
    "gguf-other-target": "The file was made for a target of other width or fewer layers.",
    "gguf-streams-not-three": "The file does not name three different layers of the target.",
    "gguf-vocabulary-differs": "Target and drafter have different vocabularies.",
    "gguf-map-holds-offsets": "d2t holds offsets where llama.cpp expects ids.",
    "gguf-map-out-of-range": "d2t holds ids that are no tokens of the target.",
}


def check(case: Case) -> Iterator[CheckFinding]:
    """Compare the two headers, and the map."""
    yield from _forms(case)
    if not case.draft.gguf:
        return
    if case.draft_facts.kind == "eagle3":
        yield from _target(case)
        yield from _map(case)
    elif case.target.gguf:
        yield from _vocabulary(case)


def _forms(case: Case) -> Iterator[CheckFinding]:
    is_gguf = [bool(one.gguf) for one in (case.target, case.draft)]
    if all(is_gguf) or not any(is_gguf) or not (case.target.files and case.draft.files):
        return
    other, whose = (case.draft, "drafter") if is_gguf[0] else (case.target, "target")
    text = "not known to load a pair of a GGUF file and a folder"
    # Without an engine it need not be llama.cpp that is meant.
    harm = Harm.CRASH if case.engine == "llama-cpp" else Harm.RISK
    yield CheckFinding(
        "gguf-beside-safetensors",
        harm,
        "draft" if is_gguf[0] else "target",
        f"The {whose} is no GGUF file, the other of the two is.",
        (Evidence("file", f"{file_of(other, other.files[0])}: safetensors"),),
        (
            llama_cpp(harm, "invalid magic characters: …, expected 'GGUF'"),
            sglang(Harm.RISK, text),
            vllm(Harm.RISK, text),
        ),
        f"Convert the {whose} to GGUF for llama.cpp, or check the files that the other engine"
        " will load.",
    )


def _target(case: Case) -> Iterator[CheckFinding]:
    facts, about = case.draft_facts, case.target_facts
    for what, own, other in (
        ("width", facts.target_hidden, about.hidden),
        ("tokens", facts.vocab, about.vocab),
    ):
        if own and other and own != other:
            yield _finding(
                case,
                "gguf-other-target",
                f"The drafter was made for a target of {what} {own:,}; this one has {other:,}.",
                f"{facts.architecture}: {what} {own}",
            )
    ids = facts.layer_ids
    if ids is None:
        return
    key = f"{facts.layer_ids_key} {list(ids)}"
    if len(set(ids)) != 3:
        yield _finding(
            case, "gguf-streams-not-three", f"{list(ids)} are not three different layers.", key
        )
    if about.layers and max(ids, default=0) >= about.layers:
        yield _finding(
            case,
            "gguf-other-target",
            f"The drafter reads layer {max(ids)}; the target has {about.layers}, from 0 on.",
            key,
        )


def _map(case: Case) -> Iterator[CheckFinding]:
    d2t, vocab = case.samples.d2t, case.target_facts.vocab
    if not d2t or not vocab:
        return
    reading = read_ids(d2t, vocab)
    if reading.doubled or reading.falling:
        # Offsets repeat wherever two tokens that follow each other are both known.
        yield _finding(
            case,
            "gguf-map-holds-offsets",
            f"d2t has the same value in {len(reading.doubled):,} rows: offsets, not ids.",
            f"d2t begins with {list(d2t[:8])}",
        )
    elif reading.outside:
        yield _finding(
            case,
            "gguf-map-out-of-range",
            f"d2t has {len(reading.outside):,} ids of no token.",
            f"row {reading.outside[0]} holds {d2t[reading.outside[0]]}",
        )


def _vocabulary(case: Case) -> Iterator[CheckFinding]:
    own, other = case.draft.gguf, case.target.gguf
    names = ("tokenizer.ggml.model", "tokenizer.ggml.pre")
    kinds = [(name, own.get(name), other.get(name)) for name in names]
    sizes = [whole(one, "tokenizer.ggml.tokens") for one in (own, other)]
    unlike = [f"{name} {a} / {b}" for name, a, b in kinds if a and b and a != b]
    # llama.cpp lets the sizes differ by as much as padding makes.
    if None not in sizes and abs((sizes[0] or 0) - (sizes[1] or 0)) > _PADDING:
        unlike.append(f"{sizes[0]:,} / {sizes[1]:,} tokens")
    if unlike:
        yield _finding(
            case,
            "gguf-vocabulary-differs",
            f"The drafter's vocabulary is another: {', '.join(unlike)}.",
            unlike[0],
        )


_PADDING = 128


def _finding(case: Case, ident: str, message: str, shown: str) -> CheckFinding:
    fault = "streams-not-three" if ident == "gguf-streams-not-three" else ident
    return CheckFinding(
        ident,
        Harm.CRASH,
        "draft",
        message,
        (Evidence("file", f"{case.draft.path}: {shown}"),),
        consequences(fault, engine="llama-cpp"),
        "Convert the drafter again, with the target that it was made for."
        if "map" in ident
        else "Use a drafter that was made for this target.",
    )
