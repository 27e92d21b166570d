"""What is remembered of a host, so that a launch there need not say it each time: one TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import quote, unquote

from firedup.core.error import StoreError, UsageError
from firedup.host.address import name_host
from firedup.host.settings import change_setting, drop_setting
from firedup.profile.problem import nearest

_SAFE = "@,+:=[]"  # also in file names, where they do no harm
_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_KEY = re.compile(r"\s*(?:\"([^\"]*)\"|'([^']*)'|([\w-]+))\s*=\s*")


@dataclass(frozen=True, slots=True)
class HostMemory:
    """How servers are launched on a host where the command line does not say it.

    `setup`, `login`, `env_file` and `cwd` are as in `firedup run`; `python` runs the agent.
    """

    setup: str | None = None
    login: bool = False
    env_file: str | None = None
    python: str | None = None
    cwd: str | None = None

    def words(self) -> dict[str, str | bool]:
        """What is remembered, by its key; nothing that is not."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {key: value for key, value in values.items() if value}


KEYS = tuple(field.name for field in fields(HostMemory))
_FLAGS = ("login",)


def memory_path(name: str, environ: Mapping[str, str]) -> Path:
    """The file that is or would be read for the host called `name`.

    One that somebody named after another way to write the host is as good.
    """
    path = _folder(environ) / f"{quote(name, safe=_SAFE)}.toml"
    if path.exists():
        return path
    same = (file for file in _list_files(environ) if _name_of(file) == name)
    return min(same, default=path)


def list_memories(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names of all hosts that something is remembered of, sorted."""
    return tuple(sorted({_name_of(file) for file in _list_files(environ)}))


def read_memory(name: str, environ: Mapping[str, str]) -> HostMemory:
    """What is remembered of the host; nothing where there is no file.

    Raises UsageError, with the place in the file, when it says what it cannot.
    """
    path = memory_path(name, environ)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return HostMemory()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read", why=str(error)) from error
    return _parse(text, path)


def remember(
    name: str, words: Mapping[str, str | bool], environ: Mapping[str, str]
) -> tuple[HostMemory, Path]:
    """Add `words` to what is remembered of the host, each in place of what was; comments stay.

    Raises StoreError when the file cannot be written.
    """
    path = memory_path(name, environ)
    text = _read_text(path)
    for key, value in words.items():
        text = change_setting(text, key, value)
    memory = _parse(text, path)
    _write(path, text)
    return memory, path


def forget(name: str, key: str | None, environ: Mapping[str, str]) -> bool:
    """Forget one key, or all (None); False when nothing of it was remembered."""
    path = memory_path(name, environ)
    text = _read_text(path)
    rest = drop_setting(text, key) if key is not None else ""
    if not path.exists() or rest == text:
        return False
    if rest.strip():
        _write(path, rest)
    else:
        path.unlink()
    return True


def _folder(environ: Mapping[str, str]) -> Path:
    home = environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(home) / "firedup" / "hosts"


def _list_files(environ: Mapping[str, str]) -> list[Path]:
    try:
        return [path for path in _folder(environ).iterdir() if path.suffix == ".toml"]
    except OSError:
        return []


def _name_of(file: Path) -> str:
    return name_host(unquote(file.stem))


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read", why=str(error)) from error


def _write(path: Path, text: str) -> None:
    """Readable by its user alone: setup lines hold what nobody else should see."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(aside, flags, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        aside.replace(path)
    except (OSError, UnicodeEncodeError) as error:
        aside.unlink(missing_ok=True)
        raise StoreError(f"{path} cannot be written", why=str(error)) from error


def _parse(text: str, path: Path) -> HostMemory:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line, column = (int(at[1]), int(at[2])) if at else (text.count("\n") + 1, 1)
        what = f"{path.name} is not TOML: {_AT.sub('', str(error)).strip()}"
        raise _complain(what, path, text, line, column, 1) from error
    for key, value in values.items():
        line, column = _find_key(text, key)
        if key not in KEYS:
            near = nearest(key, KEYS)
            todo = f"Did you mean {near}?" if near else f"There are: {', '.join(KEYS)}."
            what = f"{path.name}: there is no setting {key!r}"
            raise _complain(what, path, text, line, column, len(key), todo)
        wanted, words = (bool, "true or false") if key in _FLAGS else (str, "a text in quotes")
        if not isinstance(value, wanted):
            row = text.split("\n")[line - 1]
            begin = found.end() if (found := _KEY.match(row)) else 0
            length = len(row[begin:].rstrip())
            what = f"{path.name}: {key} must be {words}"
            raise _complain(what, path, text, line, begin + 1, length)
    return HostMemory(**values)


def _find_key(text: str, key: str) -> tuple[int, int]:
    """Line and column, from 1, where `key` stands; the first line for one that is not found."""
    for number, row in enumerate(text.split("\n"), 1):
        found = _KEY.match(row)
        if found and key in found.groups():
            return number, row.index(key) + 1
        if row.strip().strip("[]").strip() == key:
            return number, row.index(key) + 1
    return 1, 1


def _complain(
    what: str, path: Path, text: str, line: int, column: int, length: int, todo: str | None = None
) -> UsageError:
    row = text.split("\n")[line - 1]
    carets = " " * (column - 1) + "^" * max(1, length)
    where = f"{path}:{line}:{column}"
    return UsageError(what, where=where, evidence=f"  {row}\n    {carets}", todo=todo)
