"""Reads Markdown pages: their fenced blocks, the commands typed in them, and their links."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

SHELL_LANGUAGES = frozenset({"console", "sh", "bash"})
_FENCE = re.compile(
    r"^(?P<mark>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=mark)`*[ \t]*$", re.DOTALL | re.MULTILINE
)
_WITH = re.compile(r"^<!-- with: (?P<what>.+?)(?: as (?P<name>\S+))? -->$", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]\n]*)\]\(\s*<?(?P<target>[^)<>\s]+)>?[^)\n]*\)")
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_BETWEEN = frozenset("|&;()<>")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: `info` stands after the fence, `line` is the number of its first line."""

    info: str
    text: str
    line: int

    @property
    def language(self) -> str:
        """The first word after the fence."""
        return (self.info.split() or [""])[0]

    @property
    def runs(self) -> bool:
        """Whether the tests type its commands and compare what is printed."""
        return self.info.split() == ["console", "run"]


@dataclass(frozen=True, slots=True)
class Supply:
    """What must lie in the folder before the next block: a file of the tree, under `name`."""

    what: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Typed:
    """A command as it is typed, the lines printed after it, and where it stands."""

    command: str
    output: str
    line: int


def read_blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    for match in _FENCE.finditer(text):
        yield Block(match["info"].strip(), match["text"], text.count("\n", 0, match.start()) + 2)


def read_script(text: str) -> list[Supply | Typed]:
    """What the tests do for a page, in order: put files in place, type commands of `run` blocks."""
    found: list[tuple[int, Supply | Typed]] = []
    for match in _WITH.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found.append((line, Supply(match["what"], match["name"])))
    for block in read_blocks(text):
        if block.runs:
            found += [(typed.line, typed) for typed in read_typed(block)]
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def read_typed(block: Block) -> Iterator[Typed]:
    """The commands of a shell block; in `console` they stand after "$ ", and output below them."""
    has_prompt = block.language == "console"
    command: list[str] = []
    output: list[str] = []
    start, goes_on = block.line, False
    for number, line in enumerate(block.text.splitlines(), block.line):
        goes_on |= has_prompt and line.startswith("> ") and bool(command) and not output
        is_command = goes_on or line.startswith("$ ") or not has_prompt
        if not is_command:
            output.append(line)
            continue
        if not goes_on:
            if command:
                yield Typed("\n".join(command), "\n".join(output), start)
            command, output, start = [], [], number
        command.append(line.removeprefix("> ") if goes_on else line.removeprefix("$ "))
        goes_on = line.endswith("\\")
    if command:
        yield Typed("\n".join(command), "\n".join(output), start)


def split_commands(typed: str) -> Iterator[list[str]]:
    """The words of each program that a line of shell starts. Raises ValueError for a lone quote."""
    lexer = shlex.shlex(typed.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    for word in [*lexer, ";"]:
        if not set(word) <= _BETWEEN:
            if words or not _ASSIGNMENT.match(word):
                words.append(word)
            continue
        if words:
            yield words
        words = []


def list_spans(text: str) -> Iterator[tuple[int, str]]:
    """The code spans of a page outside its blocks: line number and text."""
    blank = _FENCE.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in _SPAN.finditer(blank):
        yield blank.count("\n", 0, match.start()) + 1, match[1]


def list_links(path: Path) -> Iterator[tuple[str, Path]]:
    """Text and target of each relative link of the page at `path`."""
    for match in _LINK.finditer(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        target = unquote(match["target"]).partition("#")[0]
        if target and not re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            yield match["text"], Path(path.parent, target).resolve()
