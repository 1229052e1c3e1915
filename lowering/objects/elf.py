"""The functions of a relocatable ELF object: names, places, sizes. Only what profilers and debuggers are told is read.

Layout: System V ABI, "Object Files" (https://gabi.xinuos.com): the 64-bit little-endian form, which is what LLVM emits for x86-64
and AArch64 Linux.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tierup.dialect.records import dataclass

_SHT_SYMTAB, _STT_FUNC = 2, 2
_OFFSET = 24  # of that field in a section's header; the size follows
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
    return [found for found, _, _ in _read(image)]


def renamed(image: bytes, symbol: str, name: str) -> bytes:
    """The object with its function `symbol` under another name. Raises ValueError for what is no such object, or has no such function."""
    place = next(((at, strings) for found, at, strings in _read(image) if found.name == symbol), None)
    if place is None:
        raise ValueError(f"the object has no function {symbol!r}")
    made, added = bytearray(image), name.encode() + b"\0"
    table, each, _ = _table_of_sections(image)
    # the names, with one more behind them, move to the end: nothing else of the object moves
    header = table + place[1] * each
    offset, size = struct.unpack_from("<QQ", image, header + _OFFSET)
    struct.pack_into("<QQ", made, header + _OFFSET, len(image), size + len(added))
    struct.pack_into("<I", made, place[0], size)
    return bytes(made) + image[offset : offset + size] + added


def _read(image: bytes) -> list[tuple[Function, int, int]]:
    """Functions, each with where its symbol stands, and the number of the section that has its name."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise ValueError("not a 64-bit little-endian ELF object")
    try:
        return list(_symbols(image))
    except (struct.error, IndexError) as e:
        raise ValueError(f"a damaged ELF object: {e}") from e


def _table_of_sections(image: bytes) -> tuple[int, int, int]:
    """(where it stands, the size of a header, how many there are)."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    return (table, *struct.unpack_from("<HH", image, 0x3A))


def _symbols(image: bytes) -> Iterator[tuple[Function, int, int]]:
    table, entry, count = _table_of_sections(image)
    sections = [_SECTION.unpack_from(image, table + i * entry) for i in range(count)]
    for _, kind, _, _, offset, size, link, _, _, each in sections:
        if kind != _SHT_SYMTAB:
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, each):
            name, info, _, section, value, length = _SYMBOL.unpack_from(image, at)
            if info & 15 == _STT_FUNC and 0 < section < len(sections):
                start = names + name
                yield Function(image[start : image.index(b"\0", start)].decode(), section, value, length), at, link
