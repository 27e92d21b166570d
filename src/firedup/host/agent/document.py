"""Files that nobody vouches for, read with limits: their bytes, and JSON of bounded cost."""

import errno
import json
import os
import re
import sys

from firedup.host.agent.file import open_regular
from firedup.host.agent.system import AgentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POINTER = b"version https://git-lfs"
IS_POINTER = "the file is a Git LFS pointer: its content was never downloaded"
MOST_MEMORY = 400000000  # bytes that parsed JSON may take, by estimate
_READ_BYTES = 1 << 20
_SHORT_BYTES = 1 << 20  # what is no longer can do no harm, whatever it holds
_WHY = {
    errno.ENOENT: "not there",
    errno.ENOTDIR: "not there",
    errno.ELOOP: "its links lead back to themselves",
    errno.EACCES: "this user may not read it",
    errno.EPERM: "this user may not read it",
    errno.EISDIR: "a folder, not a file",
    errno.ENAMETOOLONG: "its name is too long",
}


class FlawError(Exception):
    """What is wrong with a file, in words that follow its name and a colon."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class UnreadError(FlawError):
    """A file that may be right: longer than what is read, or of a kind that is not known."""


class Source:
    """An open file and its size when it was opened. FlawError for what is no readable file."""

    def __init__(self, path: str) -> None:
        try:
            self._file = open_regular(path)
        except AgentError:
            kind = "a folder" if os.path.isdir(path) else "a pipe or a device"
            raise FlawError(kind + ", not a file") from None
        except OSError as error:
            raise FlawError(_tell_why(error)) from error
        except ValueError:  # a null byte in its name
            raise FlawError("its name cannot be that of a file") from None
        self._first = os.fstat(self._file)
        self.size = self._first.st_size

    def read(self, offset: int, size: int) -> bytes:
        """Exactly these bytes. FlawError where the file ends before, or cannot be read."""
        pieces = []
        while size > 0:
            try:
                piece = os.pread(self._file, min(size, _READ_BYTES), offset)
            except (OSError, OverflowError) as error:
                why = _tell_why(error) if isinstance(error, OSError) else "no such offset"
                raise FlawError(why) from error
            if not piece:
                raise FlawError(f"it ends at byte {offset:,}, while {size:,} more are needed")
            pieces.append(piece)
            offset += len(piece)
            size -= len(piece)
        return b"".join(pieces)

    @property
    def has_changed(self) -> bool:
        """Whether somebody wrote to it since it was opened."""
        now = os.fstat(self._file)
        return (now.st_size, now.st_mtime_ns) != (self.size, self._first.st_mtime_ns)

    def close(self) -> None:
        """Lets go of the file."""
        os.close(self._file)


def _tell_why(error: OSError) -> str:
    return _WHY.get(error.errno or 0) or (error.strerror or str(error)).lower()


def read_all(path: str, limit: int) -> bytes:
    """A whole file of at most `limit` bytes. FlawError for any other."""
    source = Source(path)
    try:
        if source.size > limit:
            raise UnreadError(f"{source.size:,} bytes; more than {limit:,} are not read")
        data = source.read(0, source.size)
    finally:
        source.close()
    if data.startswith(POINTER):
        raise FlawError(IS_POINTER)
    return data


def read_document(path: str, limit: int) -> "Any":
    """The JSON of a whole file of at most `limit` bytes."""
    return parse_json(read_all(path, limit))


def parse_json(data: bytes) -> "Any":
    """The value of a JSON text. FlawError when it is none, or costs too much to be honest."""
    if len(data) > _SHORT_BYTES and estimate_memory(data) > MOST_MEMORY:
        raise FlawError("its JSON has too many parts to be read")
    if not hasattr(sys, "get_int_max_str_digits") and re.search(rb"\d{4301}", data):
        raise FlawError("its JSON has a number of thousands of digits")
    try:
        return json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise FlawError(f"not text in UTF-8: byte {error.start:,} is wrong") from error
    except RecursionError:
        raise FlawError("its JSON is nested too deep") from None
    except ValueError as error:
        raise FlawError(f"not JSON: {str(error)[:120]}") from error


def estimate_memory(data: bytes) -> int:
    """About how many bytes the parsed JSON takes, found without parsing it."""
    parts = 240 * data.count(b"{") + 88 * data.count(b"[") + 40 * data.count(b",")
    return parts + 25 * data.count(b'"') + 2 * len(data)
