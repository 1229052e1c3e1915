"""The functions of a relocatable ELF object: names, places, sizes. Only what profilers are told is read.

Layout: System V ABI, "Object Files" (https://gabi.xinuos.com): the 64-bit little-endian form, which is what LLVM emits for x86-64
and AArch64 Linux.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tierup.dialect.records import dataclass

_SHT_SYMTAB, _STT_FUNC = 2, 2
_SECTION, _SYMBOL = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ")


@dataclass(frozen=True)
class Function:
    """A function's place in its section, and its bytes."""

    name: str
    section: int
    offset: int
    size: int


def functions(image: bytes) -> list[Function]:
    """The functions that an object defines, in the order of its symbol table. Raises ValueError for what is no such object."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF object")
    try:
        return list(_functions(image))
    except (struct.error, IndexError) as e:
        raise ValueError(f"a damaged ELF object: {e}") from e


def _functions(image: bytes) -> Iterator[Function]:
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry, count = struct.unpack_from("<HH", image, 0x3A)
    sections = [_SECTION.unpack_from(image, table + i * entry) for i in range(count)]
    for _, kind, _, _, offset, size, link, _, _, each in sections:
        if kind != _SHT_SYMTAB:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, each):
            name, info, _, section, value, length = _SYMBOL.unpack_from(image, at)
            if info & 15 == _STT_FUNC and 0 < section < len(sections):
                start = names + name
                yield Function(image[start : image.index(b"\0", start)].decode(), section, value, length)
