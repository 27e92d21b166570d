"""Addresses as people write them, and keys that show themselves nowhere."""

from __future__ import annotations

import pytest

from firedup.core.error import UsageError
from firedup.probe.key import ApiKey
from firedup.probe.url import parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost:30000", "http://localhost:30000"),
        ("http://box/", "http://box"),
        ("https://box:443/v1", "https://box"),
        ("https://box:8443/llm/v1/", "https://box:8443/llm"),
        ("http://[::1]:80", "http://[::1]"),
    ],
)
def test_addresses_are_taken_as_people_write_them(text: str, url: str) -> None:
    assert str(parse_url(text)) == url


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ftp://box",
        "http://box?x=1",
        "http://:80",
        "http://box:port",
        "http://bo x",
        "http://b\n",
    ],
)
def test_addresses_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="address"):
        parse_url(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse_url("http://me:hunter2@box")

    assert "hunter2" not in str(caught.value)


def test_a_key_shows_itself_nowhere() -> None:
    key = ApiKey(" sk-secret\n")

    assert "secret" not in repr(key)
    assert key.header() == "Bearer sk-secret"
    assert key.blot("bad key sk-secret!") == "bad key …!"


@pytest.mark.parametrize("secret", ["", "a b", "a\r\nX: y", "ключ"])
def test_a_key_that_no_header_can_hold_is_refused(secret: str) -> None:
    with pytest.raises(UsageError) as caught:
        ApiKey(secret)

    assert not secret.strip() or secret not in str(caught.value)
