"""Files that one process keeps for the next, each under a name.

    store.write(name, payload, description)
    store.read(name)               the payload; None when there is none, or none that may be used

What is kept here is run, so nothing is taken that somebody else may have put there: `folder.py` says whose the folder and its files must
be. **The key**, 32 random bytes in a file of the folder that its owner alone can read, authenticates each entry under its name (HMAC with
SHA-256): an entry that was changed, cut short, renamed or brought from another folder is not one. Who may use a name is who computed it
(`keys.py`): it is made of the program, the options, the compilers and the machine. An entry's description is for people (`entries.py`).

What cannot be used is reported to the logger "tierup.cache" and to `listener`, once, and is as if it were not there; so is a folder that
cannot be read or written, for whatever reason. `read` and `write` raise nothing. Files are written beside their place and renamed into
it, so any number of processes may read and write at once: each sees a whole entry or none. Beyond a bound in bytes
(`TIERUP_CACHE_SIZE`) what was used least recently goes. `TIERUP_CACHE=0` turns all of it off.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import hmac
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tierup.dialect.base import switches
from tierup.dialect.base.spelling import printable
from tierup.lowering.base import faults
from tierup.lowering.objects import locks, shared
from tierup.lowering.objects.folder import OTHERS_WRITE, SUFFIX, UNFINISHED, Refused, checked, content, files, folder, made, put, written

KEY = "key"
_ABANDONED_SECONDS = 3600
_MAGIC = b"tierup entry 3\n"
_DIGEST = 32
_LENGTH = 4  # of the number that says how long the description is
_HEAD = len(_MAGIC) + _DIGEST + _LENGTH
_KEY_BYTES = 32
LARGEST_ENTRY = 64 << 20
LARGEST_DESCRIPTION = 1 << 16
_MOST_MIB = 256  # beyond it the least recently used entries go, where TIERUP_CACHE_SIZE gives no other number
_LEAST_BYTES = 1 << 12  # that a file takes, however short it is
_unseen: dict[str, int] = {}  # bytes that this process has written to a folder since it looked at all entries there

_log = logging.getLogger("tierup.cache")
_reported: dict[str, None] = {}
_MOST_REPORTS = 1000  # that are remembered, so as to be made once
listener: Callable[[str], object] | None = None  # is told what is reported


def enabled() -> bool:
    """Whether compiled code is kept on disk and taken from there."""
    return switches.is_on("TIERUP_CACHE") and not faults.compiles_anew()


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
def reporting(doing: str) -> Iterator[None]:
    """What is refused, and whatever the system says, is reported and goes no further."""
    try:
        yield
    except Refused as e:
        report(str(e))
    except OSError as e:  # without the file's name where it is one of our own making: it would be another each time
        named = e.filename is not None and not os.fsdecode(e.filename).endswith(UNFINISHED)
        report(f"{doing}: {e.strerror or e}" + (f": {os.fsdecode(e.filename)}" if named else ""))
    except ValueError as e:  # a path that no system takes
        report(f"{doing}: {e}")


def usable() -> bool:
    """Whether anything may be read or written here; a folder that is not there yet can be made."""
    if enabled():
        with reporting("compiled code is not kept"):
            checked(folder())
            return True
    return False


def read(name: str, *, everywhere: bool = False) -> bytes | None:
    """The payload of an entry, None when there is none, or none that may be used. `everywhere`: also one that processes of other machines
    wrote (`shared.py`)."""
    if not enabled():
        return None
    with reporting(f"the entry {name} cannot be read"):
        place = checked(folder())
        key = key_of(place) if place else None
        try:
            if key is not None:
                payload = opened(place, key, name)
                _touch(os.path.join(place, name + SUFFIX))
                return payload
        except FileNotFoundError:
            pass
    return _fetched(name) if everywhere and shared.place() else None


def _fetched(name: str) -> bytes | None:
    """The payload of an entry of the second level, which from now on is one of the first. One process of a machine asks at a time; those
    that waited for it take its answer."""
    with reporting(f"the entry {name} cannot be fetched"):
        lock, waited = locks.taken(name, shared.LONGEST)
        try:
            if waited:
                return read(name)
            sealed = shared.read(name)
            if sealed is not None:
                _keep(name, sealed)
                return _payload(sealed)
        finally:
            locks.let_go(lock, name)
    return None


def opened(place: str, key: bytes, name: str) -> bytes:
    """The payload of an entry in a folder with this key. Raises Refused for one that may not be used, FileNotFoundError, OSError."""
    path = os.path.join(place, name + SUFFIX)
    data = content(path, OTHERS_WRITE, LARGEST_ENTRY)
    sealed = data[len(_MAGIC) + _DIGEST :]
    digest = data[len(_MAGIC) : len(_MAGIC) + _DIGEST]
    if not data.startswith(_MAGIC) or not hmac.compare_digest(_authentication(key, name, sealed), digest):
        raise Refused(f"{path} is damaged, or was not written under this name with this folder's key; it is made anew")
    return _payload(sealed)


def _payload(sealed: bytes) -> bytes:
    return sealed[_LENGTH + int.from_bytes(sealed[:_LENGTH], "little") :]


def description(path: str) -> bytes:
    """What an entry's file says of it to people; empty where it says nothing that could be read. It is not authenticated: to be shown, and
    for nothing else. Raises Refused, OSError."""
    head = content(path, OTHERS_WRITE, LARGEST_ENTRY, first=_HEAD + LARGEST_DESCRIPTION)
    length = int.from_bytes(head[_HEAD - _LENGTH : _HEAD], "little")
    return head[_HEAD : _HEAD + length] if head.startswith(_MAGIC) and length <= LARGEST_DESCRIPTION else b""


def write(name: str, payload: bytes, description: bytes = b"", *, everywhere: bool = False) -> None:
    """Keep a payload under a name. Where that cannot be it is reported, and nothing else happens. `description`: what people are told of
    it, see `entries.py`; one that is too long is left out. `everywhere`: also for processes of other machines."""
    if not enabled():
        return
    with reporting("nothing can be kept for the next process"):
        if _HEAD + len(description) + len(payload) > LARGEST_ENTRY:
            raise Refused(f"the entry {name} is not kept: {len(payload)} bytes are more than {LARGEST_ENTRY}")
        if len(description) > LARGEST_DESCRIPTION:
            description = b""
        sealed = len(description).to_bytes(_LENGTH, "little") + description + payload
        try:
            _keep(name, sealed)
        finally:
            if everywhere:
                shared.write(name, sealed)


def _keep(name: str, sealed: bytes) -> None:
    """Write an entry to the folder. Raises Refused, OSError."""
    place = made(folder())
    key = key_of(place) or _new_key(place)
    beside = written(place, _MAGIC + _authentication(key, name, sealed) + sealed)
    put(beside, os.path.join(place, name + SUFFIX))  # whole or not at all, also for other processes
    _keep_within_bound(place, len(sealed))


def _keep_within_bound(place: str, written: int) -> None:
    """A look at all entries costs a stat of each: it comes with the first that a process writes, then with every hundredth of the bound."""
    most = bound()
    _unseen[place] = _unseen.get(place, most) + _room(written)
    if _unseen[place] * 100 >= most:
        _unseen[place] = 0
        prune(place, most)


def bound() -> int:
    """How many bytes entries may take together; beyond it the least recently used go."""
    return int(switches.number("TIERUP_CACHE_SIZE", _MOST_MIB) * 2**20)


def _authentication(key: bytes, name: str, sealed: bytes) -> bytes:
    return hmac.digest(key, b"%b%d\n%b\n%b" % (_MAGIC, len(name), name.encode(), sealed), "sha256")


def key_of(place: str) -> bytes | None:
    """What authenticates the entries of this folder; None when there is none, or none that may be used. Raises OSError."""
    try:
        key = content(os.path.join(place, KEY), stat.S_IRWXG | stat.S_IRWXO, _KEY_BYTES)
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
    beside, path = written(place, os.urandom(_KEY_BYTES)), os.path.join(place, KEY)
    try:
        os.link(beside, path)
    except OSError:  # it is there by now, and good or bad; or the file system has no links
        if key_of(place) is None:
            os.rename(beside, path)
            beside = ""
    finally:
        if beside:
            os.unlink(beside)
    key = key_of(place)
    if key is None:
        raise Refused(f"{path} was made, and cannot be used: compiled code is not kept")
    return key


def _touch(path: str) -> None:
    try:
        os.utime(path, follow_symlinks=False)  # the most recently used stays longest
    except (OSError, NotImplementedError) as e:
        _log.debug("cannot touch %s: %s", path, e)


def prune(place: str, most: int, used_since: float = 0.0) -> tuple[int, int]:
    """Drop entries that were last used before a time, then the least recently used beyond `most` bytes in all, and what a killed process
    left unfinished. (How many entries went, and their bytes.) Raises OSError."""
    entries, went = [], []
    for path, about in list(files(place)):
        is_entry = path.endswith(SUFFIX)
        too_large = is_entry and about.st_size > LARGEST_ENTRY
        abandoned = not is_entry and about.st_mtime < time.time() - _ABANDONED_SECONDS
        if too_large or abandoned or (is_entry and about.st_mtime < used_since):
            if remove(path) and is_entry:
                went.append(about.st_size)
        elif is_entry:
            entries.append((about.st_mtime_ns, about.st_size, path))
    total = sum(_room(size) for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            break
        total -= _room(size)
        if remove(path):
            went.append(size)
    return len(went), sum(went)


def _room(size: int) -> int:
    return max(size, _LEAST_BYTES)


def remove(path: str) -> bool:
    """Remove a file; whether this process did: another may prune too. Raises OSError."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
