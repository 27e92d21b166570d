"""Kernel notices about changed files, and where they cannot be trusted."""

import os
import struct
import time

from firedup.host.agent.file import find_mount
from firedup.host.agent.stream import Stream
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
_SAFETY_S = 5.0  # a look without any notice, for what the kernel did not tell
_POLL_S = (0.05, 1.0)  # remote file systems: from right after a change to long after
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


class Noticing(Stream):
    """A stream about the file at a path, woken by kernel notices and by looks of its own.

    A sub-class has the open file in `file` (-1 for none), sets `must_arm` when that changes, and
    is asked to `note_size` before anything else may happen to it.
    """

    def prepare(self, path: str, *, is_polled: bool) -> None:
        """Where the file is, relative to the home; nothing is opened yet."""
        self.path = os.path.join(os.path.expanduser("~"), os.path.expanduser(path))
        self.file = -1
        self.must_arm = True
        self.is_polled = is_polled
        self.pause_s = _POLL_S[0]

    def begin(self) -> None:
        """Begins to watch; what it opened is closed again when that fails."""
        self.inotify = Inotify()
        try:
            here = nearest_folder(self.path)
            self.is_polled = self.is_polled or self.inotify.file < 0 or is_remote(here)
            if self.inotify.file >= 0:
                self.loop.watch(self.inotify.file, self._on_notice)
            self.arm()
        except BaseException:
            self.close()
            raise

    def end_notices(self) -> None:
        """Gives the kernel's notices back."""
        if self.inotify.file >= 0:
            self.loop.unwatch(self.inotify.file)
        self.inotify.close()

    def note_size(self) -> None:
        """A notice came: how much there is may have to be remembered."""
        raise NotImplementedError

    def on_due(self) -> None:
        """A look without a notice."""
        self.note_size()
        self.must_arm = True
        self.is_ready = True

    def _on_notice(self) -> None:
        names = (os.path.basename(self.path), os.path.basename(os.path.realpath(self.path)), "")
        folder = os.path.dirname(self.path)
        for path, name, is_content in self.inotify.take():
            if name in names or not os.path.isdir(folder) or path != folder:
                self.note_size()
                self.is_ready = True
                self.must_arm = self.must_arm or not is_content
        if self.credit <= 0 and self.arm():  # nobody else will for a while
            self.note_size()

    def arm(self) -> bool:
        """Watches what matters now; True when there is something new to look at."""
        if not self.must_arm:
            return False
        self.must_arm = False
        real = os.path.realpath(self.path)
        wanted = {nearest_folder(self.path): FOLDER_NOTICES}
        wanted[nearest_folder(real)] = FOLDER_NOTICES
        if os.path.exists(self.path):
            wanted[self.path] = FILE_NOTICES
        if self.file >= 0:
            wanted[f"/proc/self/fd/{self.file}"] = FILE_NOTICES
        return self.inotify.arm(wanted)

    def hurry(self) -> None:
        """Something happened, so that more may happen soon."""
        self.pause_s = _POLL_S[0]

    def rest(self) -> None:
        """Nothing is new: when to look again without a notice."""
        pause_s = _SAFETY_S
        if self.is_polled:
            pause_s = self.pause_s
            self.pause_s = min(self.pause_s * 1.5, _POLL_S[1])
        self.due = time.monotonic() + pause_s
