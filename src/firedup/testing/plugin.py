"""A pytest plugin: every rule of a profile, and every example line of it, becomes a test.

Use it for profiles of your own: `pytest -p firedup.testing.plugin my-profiles/`. A file is a
profile when it holds `[[rule]]` tables. The tests are called after what they try, so that `-k`
chooses them: `sglang/load.toml::load-weight-begin-match0`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firedup.profile.check import check_joined, check_rule, check_with_hyperscan
from firedup.profile.example import Rivals, check_match, check_miss
from firedup.profile.join import Joined, join_files
from firedup.profile.problem import Problem
from firedup.profile.read import builtin_files, user_files
from firedup.profile.schema import Entry

if TYPE_CHECKING:
    from _pytest._code.code import ExceptionInfo, TerminalRepr


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProfileFile | None:
    """Takes TOML files that hold rules."""
    if file_path.suffix != ".toml" or "[[rule]]" not in file_path.read_text(encoding="utf-8"):
        return None
    return ProfileFile.from_parent(parent, path=file_path)


class ProfileFile(pytest.File):
    """A profile file as a collection of tests: the file, each rule, each example."""

    def collect(self) -> Iterator[ProfileItem]:
        """One item for the file, then those of each rule in order."""
        joined, rivals = _load(_root_of(self.path))
        path = str(self.path)
        yield self._item("file", lambda: _problems_of_file(joined, path))
        for entry in joined.own:
            if Path(entry.place.path) == self.path:
                yield from self._items_of(entry, rivals)

    def _items_of(self, entry: Entry, rivals: Rivals) -> Iterator[ProfileItem]:
        rule = entry.rule
        yield self._item(f"{rule.id}-rule", lambda: check_rule(entry))
        for index, line in enumerate(rule.matches):
            check = functools.partial(check_match, entry, line, rivals)
            yield self._item(f"{rule.id}-match{index}", check)
        for index, line in enumerate(rule.misses):
            yield self._item(f"{rule.id}-miss{index}", functools.partial(check_miss, entry, line))

    def _item(self, name: str, check: Callable[[], list[Problem]]) -> ProfileItem:
        return ProfileItem.from_parent(self, name=name, check=check)


class ProfileItem(pytest.Item):
    """One test: it fails with the problems that `check` returns."""

    def __init__(self, *, check: Callable[[], list[Problem]], **more: object) -> None:
        super().__init__(**more)  # type: ignore[arg-type]  # fields by name
        self._check = check

    def runtest(self) -> None:
        """Fails with the problems found."""
        if problems := self._check():
            raise _WrongProfileError(problems)

    def repr_failure(
        self,
        excinfo: ExceptionInfo[BaseException],
        style: object = None,  # noqa: ARG002 - pytest passes it
    ) -> str | TerminalRepr:
        """The problems as `firedup profile check` prints them."""
        if isinstance(excinfo.value, _WrongProfileError):
            return "\n\n".join(map(str, excinfo.value.problems))
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """How a report calls the test."""
        return self.path, None, self.name


class _WrongProfileError(Exception):
    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def _root_of(path: Path) -> Path:
    """A profile is a folder with a profile.toml or of a built-in name, else a lone file."""
    folder = path.parent
    built_in = {file.folder for file in builtin_files()}
    is_folder = (folder / "profile.toml").exists() or folder.name in built_in
    return folder if is_folder else path


@functools.lru_cache
def _load(root: Path) -> tuple[Joined, Rivals]:
    joined = join_files((*builtin_files(), *user_files([root])))
    return joined, Rivals(joined.catalogue)


def _problems_of_file(joined: Joined, path: str) -> list[Problem]:
    """What is wrong with the file itself: its form, its profile, ids used twice."""
    found = [problem for problem in joined.problems if problem.place.path == path]
    found += [p for p in check_joined(joined, with_rules=False) if p.place.path == path]
    entries = [e for e in joined.own if e.place.path == path and not check_rule(e)]
    return found + check_with_hyperscan(entries)
