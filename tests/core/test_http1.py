"""Our own parser of HTTP answers beside the compiled one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.measure.http1 import LONGEST_HEAD, Http1Error, ResponseParser


class Told:
    """What a parser tells, bodies joined."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.parser: Any = None

    def on_message_begin(self) -> None:
        self.told.append("begin")

    def on_header(self, name: bytes, value: bytes) -> None:
        self.told.append((name, value.strip()))

    def on_headers_complete(self) -> None:
        self.told.append(self.parser.get_status_code())

    def on_body(self, body: bytes) -> None:
        if isinstance(self.told[-1], bytearray):
            self.told[-1] += body
        else:
            self.told.append(bytearray(body))

    def on_message_complete(self) -> None:
        self.told.append(("end", self.parser.should_keep_alive()))


def hear(make: Any, slices: list[bytes]) -> list[Any]:
    told = Told()
    told.parser = make(told)
    for data in slices:
        told.parser.feed_data(data)
    return told.told


HEADERS = st.lists(
    st.tuples(
        st.sampled_from([b"Server", b"X-Request-Id", b"Content-Type", b"date"]),
        st.sampled_from([b"uvicorn", b"a: b", b"", b"text/event-stream; charset=utf-8", b" x "]),
    ),
    max_size=3,
)


@st.composite
def answers(draw: Any) -> bytes:
    status = draw(st.sampled_from([b"200 OK", b"200", b"503 Service Unavailable", b"404 "]))
    lines = [b"HTTP/1.1 " + status]
    lines += [name + b": " + value for name, value in draw(HEADERS)]
    lines += draw(st.sampled_from([[], [b"Connection: keep-alive"]]))
    body = draw(st.binary(max_size=20))
    if draw(st.booleans()):
        lines.append(b"Content-Length: %d" % len(body))
        data = body
    else:
        lines.append(b"Transfer-Encoding: chunked")
        parts = draw(st.lists(st.binary(min_size=1, max_size=20), max_size=4))
        extension = draw(st.sampled_from([b"", b";x=1"]))
        data = b"".join(b"%X%b\r\n%b\r\n" % (len(part), extension, part) for part in parts)
        data += b"0\r\n" + draw(st.sampled_from([b"", b"X-Sum: 1\r\n"])) + b"\r\n"
    return b"\r\n".join([*lines, b"", b""]) + data


@given(st.lists(answers(), min_size=1, max_size=3), st.lists(st.integers(0, 300)))
def test_however_sliced_it_tells_what_the_compiled_parser_tells(
    sent: list[bytes], cuts: list[int]
) -> None:
    stream = b"".join(sent)
    edges = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    slices = [stream[a:b] for a, b in pairwise(edges)]

    whole = hear(httptools.HttpResponseParser, [stream])

    assert [one for one in hear(ResponseParser, slices) if one != b""] == whole


def test_an_interim_answer_and_one_without_a_body_end_at_once() -> None:
    told = hear(
        ResponseParser,
        [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"],
    )

    assert [one for one in told if one != "begin"] == [
        100,
        ("end", True),
        (b"Connection", b"close"),
        204,
        ("end", False),
    ]


def test_a_body_without_a_length_goes_on_to_the_end_of_the_connection() -> None:
    told = hear(ResponseParser, [b"HTTP/1.0 200 OK\r\n\r\nab", b"cd"])

    assert told[-1] == b"abcd"
    assert 200 in told


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00",  # TLS
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 OK\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 70_000,
        b"HTTP/1.1 200 OK\r\n" + b"X: aaaaaaaa\r\n" * (LONGEST_HEAD // 8),
    ],
)
def test_what_is_no_answer_is_refused(data: bytes) -> None:
    with pytest.raises(Http1Error):
        hear(ResponseParser, [data])
