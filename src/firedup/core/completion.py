"""Completion requests and answers of the HTTP dialects: completions, chat, SGLang's generate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server generated. `tokens` is None when it did not count them.

    `details` are the engine's own extra fields about the request (SGLang's meta_info, llama.cpp's
    timings), empty when there are none.
    """

    text: str
    tokens: int | None
    details: Mapping[str, object]


def build_request(route: str, model: str | None, prompt: str, max_tokens: int) -> str:
    """The JSON body that asks `route` for `max_tokens` greedy tokens after `prompt`."""
    if route.endswith("/generate"):
        sampling = {"max_new_tokens": max_tokens, "temperature": 0}
        return json.dumps({"text": prompt, "sampling_params": sampling})
    body: dict[str, object] = {"model": model or "default", "temperature": 0}
    body |= {"max_tokens": max_tokens, "stream": False}
    if route.endswith("/chat/completions"):
        return json.dumps(body | {"messages": [{"role": "user", "content": prompt}]})
    return json.dumps(body | {"prompt": prompt})


def parse_answer(body: bytes) -> Answer | None:
    """The generated text of any of the dialects; None when `body` is no such answer."""
    value = _load(body)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    meta = _table(value.get("meta_info"))
    if isinstance(value.get("text"), str):
        return Answer(value["text"], _count(meta.get("completion_tokens")), meta)
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    text = choices[0].get("text")
    if not isinstance(text, str):
        message = _table(choices[0].get("message"))
        # Reasoning models may spend the first tokens before any content.
        parts = [message.get("reasoning_content"), message.get("reasoning"), message.get("content")]
        text = "".join(part for part in parts if isinstance(part, str))
    tokens = _count(_table(value.get("usage")).get("completion_tokens"))
    return Answer(text, tokens, meta or _table(value.get("timings")))


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
    if isinstance(value, dict):
        inner = value.get("error", value.get("detail", value.get("message")))
        if isinstance(inner, dict):
            inner = inner.get("message")
        if isinstance(inner, str):
            return inner[:300]
    text = body.decode("utf-8", "replace").strip()
    return text[:300] or None


def _load(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
