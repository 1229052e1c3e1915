"""Files that one process keeps for the next: where they lie, whether they may be trusted, and how they are written.

    store.write(name, payload)
    store.read(name)               the payload; None when there is none, or none that may be used

What is kept here is run, so nothing is taken that somebody else may have put there:

* **The folder** (`TIERUP_CACHE_DIR`, else the platform's for the user) belongs to this user, and no other can write it. All that lead to
  it belong to the user or the system, and nobody else can put another in their place. Another folder is not used.
* **An entry** is a regular file of this user's that no other can write, of bounded size. Links, FIFOs and devices are not followed.
* **The key**, 32 random bytes in a file of the folder that its owner alone can read, authenticates each entry under its name (HMAC with
  SHA-256): an entry that was changed, cut short, renamed or brought from another folder is not one. Who may use a name is who computed it
  (`lowering/objects/keys.py`): it is made of the program, the options, the compilers and the machine.

What cannot be used is reported to the logger "tierup.cache" and to `listener`, once, and is as if it were not there; so is a folder that
cannot be read or written, for whatever reason. Nothing here raises. Files are written beside their place and renamed into it, so any number
of processes may read and write at once: each sees a whole entry or none. `TIERUP_CACHE=0` turns all of it off.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import errno
import hmac
import logging
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tierup.dialect.base import switches
from tierup.dialect.base.spelling import printable
from tierup.lowering.base import faults

SUFFIX = ".artifact"
KEY = "key"
_UNFINISHED = ".new"
_ABANDONED_SECONDS = 3600
_MAGIC = b"tierup entry 2\n"
_DIGEST = 32
_KEY_BYTES = 32
LARGEST_ENTRY = 64 << 20
_MOST_BYTES = 256 << 20  # beyond it the least recently used entries go
_LEAST_BYTES = 1 << 12  # that a file takes, however short it is
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
# never through a link, and never waiting for who writes a FIFO
_READING = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NOT_OURS = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EACCES, errno.EPERM)  # links, sockets, what its user may not read
_MAKING = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)

_log = logging.getLogger("tierup.cache")
_reported: dict[str, None] = {}
_MOST_REPORTS = 1000  # that are remembered, so as to be made once
listener: Callable[[str], object] | None = None  # is told what is reported


class Refused(Exception):
    """What stands in the store and may not be used. The message says what it is and why not."""


def enabled() -> bool:
    """Whether compiled code is kept on disk and taken from there."""
    return switches.is_on("TIERUP_CACHE") and not faults.compiles_anew()


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


def report(text: str) -> None:
    """Say once that something of the store cannot be used."""
    text = printable(text)  # paths are any bytes, and who prints or sends the text takes UTF-8
    if text in _reported:
        return
    if len(_reported) < _MOST_REPORTS:
        _reported[text] = None
    _log.warning("%s", text)
    if listener is not None:
        listener(text)


def reports() -> tuple[str, ...]:
    """What was reported in this process."""
    return tuple(_reported)


@contextmanager
def _reporting(doing: str) -> Iterator[None]:
    """What is refused, and whatever the system says, is reported and goes no further."""
    try:
        yield
    except Refused as e:
        report(str(e))
    except OSError as e:  # without the file's name where it is one of our own making: it would be another each time
        named = e.filename is not None and not os.fsdecode(e.filename).endswith(_UNFINISHED)
        report(f"{doing}: {e.strerror or e}" + (f": {os.fsdecode(e.filename)}" if named else ""))
    except ValueError as e:  # a path that no system takes
        report(f"{doing}: {e}")


def usable() -> bool:
    """Whether anything may be read or written here; a folder that is not there yet can be made."""
    if enabled():
        with _reporting("compiled code is not kept"):
            _checked(folder())
            return True
    return False


def read(name: str) -> bytes | None:
    """The payload of an entry, None when there is none, or none that may be used."""
    if not enabled():
        return None
    with _reporting(f"the entry {name} cannot be read"):
        place = _checked(folder())
        key = _key(place) if place else None
        if key is None:
            return None
        path = os.path.join(place, name + SUFFIX)
        try:
            data = _content(path, _OTHERS_WRITE, LARGEST_ENTRY)
        except FileNotFoundError:
            return None
        head = len(_MAGIC) + _DIGEST
        payload = data[head:]
        if not data.startswith(_MAGIC) or not hmac.compare_digest(_authentication(key, name, payload), data[len(_MAGIC) : head]):
            raise Refused(f"{path} is damaged, or was not written under this name with this folder's key; it is made anew")
        _touch(path)
        return payload
    return None


def write(name: str, payload: bytes) -> None:
    """Keep a payload under a name. Where that cannot be it is reported, and nothing else happens."""
    if not enabled():
        return
    with _reporting("nothing can be kept for the next process"):
        if len(payload) + len(_MAGIC) + _DIGEST > LARGEST_ENTRY:
            raise Refused(f"the entry {name} is not kept: {len(payload)} bytes are more than {LARGEST_ENTRY}")
        place = _made(folder())
        key = _key(place) or _new_key(place)
        beside = _written(place, _MAGIC + _authentication(key, name, payload) + payload)
        _put(beside, os.path.join(place, name + SUFFIX))  # whole or not at all, also for other processes
        _prune(place)


def size() -> tuple[int, int]:
    """How many entries there are, and their bytes. Raises Refused for a folder that may not be used, OSError."""
    sizes = [about.st_size for path, about in _files(_checked(folder())) if path.endswith(SUFFIX)]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove all entries, and what is unfinished; how many entries there were. Raises as `size` does."""
    removed = 0
    for path, _ in list(_files(_checked(folder()))):
        try:
            os.unlink(path)
        except FileNotFoundError:  # another process clears it, too
            continue
        removed += path.endswith(SUFFIX)
    return removed


