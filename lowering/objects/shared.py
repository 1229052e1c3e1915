"""The cache's second level: what processes of other machines compiled, in a folder or an object store that fsspec reaches.

    TIERUP_CACHE_SHARED=s3://bucket/tierup   TIERUP_CACHE_SHARED_KEY=/home/me/.tierup-key

An entry that the folder of the first level has not is looked for here, and kept there; one that is written there is written here, too.
It is authenticated under its name (HMAC with SHA-256) by what is in the key's file, which every machine has: who can write to the store,
and has not the key, can put nothing here that is run.

One process in all compiles what many ask for at once: it claims the name (`claim`), and others wait for its entry, but never long: a claim
is a wish, and no promise that somebody compiles.

What the store does not answer in `LONGEST` seconds, or answers with an error, is reported, and it is left alone for `_PAUSE`.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import random
import stat
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tierup.lowering.objects.folder import SUFFIX, Refused, content

R = TypeVar("R")
LONGEST = 5.0  # seconds for one file
_PAUSE = 60.0  # seconds after it failed
_LEAST_KEY, _LARGEST_KEY = 16, 4096  # bytes
_CLAIM = ".claim"
_STALE = 120.0  # seconds after which whoever claimed a name is taken to be gone
_MOST_WAIT = 30.0  # seconds for an entry that somebody else is about to write
_FIRST_LOOK, _LAST_LOOK = 0.05, 2.0  # seconds between two looks for it, each time twice as many
_DIGEST = 32
_paused_until = 0.0


def place() -> str:
    """Its URL; "" where there is none."""
    return os.environ.get("TIERUP_CACHE_SHARED", "")


def read(name: str) -> bytes | None:
    """An entry, None where there is none. Raises Refused, OSError."""
    if not place() or time.monotonic() < _paused_until:
        return None
    key = _key()
    try:
        data: bytes = _answered(lambda files, at: files.cat_file(f"{at}/{name}{SUFFIX}"))
    except FileNotFoundError:
        return None
    sealed = data[_DIGEST:]
    if not hmac.compare_digest(_authentication(key, name, sealed), data[:_DIGEST]):
        raise Refused(f"{name} of {place()} is damaged, or was written with another key; it is made anew")
    return sealed


def write(name: str, sealed: bytes) -> None:
    """Keep an entry there. Raises Refused, OSError."""
    if place() and time.monotonic() >= _paused_until:
        data = _authentication(_key(), name, sealed) + sealed
        _answered(lambda files, at: _put(files, at, f"{name}{SUFFIX}", data))


def claim(name: str, there: Callable[[], bool]) -> bool:
    """Whether this process alone is to make an entry. Where another has begun to, wait until it is `there`, or that one has had its time.
    Raises Refused, OSError."""
    until, look = time.monotonic() + _MOST_WAIT, _FIRST_LOOK
    while place() and time.monotonic() >= _paused_until:
        if _answered(lambda files, at: _claim(files, f"{at}/{name}{_CLAIM}")):
            return True
        time.sleep(look * random.uniform(0.5, 1.0))  # many who wait do not look all at once
        look = min(2 * look, _LAST_LOOK)
        if there() or time.monotonic() > until:
            break
    return False


def let_go(name: str) -> None:
    """The entry is made, or will not be. Raises OSError."""
    _answered(lambda files, at: files.rm_file(f"{at}/{name}{_CLAIM}"))


def _claim(files: Any, path: str) -> bool:
    """Whether a name is this process's to make now."""
    try:
        files.makedirs(path.rpartition("/")[0], exist_ok=True)
        files.pipe_file(path, str(time.time()).encode(), mode="create")
        return True
    except FileExistsError:
        pass
    try:
        if time.time() - float(files.cat_file(path) or time.time()) < _STALE:
            return False
    except FileNotFoundError:  # it is free again
        return False
    except ValueError:  # what nobody of us wrote
        pass
    files.pipe_file(path, str(time.time()).encode())
    return True


def _put(files: Any, at: str, name: str, data: bytes) -> None:
    if not getattr(files, "local_file", False):  # an object appears whole
        files.pipe_file(f"{at}/{name}", data)
        return
    beside = f"{at}/{name}.{os.urandom(8).hex()}"
    files.makedirs(at, exist_ok=True)
    files.pipe_file(beside, data)
    os.replace(beside, f"{at}/{name}")


def _answered(ask: Callable[[Any, str], R]) -> R:
    """What the store gives, within `LONGEST`. Raises FileNotFoundError, and OSError for all else that it raises: then it is left alone."""
    global _paused_until
    found: list[R] = []
    failed: list[Exception] = []

    def work() -> None:
        try:
            import fsspec  # here: few programs have a second level

            found.append(ask(*fsspec.core.url_to_fs(place())))
        except Exception as e:  # noqa: BLE001 - each store has exceptions of its own
            failed.append(e)

    thread = threading.Thread(target=work, name="tierup-shared-cache", daemon=True)  # it may hang
    thread.start()
    thread.join(LONGEST)
    if found:
        return found[0]
    if failed and isinstance(failed[0], FileNotFoundError):
        raise failed[0]
    _paused_until = time.monotonic() + _PAUSE
    said = f"{type(failed[0]).__name__}: {failed[0]}" if failed else f"no answer in {LONGEST:g} s"
    raise OSError(f"{place()}, where entries of all machines are: {said}; it is left alone for {_PAUSE:g} s")


def _key() -> bytes:
    path = os.environ.get("TIERUP_CACHE_SHARED_KEY", "")
    if not path:
        raise Refused(f"{place()} is not used: TIERUP_CACHE_SHARED_KEY names no file with the key of its entries")
    try:
        key = content(path, stat.S_IRWXG | stat.S_IRWXO, _LARGEST_KEY)
    except FileNotFoundError as e:
        raise Refused(f"{place()} is not used: there is no {path}, which TIERUP_CACHE_SHARED_KEY names") from e
    if len(key) < _LEAST_KEY:
        raise Refused(f"{place()} is not used: the key in {path} has {len(key)} bytes, and {_LEAST_KEY} are the least")
    return key


def _authentication(key: bytes, name: str, sealed: bytes) -> bytes:
    return hmac.digest(hashlib.sha256(key).digest(), b"tierup shared 1\n%d\n%b\n%b" % (len(name), name.encode(), sealed), "sha256")
