"""Compiled code on disk: the same request on the same machine is compiled once, and so is the dispatcher of calls.

An entry's name is the SHA-256 of all that it depends on: the request, the versions of the compilers, tierup's own sources, and
the CPU. Its file is a header and a payload (for a request a pickled `Artifact`); the header holds the payload's SHA-256, so that a
torn or damaged file is seen, reported to the logger "tierup.cache", and compiled anew. Files are written beside their place and
renamed into it, so any number of processes may read and write at once: each sees a whole entry or none.

`TIERUP_CACHE_DIR` names the folder, else it is the platform's for the user; `TIERUP_CACHE=0` turns the cache off. The folder
holds code that will be run: it is made with access for its owner alone.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tierup.lowering import faults
from tierup.lowering.abi import Artifact, Request

_log = logging.getLogger("tierup.cache")
_MAGIC = b"tierup artifact 1\n"
_DIGEST = hashlib.sha256().digest_size
_MOST_BYTES = 256 << 20  # beyond it the least recently used entries go
_SUFFIX, _UNFINISHED = ".artifact", ".new"
_ABANDONED_SECONDS = 3600


def enabled() -> bool:
    return os.environ.get("TIERUP_CACHE", "1") != "0" and not faults.compiles_anew()


def folder() -> Path:
    """Where entries are kept. Nothing is made."""
    chosen = os.environ.get("TIERUP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "tierup"


@cache
def environment() -> str:
    """What artifacts depend on beside their request: compilers, tierup's sources, the CPU."""
    from tierup.lowering.llvm import host  # loads LLVM, which running an artifact needs anyway

    root = Path(__file__).resolve().parents[2]
    return "\n".join((*map(_installed, ("torch_mlir", "llvmlite")), *stamps(root / "dialect"), *stamps(root / "lowering"), host()))


def _installed(package: str) -> str:
    """Which build of a package this is, by its folder and libraries: asking for its version costs 20 ms, importing MLIR 40."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return f"no {package}"
    found = [] if spec.origin is None else [spec.origin]  # torch_mlir has no __init__.py
    for folder_ in spec.submodule_search_locations:
        for path, _, names in os.walk(folder_):
            found += [os.path.join(path, name) for name in names if name.endswith((".so", ".pyd", ".dll", ".dylib"))]
    return " ".join(f"{path} {(stat := os.stat(path)).st_size} {stat.st_mtime_ns}" for path in sorted(found))


def stamps(folder_: Path, prefix: str = "") -> list[str]:
    """Name, size and time of every Python file below a folder whose name starts with `prefix`, sorted."""
    found = []
    for path, below, names in os.walk(folder_):
        if "__pycache__" in below:
            below.remove("__pycache__")
        for name in names:
            if name.endswith(".py") and name.startswith(prefix):
                stat = os.stat(os.path.join(path, name))
                found.append(f"{os.path.relpath(path, folder_)}/{name} {stat.st_size} {stat.st_mtime_ns}")
    return sorted(found)


def name_of(*parts: str) -> str:
    """The name of the entry that depends on these texts, and on nothing else."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def key(request: Request) -> str:
    """The name of a request's entry."""
    return name_of(environment(), repr(request))


def read(name: str) -> bytes | None:
    """The payload of an entry, None when there is none, or none that is whole."""
    if not enabled():
        return None
    path = folder() / (name + _SUFFIX)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as e:
        _log.warning("cannot read %s: %s", path, e)
        return None
    payload = data[len(_MAGIC) + _DIGEST :]
    if not data.startswith(_MAGIC) or hashlib.sha256(payload).digest() != data[len(_MAGIC) : len(_MAGIC) + _DIGEST]:
        _log.warning("%s is damaged; it is compiled anew", path)
        return None
    _touch(path)
    return payload


def write(name: str, payload: bytes) -> None:
    """Keep a payload. A folder that cannot be written is reported, and nothing else happens."""
    if not enabled():
        return
    path = folder() / (name + _SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, beside = tempfile.mkstemp(dir=path.parent, suffix=_UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(beside, path)  # whole or not at all, also for other processes
        except BaseException:
            os.unlink(beside)
            raise
        _prune(path.parent)
    except OSError as e:
        _log.warning("cannot write %s: %s", path, e)


def get(request: Request) -> Artifact | None:
    """The artifact of an equal request, None when there is none, or none that is whole."""
    if not enabled():
        return None
    name = key(request)
    payload = read(name)
    if payload is None:
        return None
    try:
        artifact = pickle.loads(payload)
    except Exception as e:  # noqa: BLE001 - whatever an old or foreign pickle raises
        _log.warning("%s cannot be read: %r; it is compiled anew", name, e)
        return None
    if not isinstance(artifact, Artifact):
        _log.warning("%s holds no artifact; it is compiled anew", name)
        return None
    return artifact


def put(request: Request, artifact: Artifact) -> None:
    """Keep an artifact. A folder that cannot be written is reported, and nothing else happens."""
    if enabled():
        write(key(request), pickle.dumps(artifact, protocol=5))


def obtain(request: Request, keep: Callable[[str, str], None] | None = None) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does.

    `keep` is given the texts of the stages, see there; code from disk has none.
    """
    kept = get(request)
    if kept is not None:
        return kept, True
    from tierup.lowering.compile import compile  # here: loads MLIR

    artifact = compile(request, keep=keep)
    put(request, artifact)
    return artifact, False


def _touch(path: Path) -> None:
    try:
        os.utime(path)  # the most recently used stays longest
    except OSError as e:
        _log.debug("cannot touch %s: %s", path, e)


def _prune(directory: Path) -> None:
    """Drop the least recently used entries beyond the bound, and what a killed process left unfinished."""
    entries = []
    for path in directory.iterdir():
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue  # another process prunes too
        if path.suffix == _SUFFIX:
            entries.append((stat.st_mtime, stat.st_size, path))
        elif path.suffix == _UNFINISHED and stat.st_mtime < time.time() - _ABANDONED_SECONDS:
            path.unlink(missing_ok=True)
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= _MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
