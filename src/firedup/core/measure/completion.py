"""Completion requests and answers of the HTTP dialects: completions, chat, SGLang's generate."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from firedup.core.measure.prompt import Message

# What other servers answer with: whoever reads an error wants its headline.
_PAGE = re.compile(r"<(!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>([^<]*)<", re.IGNORECASE)

# The engines whose OpenAI routes go on after the end token when they are told to.
_IGNORES_EOS = frozenset({"sglang", "vllm", "llama-cpp"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server generated. `tokens` is None when it did not count them.

    `details` are the engine's own extra fields about the request (SGLang's meta_info, llama.cpp's
    timings), empty when there are none. `finish` is why it ended, as the server names it.
    """

    text: str
    tokens: int | None
    details: Mapping[str, object]
    prompt_tokens: int | None = None
    finish: str | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """How tokens are to be generated and sent.

    `streams`: in pieces, as they come, with the usage at the end and, where `engine` can, with
    every piece. `ignores_eos` and `min_tokens` are sent to engines that are known to have them;
    other servers refuse what they do not know.
    """

    max_tokens: int
    streams: bool = False
    ignores_eos: bool = False
    min_tokens: int | None = None
    temperature: float = 0
    seed: int | None = None
    engine: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


def build_request(route: str, model: str | None, prompt: str, max_tokens: int) -> str:
    """The JSON body that asks `route` for `max_tokens` greedy tokens after `prompt`."""
    return build_body(route, model, (Message("user", prompt),), prompt, Generation(max_tokens))


def build_body(
    route: str,
    model: str | None,
    messages: Sequence[Message],
    text: str,
    generation: Generation,
) -> str:
    """The JSON body that asks `route` to go on after `messages`, or `text` where it knows none."""
    if route.endswith("/generate"):
        return json.dumps(_native_body(text, generation))
    body: dict[str, object] = {"model": model or "default"}
    body |= {"temperature": generation.temperature, "max_tokens": generation.max_tokens}
    body["stream"] = generation.streams
    if generation.streams:
        options = {"include_usage": True}
        if generation.engine in ("sglang", "vllm"):
            options["continuous_usage_stats"] = True
        body["stream_options"] = options
        if generation.engine == "llama-cpp":
            body["timings_per_token"] = True
    if generation.seed is not None:
        body["seed"] = generation.seed
    if generation.engine in _IGNORES_EOS:
        if generation.ignores_eos:
            body["ignore_eos"] = True
        if generation.min_tokens is not None and generation.engine != "llama-cpp":
            body["min_tokens"] = generation.min_tokens
    if route.endswith("/completion"):  # llama.cpp's own route has its own name for it
        body["n_predict"] = generation.max_tokens
    if route.endswith("/chat/completions"):
        body["messages"] = [{"role": one.role, "content": one.content} for one in messages]
    else:
        body["prompt"] = text
    return json.dumps(body | dict(generation.extra))


def _native_body(text: str, generation: Generation) -> dict[str, object]:
    """A body for SGLang's own route."""
    sampling: dict[str, object] = {"max_new_tokens": generation.max_tokens}
    sampling["temperature"] = generation.temperature
    if generation.ignores_eos:
        sampling["ignore_eos"] = True
    if generation.min_tokens is not None:
        sampling["min_new_tokens"] = generation.min_tokens
    if generation.seed is not None:
        sampling["sampling_seed"] = generation.seed
    body: dict[str, object] = {"text": text, "sampling_params": sampling}
    if generation.streams:
        body["stream"] = True
    return body | dict(generation.extra)


def parse_answer(body: bytes) -> Answer | None:
    """The generated text of any of the dialects; None when `body` is no such answer."""
    value = _load(body)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    meta = _table(value.get("meta_info"))
    if isinstance(value.get("text"), str):
        return _answer(value["text"], meta, meta, finish_of(meta))
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    text = choices[0].get("text")
    if not isinstance(text, str):
        text = said_text(_table(choices[0].get("message")))
    details = meta or _table(value.get("timings"))
    return _answer(text, _table(value.get("usage")), details, finish_of(choices[0]))


def _answer(
    text: str, usage: Mapping[str, object], details: Mapping[str, object], finish: str | None
) -> Answer:
    tokens, prompt_tokens = usage.get("completion_tokens"), usage.get("prompt_tokens")
    return Answer(text, _count(tokens), details, _count(prompt_tokens), finish)


def parse_models(body: bytes) -> tuple[str, ...]:
    """The ids that /v1/models lists."""
    value = _load(body)
    listed = value.get("data") if isinstance(value, dict) else None
    if not isinstance(listed, list):
        return ()
    ids = (item.get("id") for item in listed if isinstance(item, dict))
    return tuple(name for name in ids if isinstance(name, str))


def parse_error(body: bytes) -> str | None:
    """The message of an error answer, at most 300 characters; None when there is none."""
    value = _load(body)
    if isinstance(value, dict) and (said := error_text(value)) is not None:
        return said
    text = body.decode("utf-8", "replace").strip()
    if _PAGE.match(text):
        title = _TITLE.search(text)
        said = " ".join(title[1].split()) if title else ""
        return f"a web page ({said[:100]})" if said else "a web page"
    return " ".join(text.split())[:300] or None


def error_text(value: Mapping[str, object]) -> str | None:
    """The message of an object that tells an error, at most 300 characters."""
    inner = value.get("error", value.get("detail", value.get("message")))
    if isinstance(inner, dict):
        inner = inner.get("message")
    return inner[:300] if isinstance(inner, str) else None


def said_text(message: Mapping[str, object]) -> str:
    """The text of a chat message or of a piece of one.

    Reasoning models may spend the first tokens before any content. vLLM has called that field by
    either name, and by both at once.
    """
    thought = message.get("reasoning_content") or message.get("reasoning")
    parts = [thought, message.get("content")]
    return "".join(part for part in parts if isinstance(part, str))


def finish_of(table: Mapping[str, object]) -> str | None:
    """Why a choice, or the meta_info of SGLang's own route, says that it ended."""
    finish = table.get("finish_reason")
    if isinstance(finish, dict):
        finish = finish.get("type")
    return finish if isinstance(finish, str) else None


def _load(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
