"""What a running server says about itself: engine, version, model, and how it speculates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from firedup.core.measure.exposition import MetricSample

_UNNUMBERED = re.compile(r"b0-unknown\b|unknown\b")


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The answers of its routes, put together; None where it does not say.

    `draft_tokens` is how many tokens a step drafts one after the other at most, which is the depth
    of a tree. `adapts`: it changes that number while it runs. `simulated` says why its acceptance
    is made up.
    """

    engine: str | None = None
    version: str | None = None
    model: str | None = None
    drafter: str | None = None
    algorithm: str | None = None
    draft_tokens: int | None = None
    speculates: bool | None = None
    simulated: str | None = None
    launch: tuple[str, ...] | None = None
    adapts: bool = False


def read_sglang(info: object) -> ServerInfo | None:
    """/server_info (until 0.5.9 /get_server_info): all resolved arguments. None if it is not."""
    if not isinstance(info, Mapping) or "speculative_algorithm" not in info:
        return None
    algorithm = _text(info.get("speculative_algorithm"))
    steps = _count(info.get("speculative_num_steps"))
    # Among these is the root, which is not drafted; only n-grams have no number of steps.
    verified = _count(info.get("speculative_num_draft_tokens"))
    draft_tokens = steps or (verified - 1 if verified else None)
    length = info.get("simulate_acc_len")
    return ServerInfo(
        "sglang",
        _text(info.get("version")),
        _text(info.get("served_model_name")) or _text(info.get("model_path")),
        _text(info.get("speculative_draft_model_path")) if algorithm else None,
        algorithm,
        draft_tokens if algorithm else None,
        algorithm is not None,
        f"it was told to accept {length:g} tokens a step (simulate_acc_len)"
        if isinstance(length, int | float) and length > 0
        else None,
        _words(info.get("launch_command")),
        algorithm is not None and info.get("speculative_adaptive") is True,
    )


def read_llama(props: object) -> ServerInfo | None:
    """llama.cpp's /props; None if it is not that."""
    if not isinstance(props, Mapping) or "build_info" not in props:
        return None
    model = _text(props.get("model_path")) or _text(props.get("model_alias"))
    # Built outside of a checkout it does not know its own number: "b0-unknown".
    build = _text(props.get("build_info"))
    is_known = build is not None and not _UNNUMBERED.match(build)
    return ServerInfo("llama-cpp", build if is_known else None, model)


def read_slots(slots: object) -> bool | None:
    """Whether llama.cpp's /slots speculate; None where that route is off or does not say."""
    if not isinstance(slots, list):
        return None
    told = [one.get("speculative") for one in slots if isinstance(one, Mapping)]
    return any(told) if told and all(isinstance(one, bool) for one in told) else None


def read_vllm(version: object) -> ServerInfo | None:
    """vLLM's /version; None if it is not that."""
    if not isinstance(version, Mapping) or set(version) != {"version"}:
        return None
    return ServerInfo("vllm", _text(version["version"]))


def read_models(models: object) -> ServerInfo:
    """/v1/models of any server: the first model's id, and who says that he owns it."""
    listed = models.get("data") if isinstance(models, Mapping) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    if not isinstance(first, Mapping):
        return ServerInfo()
    owner = _text(first.get("owned_by")) or ""
    engine = {"sglang": "sglang", "vllm": "vllm", "llamacpp": "llama-cpp"}.get(owner)
    return ServerInfo(engine, model=_text(first.get("id")))


def find_speculation(samples: tuple[MetricSample, ...]) -> tuple[bool | None, int | None]:
    """Whether a scrape of vLLM or llama.cpp has counters of speculation, and for how many tokens.

    vLLM has them from the start when it speculates; llama.cpp has them after the first request
    whether it does or not, so that nothing is known of it until one of its drafts was verified.
    """
    names = {sample.name for sample in samples}
    verified = {sample.name for sample in samples if sample.value > 0}
    for prefix, there in (("vllm:", names), ("llamacpp:", verified)):
        if f"{prefix}spec_decode_num_drafts_total" in there:
            per_position = f"{prefix}spec_decode_num_accepted_tokens_per_pos_total"
            positions = {s.labels.get("position") for s in samples if s.name == per_position}
            return True, len(positions) or None
    is_vllm = any(name.startswith("vllm:") for name in names)
    return (False if is_vllm else None), None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _words(value: object) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    return tuple(value.split()) if isinstance(value, str) and value else None
