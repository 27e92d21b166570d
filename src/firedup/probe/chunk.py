"""The events of a stream decoded many at a time, in a fraction of a microsecond each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from firedup.core.measure.stream import BETWEEN, StreamReader

C = TypeVar("C")
U = TypeVar("U")
T = TypeVar("T")
_FEW = 4


# A field that must be null makes the decoder refuse an event that says more than text and counts.


class _Text(msgspec.Struct, gc=False):
    text: str
    finish_reason: None = None


class _Said(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None


class _Delta(msgspec.Struct, gc=False):
    delta: _Said
    finish_reason: None = None
    text: None = None


class _Usage(msgspec.Struct, gc=False):
    completion_tokens: int
    prompt_tokens: int | None = None


class _Timings(msgspec.Struct, gc=False):
    predicted_n: int


class _Event(msgspec.Struct, Generic[C, U, T], gc=False):
    choices: tuple[C]
    usage: U | None = None
    timings: T | None = None
    meta_info: None = None
    error: None = None


class _Meta(msgspec.Struct, gc=False):
    completion_tokens: int
    prompt_tokens: int | None = None
    finish_reason: None = None


class _Native(msgspec.Struct, gc=False):
    text: str
    meta_info: _Meta
    choices: None = None
    usage: None = None
    error: None = None


class _Form(NamedTuple):
    """A form that the events of a stream have, and how to read many of them."""

    decode: Callable[[bytes], list[Any]]
    texts: Callable[[list[Any]], list[str]]
    totals: Callable[[list[Any]], list[int]] | None = None
    prompt_tokens: Callable[[Any], int | None] | None = None
    is_native: bool = False


def _said(said: _Said) -> str:
    return (said.reasoning_content or said.reasoning or "") + (said.content or "")


def _texts(events: list[Any]) -> list[str]:
    return [event.choices[0].text for event in events]


def _deltas(events: list[Any]) -> list[str]:
    return [_said(event.choices[0].delta) for event in events]


def _used(events: list[Any]) -> list[int]:
    return [event.usage.completion_tokens for event in events]


def _predicted(events: list[Any]) -> list[int]:
    return [event.timings.predicted_n for event in events]


def _form(event: Any, texts: Any, totals: Any = None, prompt_tokens: Any = None) -> _Form:
    decode = msgspec.json.Decoder(list[event]).decode
    return _Form(decode, texts, totals, prompt_tokens)


def _forms() -> tuple[_Form, ...]:
    forms = []
    for choice, texts in ((_Text, _texts), (_Delta, _deltas)):
        forms += [
            # The kind of choice is only known here, which msgspec takes and a checker does not.
            _form(_Event[choice, None, None], texts),  # type: ignore[valid-type]
            _form(_Event[choice, _Usage, None], texts, _used, lambda e: e.usage.prompt_tokens),  # type: ignore[valid-type]
            _form(_Event[choice, None, _Timings], texts, _predicted),  # type: ignore[valid-type]
        ]
    native = _form(
        _Native,
        lambda events: [event.text for event in events],
        lambda events: [event.meta_info.completion_tokens for event in events],
        lambda event: event.meta_info.prompt_tokens,
    )
    return (*forms, native._replace(is_native=True))


def read_json(payload: bytes) -> object:
    """JSON of any kind; ValueError when it is none."""
    try:
        return msgspec.json.decode(payload)
    except ValueError:
        return json.loads(payload)  # which takes more for JSON, half characters for instance


class EventReader:
    """Takes the events of one stream into a `StreamReader`, many at a time.

    What ends the stream, fails, or is of no known form goes through `StreamReader.take`, one by
    one; both ways lead to the same result.
    """

    __slots__ = ("_form", "_forms", "_reader")

    def __init__(self, reader: StreamReader, *, is_native: bool = False) -> None:
        self._reader = reader
        self._forms = [form for form in _FORMS if form.is_native == is_native]
        self._form: _Form | None = None

    def take(self, payloads: Sequence[bytes], stamps: Sequence[int]) -> None:
        """Take the data of events, event i having arrived at `stamps[i]`."""
        count = len(payloads)
        joined = BETWEEN.join(payloads)
        if count > _FEW and joined.count(b"\n") == count - 1:
            if self.take_joined(joined, stamps, payloads[-1]):
                return
            half = count // 2
            self.take(payloads[:half], stamps[:half])
            self.take(payloads[half:], stamps[half:])
            return
        for at_ns, payload in zip(stamps, payloads, strict=True):
            self._reader.take(at_ns, payload)

    def take_joined(self, joined: bytes, stamps: Sequence[int], sample: bytes) -> bool:
        """Take events that `BETWEEN` joins; whether they were all of one known form.

        `sample` is one of them, by which the form is found.
        """
        form = self._form
        if form is not None and self._take_as(form, joined, stamps):
            return True
        for other in self._forms:
            if other is not form and _fits(other, sample):
                self._form = other
                return self._take_as(other, joined, stamps)
        return False

    def _take_as(self, form: _Form, joined: bytes, stamps: Sequence[int]) -> bool:
        try:
            events = form.decode(b"[%b]" % joined)
            if len(events) != len(stamps):
                return False
            texts = form.texts(events)
            totals = form.totals(events) if form.totals is not None else None
        except _MISFITS:
            return False
        reader = self._reader
        if reader.error is not None or reader.is_done:
            return True  # what comes after the end is not looked at
        if form.prompt_tokens is not None:
            tokens = form.prompt_tokens(events[-1])
            reader.prompt_tokens = tokens if tokens is not None else reader.prompt_tokens
        if form.is_native:
            for at_ns, text, total in zip(stamps, texts, totals or (), strict=True):
                reader.add_whole(at_ns, text, total)
        else:
            reader.add_many(stamps, texts, totals)
        return True


def _fits(form: _Form, payload: bytes) -> bool:
    try:
        events = form.decode(b"[%b]" % payload)
        return bool(form.totals is None or form.totals(events))
    except _MISFITS:
        return False


# What has no usage at all, though its form should have, has no tokens in it.
_MISFITS = (ValueError, AttributeError)
_FORMS = _forms()
