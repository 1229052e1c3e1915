"""The number that a linker makes of a library's content and puts into it: what two copies have in common, and two builds have not.

Layout: System V ABI, "Object Files" (https://gabi.xinuos.com), the 64-bit little-endian form; notes: `readelf --notes`.
"""

from __future__ import annotations

import struct
from typing import BinaryIO

_MAGIC = b"\x7fELF\x02\x01"
_SEGMENT, _NOTE = struct.Struct("<IIQQQQQQ"), struct.Struct("<III")
_PT_NOTE, _NT_GNU_BUILD_ID, _MOST_NOTES = 4, 3, 1 << 16


def build_id(file: BinaryIO) -> str:
    """In hexadecimal digits; "" for a file without one."""
    try:
        head = file.read(64)
        if head[:6] != _MAGIC:
            return ""
        (table,) = struct.unpack_from("<Q", head, 0x20)
        for i in range(struct.unpack_from("<H", head, 0x38)[0]):
            file.seek(table + i * _SEGMENT.size)
            kind, _, offset, _, _, size, _, _ = _SEGMENT.unpack(file.read(_SEGMENT.size))
            if kind == _PT_NOTE and size <= _MOST_NOTES:
                file.seek(offset)
                if found := _in_notes(file.read(size)):
                    return found
    except (struct.error, ValueError, OverflowError):
        pass  # cut short, or nothing that a linker wrote
    finally:
        file.seek(0)
    return ""


def _in_notes(notes: bytes) -> str:
    at = 0
    while at + _NOTE.size <= len(notes):
        name, length, kind = _NOTE.unpack_from(notes, at)
        at += _NOTE.size
        behind = at + (name + 3) // 4 * 4
        if kind == _NT_GNU_BUILD_ID and notes[at : at + name] == b"GNU\0":
            return notes[behind : behind + length].hex()
        at = behind + (length + 3) // 4 * 4
    return ""
