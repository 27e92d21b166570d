"""What goes through a login shell arrives as it was, whichever shell that is."""

import json
import shutil
import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firedup.host.agent.boot import BOOT
from firedup.host.shell import join_words, quote_word

SHELLS = ("sh", "bash", "dash", "zsh", "fish", "tcsh", "ksh")
SHOW = "import json,os,sys; print(json.dumps([os.fsencode(a).hex() for a in sys.argv[1:]]))"

# All that can be in an argument; csh knows no way to put a line break into one.
CHARACTERS = st.characters(exclude_characters="\0\n\r", exclude_categories=["Cs"])
SPECIAL = st.sampled_from("'\"\\!$`~#%^&*()[]{}|;<>? \t=-é")
WORDS = st.lists(st.text(CHARACTERS | SPECIAL, max_size=12), min_size=1, max_size=4)


def through(shell: str, words: list[str]) -> list[str]:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"{shell} is not installed")
    line = join_words([sys.executable, "-I", "-S", "-c", SHOW, *words])
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    done = subprocess.run([path, "-c", line], capture_output=True, check=True, env=environment)
    return [bytes.fromhex(word).decode() for word in json.loads(done.stdout)]


@pytest.mark.parametrize("shell", SHELLS)
@settings(max_examples=25)
@given(words=WORDS)
@example(words=["$(touch /tmp/no)", "`id`", "; id", "&& id", "| id", "> /dev/null", "\\", "\\'"])
@example(words=["!", "!!", "a!b", "!$", "'!'", "\\!", "=ls", "%1", "~", "~root", "", "-n"])
@example(words=["*", "?", "[a]", "{a,b}", "$HOME", "${HOME}", "#", "a#b", "^a^b", "é", "\t", "''"])
def test_every_word_passes_every_shell_unchanged(shell: str, words: list[str]) -> None:
    assert through(shell, words) == words


@pytest.mark.parametrize("shell", SHELLS)
def test_the_line_that_starts_the_agent_passes_every_shell(shell: str) -> None:
    assert "\n" not in BOOT
    assert through(shell, [BOOT, "firedup-0123", "100", "serve"])[0] == BOOT


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish", "ksh"])
def test_a_line_break_stays_inside_its_word(shell: str) -> None:
    assert through(shell, ["a\nid\n", "b"]) == ["a\nid\n", "b"]


def test_simple_words_stay_as_they_are_to_be_readable() -> None:
    assert join_words(["python3", "-c", "a b"]) == "python3 -c 'a b'"
    assert quote_word("") == "''"
    assert quote_word("it's") == "'it'\\''s'"
