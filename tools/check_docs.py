"""Tells which pages name commands, options or tests that do not exist, or cannot be reached.

Commands are those of shell blocks, parsed as the program would and not run, and code spans that
begin with `firedup`. A link whose text is `test_…` must lead to a file with a test of that name;
one in code must be a test somewhere.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from firedup.cli.group import commands
from tools.page import (
    SHELL_LANGUAGES,
    list_links,
    list_spans,
    read_blocks,
    read_typed,
    split_commands,
)
from tools.tracked import list_files

INDEX = Path("docs/README.md")
DOCS = Path("docs")
# A decision tells of its day; what it names may be gone since.
HISTORY = Path("docs/adr")
TEST = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
DEV = re.compile(r"^(\w+)(?: \| [-\w| ]+)?\)", re.MULTILINE)


def check_words(words: list[str]) -> str | None:
    """What is wrong with the words after `firedup`, as the program would say; None if nothing."""
    command: click.Command = commands
    context: click.Context | None = None
    rest = words
    try:
        while isinstance(command, click.Group):
            if not rest or rest[0] in ("-h", "--help", "--version"):
                return None
            # As the program makes it: a command keeps the names of its help option ever after.
            settings = command.context_settings
            parent = click.Context(command, parent=context, info_name=command.name, **settings)
            name, found, rest = command.resolve_command(parent, rest)
            if found is None:
                return f"there is no command {name}"
            command, context = found, parent
        if "--help" in rest or "-h" in rest:
            return None
        command.make_context(command.name, list(rest), parent=context)
    except click.BadParameter as error:
        if error.param is not None and isinstance(error.param.type, click.Path):
            return None  # a file of the reader's
        return error.format_message()
    except click.UsageError as error:
        return error.format_message()
    return None


def check_span(text: str) -> str | None:
    """As `check_words`, for a mention in prose, where arguments may be missing."""
    words = text.replace("…", " ").split()[1:]
    command: click.Command = commands
    while words and isinstance(command, click.Group):
        word = words.pop(0)
        if not re.fullmatch(r"[a-z-]+", word) or word.startswith("-"):
            return None
        found = command.get_command(click.Context(command), word)
        if found is None:
            return f"there is no command {word}"
        command = found
    known = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    own = words[: words.index("--")] if "--" in words else words
    for word in own:
        name = re.split(r"[=\]]", word.lstrip("["))[0]
        if name.startswith("--") and name not in known | {"--help", "--version"}:
            return f"{command.name} has no option {name}"
    return None


def check_commands(path: Path, dev: frozenset[str]) -> list[str]:
    """One sentence per command of the page that does not exist as it is written."""
    text = path.read_text(encoding="utf-8")
    problems = []
    for block in read_blocks(text):
        if block.language not in SHELL_LANGUAGES:
            continue
        for typed in read_typed(block):
            try:
                programs = list(split_commands(typed.command))
            except ValueError as error:
                problems.append(f"{path}:{typed.line}: {error}: {typed.command}")
                continue
            for words in programs:
                if words[0] == "firedup" and (wrong := check_words(words[1:])):
                    problems.append(f"{path}:{typed.line}: {wrong}")
                if words[0] == "./dev" and len(words) > 1 and words[1] not in dev:
                    problems.append(f"{path}:{typed.line}: dev has no command {words[1]}")
    for line, span in list_spans(text):
        if span.startswith("firedup ") and (wrong := check_span(span)):
            problems.append(f"{path}:{line}: {wrong}: `{span}`")
    return problems


def check_tests(path: Path, known: frozenset[str]) -> list[str]:
    """One sentence per test that is not where the page says, or in code and not in `known`."""
    problems = []
    for line, span in list_spans(path.read_text(encoding="utf-8")):
        if re.fullmatch(r"test_\w+", span) and span not in known:
            problems.append(f"{path}:{line}: no test is called {span}")
    for text, target in list_links(path):
        name = text.strip("`")
        if not name.startswith("test_") or target.suffix != ".py" or not target.is_file():
            continue
        source = target.read_text(encoding="utf-8")
        if name not in TEST.findall(source):
            problems.append(f"{path}: {target.name} has no {name}")
    return problems


def check_reach(pages: list[Path], index: Path) -> list[str]:
    """One sentence per page to which no way leads from `index`."""
    seen: set[Path] = set()
    ahead = [index.resolve()]
    while ahead:
        page = ahead.pop()
        if page not in seen and page.is_file() and page.suffix == ".md":
            seen.add(page)
            ahead += [target for _, target in list_links(page)]
    return [
        f"{page}: no way leads here from {index}" for page in pages if page.resolve() not in seen
    ]


def list_dev_commands() -> frozenset[str]:
    """The commands of ./dev."""
    cases = Path("dev").read_text(encoding="utf-8").rpartition("case $command in")[2]
    return frozenset(DEV.findall(cases))


def list_tests() -> frozenset[str]:
    """The names of all tests."""
    files = list_files(Path("tests"), ".py")
    return frozenset(name for file in files for name in TEST.findall(file.read_text("utf-8")))


def main() -> int:
    """Check all pages of the tree."""
    pages = [page for page in list_files(Path(), ".md") if "data" not in page.parts]
    dev, tests = list_dev_commands(), list_tests()
    problems = []
    for page in pages:
        problems += check_tests(page, tests)
        if not page.is_relative_to(HISTORY):
            problems += check_commands(page, dev)
    problems += check_reach([page for page in pages if page.is_relative_to(DOCS)], INDEX)
    print("\n".join(problems), end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
