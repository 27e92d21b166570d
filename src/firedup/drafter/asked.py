"""What the flags of a launch ask of speculation, whichever engine's they are."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firedup.core.model import Evidence
from firedup.drafter.case import Case, Launch

_SGLANG = "speculative-"
_JSON = "speculative-config."
_NUMBER = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)([kKmMgG]?)")
_UNITS = {"k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}


@dataclass(frozen=True, slots=True)
class Asked:
    """Values as they were typed; None for what no flag says. `algorithm` is vLLM's method, too."""

    engine: str
    algorithm: str | None = None
    draft: str | None = None
    steps: int | None = None
    top_k: int | None = None
    draft_tokens: int | None = None
    context: int | None = None
    dtype: str | None = None
    quantization: str | None = None
    draft_quantization: str | None = None
    attention: str | None = None
    draft_attention: str | None = None
    rejection_sampling: bool = False
    token_map: str | None = None

    @property
    def wants_speculation(self) -> bool:
        """Whether it asks for any."""
        return self.algorithm not in (None, "none") or self.draft is not None


def asked_of(case: Case) -> Asked | None:
    """What the flags ask, None when there are none or they are those of no engine known."""
    engine = case.engine or engine_of(case.launch)
    flags = case.launch.flags
    if engine is None or not (case.launch.argv or flags):
        return None
    if engine == "sglang":
        return _sglang(case.launch)
    if engine == "vllm":
        return _vllm(case.launch)
    return Asked(
        engine,
        flags.get("spec-type"),
        _first(case.launch, "model-draft", "md", "spec-draft-model"),
        steps=_number(flags.get("spec-draft-n-max")),
        context=_number(_first(case.launch, "ctx-size", "c")),
    )


def engine_of(launch: Launch) -> str | None:
    """The engine that the command starts; else whose flags these are: those of one engine alone."""
    if launch.engine is not None:
        return launch.engine
    flags = launch.flags
    if any(name in flags for name in ("speculative-config", "spec-method", "spec-model")):
        return "vllm"
    if any(name.startswith(_SGLANG) for name in flags) and "max-model-len" not in flags:
        return "sglang"
    if any(name in flags for name in ("spec-type", "model-draft", "md")):
        return "llama-cpp"
    return None


def flag_evidence(case: Case, *names: str) -> tuple[Evidence, ...]:
    """The flags as they were given, without those that were not."""
    typed = case.launch.typed
    return tuple(Evidence("command", typed[name]) for name in names if name in typed)


def _sglang(launch: Launch) -> Asked:
    flags = launch.flags
    return Asked(
        "sglang",
        _upper(flags.get("speculative-algorithm") or flags.get("speculative-algo")),
        _first(launch, "speculative-draft-model-path", "speculative-draft-model"),
        _number(flags.get("speculative-num-steps")),
        _number(flags.get("speculative-eagle-topk")),
        _number(flags.get("speculative-num-draft-tokens")),
        _number(flags.get("context-length")),
        flags.get("dtype"),
        flags.get("quantization"),
        flags.get("speculative-draft-model-quantization"),
        _first(launch, "attention-backend", "decode-attention-backend"),
        flags.get("speculative-draft-attention-backend"),
        flags.get("speculative-use-rejection-sampling") == "true",
        flags.get("speculative-token-map"),
    )


def _vllm(launch: Launch) -> Asked:
    flags = launch.flags
    tokens = flags.get(f"{_JSON}num_speculative_tokens") or flags.get("spec-tokens")
    return Asked(
        "vllm",
        flags.get(f"{_JSON}method") or flags.get("spec-method"),
        flags.get(f"{_JSON}model") or _first(launch, "spec-model", "speculative-model"),
        steps=_number(tokens),
        context=_number(flags.get("max-model-len")),
        dtype=flags.get("dtype"),
        quantization=flags.get("quantization"),
        draft_quantization=flags.get(f"{_JSON}quantization"),
    )


def _first(launch: Launch, *names: str) -> str | None:
    return next((launch.flags[name] for name in names if name in launch.flags), None)


def _upper(text: str | None) -> str | None:
    return text.upper() if text else None


def _number(text: str | None) -> int | None:
    """1024, and vLLM's 32k or 25.6k (thousands) and 32K (1024s); None for all else."""
    found = _NUMBER.fullmatch(text or "")
    if found is None:
        return None
    unit = _UNITS.get(found[2], 1)
    if "." not in found[1]:
        return int(found[1]) * unit
    return int(float(found[1]) * unit) if unit % 10 == 0 else None