def _files(place: str) -> Iterator[tuple[str, os.stat_result]]:
    """The regular files of a folder that are ours by their names; "": there is none. Raises OSError."""
    if not place:
        return
    with os.scandir(place) as found:
        for entry in found:
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # another process removes it
                continue
            if stat.S_ISREG(about.st_mode) and entry.name.endswith((SUFFIX, _UNFINISHED)):
                yield entry.path, about


def _authentication(key: bytes, name: str, payload: bytes) -> bytes:
    return hmac.digest(key, b"%b%d\n%b\n%b" % (_MAGIC, len(name), name.encode(), payload), "sha256")


def _checked(path: str) -> str:
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


def _made(path: str) -> str:
    """The real path of the folder, which is made where it is not there, with access for its owner alone. Raises Refused, OSError."""
    place = _checked(path)
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
    place = _checked(path)
    if not place:
        raise FileNotFoundError(f"{path} was made, and is gone")
    return place


def _content(path: str, forbidden: int, most: int) -> bytes:
    """A file's content. Raises Refused for what is no regular file of this user's, has one of these modes or is too large; OSError."""
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
        parts, left = [], most
        while left and (part := os.read(handle, min(left, found.st_size + 1))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def _written(place: str, data: bytes) -> str:
    """A new file beside the entries, with access for its owner alone. Raises OSError, and leaves nothing then."""
    path = os.path.join(place, os.urandom(8).hex() + _UNFINISHED)
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


def _put(beside: str, path: str) -> None:
    try:
        os.replace(beside, path)
    except BaseException as e:
        os.unlink(beside)
        if isinstance(e, IsADirectoryError):
            raise Refused(f"{path} is a folder, and no entry can be kept in its place: remove it") from e
        raise


def _key(place: str) -> bytes | None:
    """What authenticates the entries of this folder; None when there is none, or none that may be used. Raises OSError."""
    try:
        key = _content(os.path.join(place, KEY), stat.S_IRWXG | stat.S_IRWXO, _KEY_BYTES)
        if len(key) == _KEY_BYTES:
            return key
        report(f"{os.path.join(place, KEY)} is cut short; it is made anew, and so is every entry")
    except FileNotFoundError:
        pass
    except Refused as e:
        report(f"the key of the folder cannot be used, and no entry without it: {e}")
    return None


def _new_key(place: str) -> bytes:
    """Make the folder's key; that of a process which was quicker, where there is one. Raises Refused, OSError."""
    beside, path = _written(place, os.urandom(_KEY_BYTES)), os.path.join(place, KEY)
    try:
        os.link(beside, path)
    except OSError:  # it is there by now, and good or bad; or the file system has no links
        if _key(place) is None:
            os.rename(beside, path)
            beside = ""
    finally:
        if beside:
            os.unlink(beside)
    key = _key(place)
    if key is None:
        raise Refused(f"{path} was made, and cannot be used: compiled code is not kept")
    return key


def _touch(path: str) -> None:
    try:
        os.utime(path, follow_symlinks=False)  # the most recently used stays longest
    except (OSError, NotImplementedError) as e:
        _log.debug("cannot touch %s: %s", path, e)


def _prune(place: str) -> None:
    """Drop the least recently used entries beyond the bound, and what a killed process left unfinished. Raises OSError."""
    entries = []
    for path, about in list(_files(place)):
        too_large = path.endswith(SUFFIX) and about.st_size > LARGEST_ENTRY
        abandoned = path.endswith(_UNFINISHED) and about.st_mtime < time.time() - _ABANDONED_SECONDS
        try:
            if too_large or abandoned:
                os.unlink(path)
            elif path.endswith(SUFFIX):
                entries.append((about.st_mtime, max(about.st_size, _LEAST_BYTES), path))
        except FileNotFoundError:
            continue  # another process prunes too
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= _MOST_BYTES:
            return
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass
        total -= size
