"""Events survive the way through a line of JSON, however the file is cut."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import StoreError
from firedup.core.event import (
    Accepted,
    Begun,
    Event,
    Exited,
    KeeperGone,
    LogData,
    PortOwner,
    Sample,
)
from firedup.core.model import Acceptance, Ownership, Process, ServerSpec
from firedup.store.event import (
    CLASSES,
    EventReader,
    LogRange,
    decode_event,
    encode_event,
    encode_output,
    encode_range,
    make_event,
)

# Text as Python gives it for the names of files: also with surrogates for bytes that are no UTF-8.
NAMES = st.binary(max_size=6).map(lambda data: data.decode("utf-8", "surrogateescape"))
SIMPLE = {
    int: st.integers(-1, 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    str: st.text(max_size=12) | NAMES,
    bytes: st.binary(),
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any value of a field's type, nested values included."""
    if hint in SIMPLE:
        return SIMPLE[hint]
    if get_origin(hint) is tuple and get_args(hint)[-1] is not Ellipsis:
        return st.tuples(*[values_of(one) for one in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=2).map(tuple)
    if get_args(hint):
        return st.one_of([values_of(one) for one in get_args(hint)])
    if dataclasses.is_dataclass(hint):
        fields = {name: values_of(one) for name, one in get_type_hints(hint).items()}
        return st.builds(hint, **fields)
    return st.sampled_from(list(hint))


EVENTS = st.one_of([values_of(found) for found in CLASSES.values()])


@given(EVENTS)
def test_what_was_written_is_what_is_read(event: Event) -> None:
    line = encode_event(event)

    assert line.count(b"\n") == 1
    assert line.endswith(b"}\n")
    assert decode_event(line) == event


@given(st.lists(EVENTS, max_size=5), st.data())
def test_slicing_a_file_differently_changes_nothing(
    events: list[Event], data: st.DataObject
) -> None:
    whole = b"".join(map(encode_event, events))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    reader = EventReader()
    found: list[object] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += reader.feed(whole[start:end])
    found += reader.close()

    assert found == events
    assert (reader.damaged, reader.is_torn) == (0, False)


def test_every_event_of_the_core_has_a_kind() -> None:
    assert sorted(CLASSES) == [
        "accepted",
        "begun",
        "deadline-passed",
        "ended",
        "exited",
        "health",
        "keeper-gone",
        "link-changed",
        "log",
        "log-changed",
        "noted",
        "port-owner",
        "sample",
        "stacks-taken",
        "stop-asked",
        "token",
    ]


def test_a_line_is_an_object_with_the_kind_first_and_the_fields_by_name() -> None:
    event = PortOwner(7, 30000, Ownership.NO, pid=12, command="python -m http.server")

    assert encode_event(event) == (
        b'{"event":"port-owner","at_ns":7,"port":30000,"owner":"no","pid":12,'
        b'"command":"python -m http.server"}\n'
    )


def test_nested_values_are_objects() -> None:
    process = Process(9, 1234, 1, "python", "S", 1.5, 4096)
    sample = Sample(1, 2, 3, (process,), (30000,))

    value = json.loads(encode_event(sample))

    assert value["processes"] == [dataclasses.asdict(process)]
    assert decode_event(encode_event(sample)) == sample


def test_a_command_that_is_not_utf8_is_kept_byte_for_byte() -> None:
    path = b"/models/\xff\xfe".decode("utf-8", "surrogateescape")
    event = Begun(1, 2, ServerSpec(argv=("serve", path)), log=path)

    line = encode_event(event)

    assert line.isascii()
    assert decode_event(line) == event


def test_log_bytes_are_written_as_a_range() -> None:
    line = encode_range(LogData(5, 1, 100, b"0123456789"))

    assert line == b'{"event":"log","at_ns":5,"generation":1,"offset":100,"length":10}\n'
    assert decode_event(line) == LogRange(5, 1, 100, 10)


@pytest.mark.parametrize(
    ("data", "key"), [(b"ready \xe2\x9c\x93\r\n\0", "text"), (b"\xff", "base64")]
)
def test_log_bytes_for_a_replay_are_text_where_they_can_be(data: bytes, key: str) -> None:
    event = LogData(5, 0, 100, data)

    line = encode_event(event)

    assert key in json.loads(line)
    assert decode_event(line) == event


def test_unknown_fields_and_kinds_are_passed_over() -> None:
    assert decode_event(b'{"event":"keeper-gone","at_ns":4,"mood":"sad"}') == KeeperGone(4)
    assert decode_event(b'{"event":"earthquake","at_ns":4}') is None


def test_what_was_concluded_is_in_the_file_and_no_input() -> None:
    reader = EventReader()

    found = reader.feed(
        encode_output("verdict", {"verdict": "ready"}) + encode_event(KeeperGone(4))
    )

    assert found == (KeeperGone(4),)
    assert reader.passed_over == 1


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b"null",
        b'{"at_ns":1}',
        b'{"event":"keeper-gone"}',
        b'{"event":"keeper-gone","at_ns":"soon"}',
        b'{"event":"log","at_ns":1,"generation":0,"offset":0}',
        b'{"event":"log","at_ns":1,"generation":0,"offset":0,"base64":"*"}',
        b'{"event":"log","at_ns":1,"generation":0,"offset":0,"text":"\\ud800"}',
        b'{"event":"begun","at_ns":1,"spec":"\\udc80',
        b"\xff\xfe",
    ],
)
def test_a_line_that_is_no_event_is_refused(line: bytes) -> None:
    with pytest.raises(StoreError):
        decode_event(line)


def test_damage_is_counted_and_what_surrounds_it_is_read() -> None:
    first, last = KeeperGone(1), Exited(2, 3, 4, code=0)
    reader = EventReader()

    found = reader.feed(encode_event(first) + b'{"event":"sam\n\n' + encode_event(last) + b'{"ev')
    found += reader.close()

    assert found == (first, last)
    assert (reader.damaged, reader.is_torn) == (2, True)


def test_a_last_line_that_only_lacks_its_line_feed_counts() -> None:
    reader = EventReader()

    found = reader.feed(encode_event(KeeperGone(1)).rstrip())

    assert (found, reader.close()) == ((), (KeeperGone(1),))
    assert not reader.is_torn


def test_facts_from_elsewhere_become_events() -> None:
    facts = {"at_ns": 1, "wall_ns": 2, "pid": 3, "code": None, "signal": 9, "schema": 1}

    assert make_event("exited", facts) == Exited(1, 2, 3, signal=9)
    assert make_event(
        "accepted", {"at_ns": 1, "acceptance": {"length": 2, "rate": None}}
    ) == Accepted(1, Acceptance(2.0, None))
