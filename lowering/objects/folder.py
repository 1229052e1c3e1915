"""Whose the store's folder and its files must be, how these are found, read and written.

* **The folder** (`TIERUP_CACHE_DIR`, else the platform's for the user) belongs to this user, and no other can write it. All that lead to
  it belong to the user or the system, and nobody else can put another in their place. Another folder is not used.
* **A file** in it is a regular one of this user's that no other can write, of bounded size. Links, FIFOs and devices are not followed.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator

SUFFIX = ".artifact"
UNFINISHED = ".new"
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# never through a link, and never waiting for who writes a FIFO
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NOT_OURS = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EACCES, errno.EPERM)  # links, sockets, what its user may not read
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Refused(Exception):
    """What stands in the store and may not be used. The message says what it is and why not."""


def folder() -> str:
    """Where entries are kept. Nothing is made. Raises Refused where the user has no folder."""
    chosen = os.environ.get("TIERUP_CACHE_DIR")
    if chosen:
        return chosen
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.join(_home(), "AppData", "Local")
    elif sys.platform == "darwin":
        base = os.path.join(_home(), "Library", "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(_home(), ".cache")
    return os.path.join(base, "tierup")


def _home() -> str:
    home = os.path.expanduser("~")
    if home == "~":
        raise Refused("this user has no home: set HOME or TIERUP_CACHE_DIR, or compiled code is kept nowhere")
    return home


def files(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files of a folder that are ours by their names; "": there is none. Raises OSError."""
    if not place:
        return
    with os.scandir(place) as found:
        for entry in found:
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process removes it
                continue
            if stat.S_ISREG(about.st_mode) and entry.name.endswith((SUFFIX, UNFINISHED)):
                yield entry.path, about


def checked(path: str) -> str:
    """The real path of the folder, "" when there is none. Raises Refused for one that others may change, OSError."""
    real = os.path.realpath(path)
    if os.name != "posix":  # no owners and modes there: a profile is its user's alone
        return real if os.path.isdir(real) else ""
    me = os.geteuid()
    system = (0, os.lstat("/").st_uid)  # in a container root may go by another number
    at, names = "/", [name for name in real.split("/") if name]
    for name in ("", *names):
        at = os.path.join(at, name)
        try:
            found = os.lstat(at)
        except FileNotFoundError:
            return ""
        last = at == real
        if not stat.S_ISDIR(found.st_mode):
            raise Refused(f"{at} is no folder: compiled code is not kept")
        if found.st_uid != me and (last or found.st_uid not in system):
            raise Refused(f"{at} belongs to user {found.st_uid}, who could change what this process runs: {_USE_ANOTHER}")
        if _others_write(at, found) and (last or not found.st_mode & stat.S_ISVTX):
            mode = f"{stat.S_IMODE(found.st_mode):04o}"
            raise Refused(f"others can write {at} (mode {mode}), and so change what this process runs: {_REMEDY} {at}")
    return real


def _others_write(path: str, about: os.stat_result) -> bool:
    """Whether others than the user can write a folder. A group of the user's own, as many systems make for each user, is nobody else."""
    if not about.st_mode & stat.S_IWGRP or about.st_mode & stat.S_IWOTH:
        return bool(about.st_mode & stat.S_IWOTH)
    import grp  # here: few folders are written by a group
    import pwd

    try:
        me, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(about.st_gid)
    except KeyError:
        return True
    if (group.gr_gid, group.gr_name) != (me.pw_gid, me.pw_name) or not {me.pw_name}.issuperset(group.gr_mem):
        return True
    try:  # where there is an access list, the group's part of the mode is what anybody on it has at most
        return not hasattr(os, "listxattr") or "system.posix_acl_access" in os.listxattr(path, follow_symlinks=False)
    except OSError as e:
        return e.errno != errno.ENOTSUP  # a file system without such lists


_USE_ANOTHER = "compiled code is not kept; name a folder of your own by TIERUP_CACHE_DIR"
_REMEDY = "compiled code is not kept; set TIERUP_CACHE_DIR, or chmod go-w"


def made(path: str) -> str:
    """The real path of the folder, which is made where it is not there, with access for its owner alone. Raises Refused, OSError."""
    place = checked(path)
    if place:
        return place
    missing = os.path.realpath(path)
    below = []
    while not os.path.isdir(missing):
        missing, name = os.path.split(missing)
        below.append(name)
    for name in reversed(below):
        missing = os.path.join(missing, name)
        try:
            os.mkdir(missing, 0o700)
        except FileExistsError:
            pass  # another process makes it too; it is checked in any case
    place = checked(path)
    if not place:
        raise FileNotFoundError(f"{path} was made, and is gone")
    return place


def content(path: str, forbidden: int, most: int, first: int | None = None) -> bytes:
    """A file's content, or its first bytes. Raises Refused for what is no regular file of this user's, has one of these modes or is too
    large; OSError."""
    try:
        handle = os.open(path, _READING)
    except OSError as e:
        if e.errno in _NOT_OURS:
            raise Refused(f"{path} is not opened ({e.strerror}): it is not used, and made anew") from e
        raise
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise Refused(f"{path} is no regular file; it is not read")
        if os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & forbidden):
            whose = f"belongs to user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):04o}"
            raise Refused(f"{path} {whose}: others may have changed or seen it; it is not used, and made anew")
        if found.st_size > most:
            raise Refused(f"{path} has {found.st_size} bytes, and no entry more than {most}; it is not read, and made anew")
        parts, left = [], most if first is None else first
        while left and (part := os.read(handle, min(left, found.st_size + 1))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def written(place: str, data: bytes) -> str:
    """A new file beside the entries, with access for its owner alone. Raises OSError, and leaves nothing then."""
    path = os.path.join(place, os.urandom(8).hex() + UNFINISHED)
    handle = os.open(path, _MAKING, 0o600)
    try:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)
    except BaseException:
        os.unlink(path)
        raise
    return path


def put(beside: str, path: str) -> None:
    """Give a new file its place, at once and whole. Raises Refused where that is a folder's, OSError; the file is gone then."""
    try:
        os.replace(beside, path)
    except BaseException as e:
        os.unlink(beside)
        if isinstance(e, IsADirectoryError):
            raise Refused(f"{path} is a folder, and no entry can be kept in its place: remove it") from e
        raise
