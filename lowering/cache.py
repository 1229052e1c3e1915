"""Compiled artifacts on disk: the same request on the same machine is compiled once.

An entry's name is the SHA-256 of all that it depends on: the request, the versions of the compilers, tierup's own sources, and
the CPU. Its file is a header and a pickled `Artifact`; the header holds the payload's SHA-256, so that a torn or damaged file is
seen, reported to the logger "tierup.cache", and compiled anew. Files are written beside their place and renamed into it.

`TIERUP_CACHE_DIR` names the folder, else it is the platform's for the user; `TIERUP_CACHE=0` turns the cache off. The folder
holds code that will be run: it is made with access for its owner alone.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tierup.lowering.abi import Artifact, Request

_log = logging.getLogger("tierup.cache")
_MAGIC = b"tierup artifact 1\n"
_DIGEST = hashlib.sha256().digest_size
_MOST_BYTES = 256 << 20  # beyond it the least recently used entries go
_SUFFIX = ".artifact"


def enabled() -> bool:
    return os.environ.get("TIERUP_CACHE", "1") != "0"


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

    versions = []
    for package in ("torch-mlir", "llvmlite"):
        try:
            versions.append(f"{package}=={version(package)}")
        except PackageNotFoundError:
            versions.append(package)
    root = Path(__file__).resolve().parent.parent
    sources = sorted(p for part in ("dialect", "lowering") for p in (root / part).rglob("*.py"))
    stamps = "\n".join(f"{p.relative_to(root)} {(s := p.stat()).st_size} {s.st_mtime_ns}" for p in sources)
    return "\n".join([*versions, stamps, host()])


def key(request: Request) -> str:
    """The name of a request's entry."""
    return hashlib.sha256(f"{environment()}\0{request!r}".encode()).hexdigest()


def get(request: Request) -> Artifact | None:
    """The artifact of an equal request, None when there is none, or none that is whole."""
    if not enabled():
        return None
    path = folder() / (key(request) + _SUFFIX)
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
    try:
        artifact = pickle.loads(payload)
    except Exception as e:  # noqa: BLE001 - whatever an old or foreign pickle raises
        _log.warning("%s cannot be read: %r; it is compiled anew", path, e)
        return None
    if not isinstance(artifact, Artifact):
        _log.warning("%s holds no artifact; it is compiled anew", path)
        return None
    _touch(path)
    return artifact


def put(request: Request, artifact: Artifact) -> None:
    """Keep an artifact. A folder that cannot be written is reported, and nothing else happens."""
    if not enabled():
        return
    payload = pickle.dumps(artifact, protocol=5)
    path = folder() / (key(request) + _SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, beside = tempfile.mkstemp(dir=path.parent, suffix=".new")
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


def obtain(request: Request) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does."""
    kept = get(request)
    if kept is not None:
        return kept, True
    from tierup.lowering.compile import compile  # here: loads MLIR

    artifact = compile(request)
    put(request, artifact)
    return artifact, False


def _touch(path: Path) -> None:
    try:
        os.utime(path)  # the most recently used stays longest
    except OSError as e:
        _log.debug("cannot touch %s: %s", path, e)


def _prune(directory: Path) -> None:
    """Drop the least recently used entries beyond the bound."""
    entries = []
    for path in directory.iterdir():
        if path.suffix == _SUFFIX:
            stat = path.stat()
            entries.append((stat.st_mtime, stat.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= _MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
