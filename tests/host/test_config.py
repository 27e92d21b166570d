"""What is remembered of a host: read, changed, forgotten, refused with the place of a fault."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firedup.core.error import UsageError
from firedup.host.config import (
    KEYS,
    HostMemory,
    forget,
    list_memories,
    memory_path,
    read_memory,
    remember,
)
from firedup.host.settings import change_setting, drop_setting

HAND_WRITTEN = """\
# the rented one
setup = '''
source ~/sglang/bin/activate
export A="b"
'''
login = true  # for its tokens

cwd = "~/work"
"""
TEXTS = st.text(st.characters(blacklist_categories=["Cs"]))


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def write(name: str, text: str, environ: dict[str, str]) -> Path:
    path = memory_path(name, environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_of_a_host_that_nobody_described_nothing_is_remembered(environ: dict[str, str]) -> None:
    assert read_memory("box", environ) == HostMemory()
    assert list_memories(environ) == ()
    assert not forget("box", None, environ)


def test_what_is_remembered_is_read_again_and_its_users_alone(environ: dict[str, str]) -> None:
    remember("box", {"setup": "source 'a b'/activate", "login": True}, environ)
    memory, path = remember("box", {"cwd": "~/x"}, environ)

    assert memory == read_memory("box", environ)
    assert memory == HostMemory(setup="source 'a b'/activate", login=True, cwd="~/x")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    "name", ["box", "me@10.0.0.1", "box,docker:a", "k8s:ns/pod:c", "ssh://u@h:1"]
)
def test_each_host_has_a_file_of_its_own(name: str, environ: dict[str, str]) -> None:
    _, path = remember(name, {"python": "/opt/py/bin/python3"}, environ)

    assert path.parent.name == "hosts"
    assert list_memories(environ) == (name,)


@pytest.mark.parametrize("written", ["ssh:box,docker:a", "box,docker:a", "local,box,docker:a"])
def test_a_file_of_another_spelling_is_of_the_same_host(
    written: str, environ: dict[str, str]
) -> None:
    folder = memory_path("box", environ).parent
    folder.mkdir(parents=True)
    (folder / f"{written}.toml").write_text('cwd = "/w"\n')

    assert read_memory("box,docker:a", environ) == HostMemory(cwd="/w")
    assert list_memories(environ) == ("box,docker:a",)
    assert forget("box,docker:a", None, environ)
    assert list_memories(environ) == ()


def test_comments_and_long_texts_outlive_a_change(environ: dict[str, str]) -> None:
    path = write("box", HAND_WRITTEN, environ)

    remember("box", {"cwd": "/data"}, environ)
    assert path.read_text() == HAND_WRITTEN.replace('"~/work"', '"/data"')
    assert forget("box", "cwd", environ)
    assert forget("box", "setup", environ)
    assert path.read_text() == "# the rented one\nlogin = true  # for its tokens\n\n"
    assert not forget("box", "setup", environ)


def test_the_file_goes_with_its_last_line(environ: dict[str, str]) -> None:
    _, path = remember("box", {"login": True}, environ)

    assert forget("box", "login", environ)
    assert not path.exists()


@pytest.mark.parametrize(
    ("text", "what", "line", "shown", "todo"),
    [
        ('login = true\nset-up = "x"\n', "no setting 'set-up'", 2, "^^^^^^", "Did you mean setup?"),
        ("[server]\na = 1\n", "no setting 'server'", 1, "^^^^^^", "There are: setup,"),
        ('login = "yes"\n', "login must be true or false", 1, "        ^^^^^", None),
        ("a = 1\nsetup = 3\n", "no setting 'a'", 1, "^", "There are: setup"),
        ("setup = 3\n", "setup must be a text in quotes", 1, "        ^", None),
        ("setup = x\n", "box.toml is not TOML", 1, "        ^", None),
        ('setup = "x', "box.toml is not TOML", 1, "^", None),
    ],
)
def test_a_fault_is_shown_where_it_stands(
    text: str, what: str, line: int, shown: str, todo: str | None, environ: dict[str, str]
) -> None:
    path = write("box", text, environ)

    with pytest.raises(UsageError) as caught:
        read_memory("box", environ)

    error = caught.value
    assert what in error.what
    assert str(error.where).startswith(f"{path}:{line}:")
    row, carets = str(error.evidence).split("\n")
    assert row.strip() == text.split("\n")[line - 1].strip()
    assert carets.removeprefix("    ").rstrip() == shown or carets.strip() == shown
    assert (todo or "") in (error.todo or "")


@given(st.dictionaries(st.sampled_from(sorted(set(KEYS) - {"login"})), TEXTS))
def test_every_text_is_read_as_it_was_written(words: dict[str, str]) -> None:
    text = "# mine\n"
    for key, value in words.items():
        text = change_setting(text, key, "before")
        text = change_setting(text, key, value)

    assert tomllib.loads(text) == words
    for key in words:
        text = drop_setting(text, key)
    assert text == "# mine\n"
