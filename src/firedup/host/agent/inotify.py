"""Kernel notices about changed files, and where they cannot be trusted."""

import os
import struct

from firedup.host.agent.file import find_mount
from firedup.host.agent.system import load_libc

_MODIFY, _ATTRIB = 0x2, 0x4
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _IGNORED = 0x400, 0x800, 0x8000
FILE_NOTICES = _MODIFY | _ATTRIB | _DELETE_SELF | _MOVE_SELF
FOLDER_NOTICES = _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_NOTICE = struct.Struct("iIII")
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # IN_NONBLOCK and IN_CLOEXEC have the same values

# Writes by another machine give no notice on these.
_REMOTE = ("nfs", "cifs", "smb", "9p", "fuse", "lustre", "beegfs", "gpfs", "ceph", "afs", "gluster")
_REMOTE_TOO = ("virtiofs", "vboxsf", "wekafs", "panfs", "pvfs2", "ocfs2", "unknown")


def is_remote(path: str) -> bool:
    """Whether the file system may be written by other machines, so that it must be polled."""
    kind = find_mount(path)[1]
    return kind.startswith(_REMOTE) or kind in _REMOTE_TOO


class Inotify:
    """The notices about a changing set of paths. `file` is -1 where the kernel refuses."""

    def __init__(self) -> None:
        self._libc = load_libc()
        self.file = int(self._libc.inotify_init1(_FLAGS))
        self._watches = {}  # type: dict[str, tuple[int, int]]  # path -> (watch, inode)

    def arm(self, wanted: "dict[str, int]") -> bool:
        """Watches exactly the `wanted` paths (path -> notices); True when a watch is new.

        After True the caller looks at the files again, for they may have changed before.
        """
        if self.file < 0:
            return False
        for path in [p for p in self._watches if p not in wanted]:
            self._forget(path)
        is_new = False
        for path, notices in wanted.items():
            try:
                inode = os.stat(path).st_ino
            except OSError:
                self._forget(path)
                continue
            known = self._watches.get(path)
            if known is not None and known[1] == inode:
                continue
            self._forget(path)
            watch = int(self._libc.inotify_add_watch(self.file, os.fsencode(path), notices))
            if watch >= 0:
                self._watches[path] = (watch, inode)
                is_new = True
        return is_new

    def _forget(self, path: str) -> None:
        known = self._watches.pop(path, None)
        if known is not None and known[0] not in [w for w, _ in self._watches.values()]:
            self._libc.inotify_rm_watch(self.file, known[0])

    def take(self) -> "list[tuple[str, str, bool]]":
        """(watched path, name inside it or "", whether only content changed) of each notice.

        A notice about something not watched any more, or a lost one, has neither path nor name.
        """
        notices = []  # type: list[tuple[str, str, bool]]
        while True:
            try:
                data = os.read(self.file, 65536)
            except BlockingIOError:
                return notices
            position = 0
            while position < len(data):
                watch, mask, _, length = _NOTICE.unpack_from(data, position)
                position += _NOTICE.size
                name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
                position += length
                paths = [p for p, known in self._watches.items() if known[0] == watch]
                if mask & (_IGNORED | _DELETE_SELF | _MOVE_SELF):
                    for path in paths:
                        self._watches.pop(path)
                notices += [(path, name, mask == _MODIFY) for path in paths or [""]]

    def close(self) -> None:
        """Gives the kernel's object back."""
        if self.file >= 0:
            os.close(self.file)
            self.file = -1


def nearest_folder(path: str) -> str:
    """The closest folder above `path` that exists."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder
