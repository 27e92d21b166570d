"""Events of a streamed completion, in any dialect → its pieces, with their arrival and tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from firedup.core.measure.completion import error_text, finish_of, said_text

DONE = b"[DONE]"
# Stands between two events that are joined to one array of JSON. A raw line end cannot be within a
# string of JSON, so that no text can be taken for the end of an event.
BETWEEN = b",\n"
_NONE: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one event says.

    `total` is how many tokens were generated so far, as the server counts them. `is_whole`: the
    text may be all text so far and not only what is new (SGLang's own route). `has_choice`: it is
    about generated text; a last event with the usage alone is not. `details` are the engine's own
    fields about the request.
    """

    text: str = ""
    is_whole: bool = False
    total: int | None = None
    prompt_tokens: int | None = None
    finish: str | None = None
    has_choice: bool = True
    details: Mapping[str, object] = field(default_factory=dict)
    error: str | None = None


class StreamReader:
    """Gathers the events of one answer.

    Event i of those that brought text or tokens arrived at `at_ns[i]`, and then `totals[i]` tokens
    were there, None when the server had not said. `error` is the first error that was told inside
    the stream; what comes after it is not looked at. `loads` reads JSON, as `json.loads` does, and
    raises ValueError for what is none.
    """

    __slots__ = (
        "_is_whole",
        "_lengths",
        "_loads",
        "_texts",
        "_whole",
        "at_ns",
        "details",
        "error",
        "finish",
        "finish_ns",
        "is_done",
        "last_total",
        "prompt_tokens",
        "totals",
    )

    def __init__(self, loads: Callable[[bytes], object] = json.loads) -> None:
        self._loads = loads
        self.at_ns: list[int] = []
        self.totals: list[int | None] = []
        self.last_total: int | None = None
        self.prompt_tokens: int | None = None
        self.finish: str | None = None
        self.finish_ns: int | None = None
        self.details: Mapping[str, object] = _NONE
        self.error: str | None = None
        self.is_done = False
        self._texts: list[str] = []
        self._whole = ""  # of a stream that repeats its text, and how long it was at each event
        self._lengths: list[int] = []
        self._is_whole = True  # as long as each text has begun with the one before

    @property
    def text(self) -> str:
        """All generated text so far; reasoning counts as text."""
        return "".join([self._whole, *self._texts])

    def take(self, at_ns: int, payload: bytes) -> None:
        """Take the data of one event that arrived at `at_ns`."""
        if self.error is not None or self.is_done:
            return
        if payload.strip() == DONE:
            self.is_done = True
            return
        chunk = read_chunk(payload, self._loads)
        if chunk.error is not None:
            self.error = chunk.error
            return
        if chunk.prompt_tokens is not None:
            self.prompt_tokens = chunk.prompt_tokens
        if chunk.details and (chunk.finish is not None or not chunk.has_choice):
            self.details = chunk.details  # those of the pieces before are provisional
        if chunk.is_whole:
            self._add_whole(chunk.text, is_last=chunk.finish is not None)
        elif chunk.text:
            self._texts.append(chunk.text)
        # The count in an event that ends everything says nothing of when the tokens came.
        tells = chunk.has_choice and (chunk.finish is None or self.last_total is not None)
        grew = chunk.total is not None and chunk.total > (self.last_total or 0)
        if (chunk.text and not chunk.is_whole) or (tells and grew):
            self.at_ns.append(at_ns)
            self.totals.append(chunk.total)
        if chunk.total is not None:
            self.last_total = chunk.total
        if chunk.finish is not None:
            self.finish, self.finish_ns = chunk.finish, at_ns

    def add_many(
        self, stamps: Sequence[int], texts: Sequence[str], totals: Sequence[int] | None
    ) -> None:
        """Take events of which it is known already that they bring this and nothing else."""
        if self.error is not None or self.is_done:
            return
        if "" not in texts:
            self._texts += texts
            self.at_ns += stamps
            self.totals += totals or [None] * len(stamps)
        else:
            self._add_each(stamps, texts, totals or [None] * len(stamps))
        if totals:
            self.last_total = totals[-1]

    def _add_each(
        self, stamps: Sequence[int], texts: Sequence[str], totals: Sequence[int | None]
    ) -> None:
        """Those without text count when there are more tokens than before."""
        before = self.last_total or 0
        for at_ns, text, total in zip(stamps, texts, totals, strict=True):
            if text or (total is not None and total > before):
                self._texts.append(text)
                self.at_ns.append(at_ns)
                self.totals.append(total)
            before = before if total is None else total

    def add_whole(self, at_ns: int, text: str, total: int) -> None:
        """The same for an event that may repeat the text so far."""
        if self.error is not None or self.is_done:
            return
        self._add_whole(text, is_last=False)
        if total > (self.last_total or 0):
            self.at_ns.append(at_ns)
            self.totals.append(total)
        self.last_total = total

    def _add_whole(self, text: str, *, is_last: bool) -> None:
        """Some servers send the whole text each time and some, if so told, what is new."""
        if not self._is_whole:
            self._texts.append(text)
        elif text.startswith(self._whole) or self._is_cut(text, is_last=is_last):
            self._whole = text
            self._lengths.append(len(text))
        else:
            self._texts = [self._whole[:length] for length in self._lengths] + [text]
            self._whole, self._lengths, self._is_whole = "", [], False

    def _is_cut(self, text: str, *, is_last: bool) -> bool:
        """Whether this is the whole text without its stop word, which the last event lacks."""
        return is_last and len(set(self._lengths)) > 2 and self._whole.startswith(text)


