"""Files of compiled programs, as docs/bundles.md describes them: a head with a checksum, a description in JSON, and data.

    write(path, {"kind": "cpu", ...}, parts, key)
    read(path, key)      Bundle(path, description, data)

What stands in a description is for its kind to say. Reading runs nothing and unpickles nothing: a file gives plain data or BundleError.
Free of MLIR and LLVM.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tierup.dialect.base.records import dataclass

MAGIC = b"\x93TIERUP\n"
VERSION = 1
_HEAD = struct.Struct("<8sII32s")  # magic, version, whether it is signed, digest of what follows
_LENGTH = struct.Struct("<Q")  # of the description
_SIGNATURE = 32


class BundleError(ValueError):
    """A file that is no bundle, or a damaged one, or one that this version of tierup cannot read. The message names the file."""


@dataclass(frozen=True)
class Bundle:
    """What a file holds. `data`: where the description's places are."""

    path: str
    description: dict[str, Any]
    data: memoryview

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever a description that tierup did not write does to who reads it leaves as BundleError."""
        try:
            yield
        except BundleError:
            raise
        except Exception as e:  # noqa: BLE001 - as above
            raise BundleError(f"{self.path} is no bundle that tierup wrote: {type(e).__name__}: {e}") from e


def write(path: str | os.PathLike[str], description: dict[str, Any], parts: Sequence[bytes], key: bytes | None = None) -> None:
    """Write a bundle, whole or not at all. `parts`: its data, one after the other; `key`: what signs it. Raises OSError, and TypeError or
    ValueError for what is no key."""
    import tempfile  # here: who reads needs none of it, and its imports take longer than the reading

    text = json.dumps(description, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()
    body = b"".join((_LENGTH.pack(len(text)), text, *parts))
    head = _HEAD.pack(MAGIC, VERSION, key is not None, hashlib.sha256(body).digest())
    signature = b"" if key is None else _signature(key, head)
    path = Path(path)
    try:
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    except OSError as e:
        raise OSError(e.errno, e.strerror, str(path)) from None  # by the name that the user knows
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(head + body + signature)
        os.chmod(beside, 0o644)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise


def read(path: str | os.PathLike[str], key: bytes | None = None) -> Bundle:
    """What a bundle holds. Raises BundleError for a file that is none, is damaged or cut short, is too new, or, where there is a key, was
    not signed with it; OSError; TypeError or ValueError for what is no key."""
    data = memoryview(Path(path).read_bytes())
    if data[: len(MAGIC)] != MAGIC:
        raise BundleError(f"{path} is no bundle of tierup's: it does not begin as one; f.save and tierup-compile make them")
    if len(data) < _HEAD.size + _LENGTH.size:
        raise BundleError(f"{path} is cut short: {len(data)} bytes are less than a bundle's head")
    _, version, signed, digest = _HEAD.unpack_from(data)
    if version > VERSION:
        raise BundleError(f"{path} has version {version} of the format, and this tierup knows {VERSION} and before: it needs a newer one")
    head, body = bytes(data[: _HEAD.size]), data[_HEAD.size : len(data) - _SIGNATURE * (signed == 1)]
    if version < 1 or signed > 1 or hashlib.sha256(body).digest() != digest:
        raise BundleError(f"{path} is damaged or cut short: its checksum does not match; copy it again, or make it again")
    if key is not None and not (hmac.compare_digest(_signature(key, head), data[len(data) - _SIGNATURE :]) and signed):
        raise BundleError(f"{path} is {'signed with another key' if signed else 'not signed'}: it is not what the owner of this key wrote")
    (length,) = _LENGTH.unpack_from(body)
    made = Bundle(str(path), {}, body[_LENGTH.size + length :])
    with made.reading():
        description = json.loads(bytes(body[_LENGTH.size : _LENGTH.size + length]).decode())
        if not isinstance(description["kind"], str):
            raise TypeError("its kind is no text")
    return Bundle(made.path, description, made.data)


def _signature(key: bytes, head: bytes) -> bytes:
    """Of a file with this head, which has the digest of all that follows."""
    if not isinstance(key, bytes):
        raise TypeError(f"a key is bytes, not {type(key).__name__}")
    if not key:
        raise ValueError("an empty key signs nothing")
    return hmac.digest(key, head, "sha256")