def read_chunk(payload: bytes, loads: Callable[[bytes], object] = json.loads) -> Chunk:
    """What the data of one event says; `error` when it is no JSON object."""
    try:
        value = loads(payload)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        shown = payload[:80].decode("utf-8", "replace")
        return Chunk(error=f"an event of the stream cannot be understood: {shown!r}")
    if (error := _error(value)) is not None:
        return Chunk(error=error)
    meta, timings = _table(value.get("meta_info")), _table(value.get("timings"))
    total, prompt_tokens = _totals(_table(value.get("usage")), meta, timings)
    details = meta or timings or _table(value.get("metrics"))
    text, finish, is_whole, has_choice = "", None, False, True
    choices = value.get("choices")
    if isinstance(choices, list):
        choice = next((one for one in choices if isinstance(one, dict)), None)
        has_choice = choice is not None
        if choice is not None:
            text, finish = _text_of(choice), finish_of(choice)
    elif isinstance(said := value.get("text"), str):
        text, finish, is_whole = said, finish_of(meta), True
    elif isinstance(said := value.get("content"), str):  # llama.cpp's own route
        text = said
        total = _count(value.get("tokens_predicted")) if total is None else total
        finish = str(value.get("stop_type", "stop")) if value.get("stop") is True else None
    else:
        has_choice = False
    return Chunk(text, is_whole, total, prompt_tokens, finish, has_choice, details)


def _error(value: Mapping[str, object]) -> str | None:
    """The message of an event that tells an error."""
    is_error = value.get("error") is not None
    # Older llama.cpp and vLLM: the event is the error itself.
    is_bare = "choices" not in value and "message" in value and "text" not in value
    return error_text(value) or "an error without a message" if is_error or is_bare else None


def _totals(*tables: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Generated and prompt tokens by the first table that has them; llama.cpp's names are last."""
    total = prompt = None
    for table in tables:
        if not table:  # as all of them are in most events
            continue
        for name in ("completion_tokens", "predicted_n"):
            total = _count(table.get(name)) if total is None else total
        prompt = _count(table.get("prompt_tokens")) if prompt is None else prompt
    return total, prompt


def _text_of(choice: Mapping[str, object]) -> str:
    text = choice.get("text")
    if isinstance(text, str):
        return text
    delta = choice.get("delta")
    return said_text(_table(delta if delta is not None else choice.get("message")))


def _table(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else _NONE


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
