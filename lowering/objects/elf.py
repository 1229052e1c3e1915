"""Relocatable ELF objects: sections, symbols, functions, relocations, as LLVM emits them.

Layout: System V ABI, "Object Files" (https://gabi.xinuos.com): the 64-bit little-endian form, that of x86-64 and AArch64 Linux.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tierup.dialect.base.records import cached_property, dataclass

X86_64 = 62  # e_machine
SYMTAB, RELA, NOBITS = 2, 4, 8  # sh_type
WRITE, ALLOC, EXECUTE = 1, 2, 4  # sh_flags
_FUNCTION, _GLOBAL = 2, 1  # a symbol's type and binding
_ADDRESS, _OFFSET = 16, 24  # of these fields in a section's header; the size follows the latter
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = np.dtype([("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")])
_RELOCATION = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])


class Section(NamedTuple):
    """A section's header."""

    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


@dataclass(frozen=True)
class Function:
    """A function's place in its section, and its bytes."""

    name: str
    section: int
    offset: int
    size: int


class Object:
    """An object's parts. Raises ValueError, here or where a part is read, for what is no such object."""

    def __init__(self, image: bytes | mmap.mmap) -> None:
        if image[:6] != b"\x7fELF\x02\x01":
            raise ValueError("not a 64-bit little-endian ELF object")
        self.image = image
        try:
            (self.machine,) = struct.unpack_from("<H", image, 0x12)
            (self._table,) = struct.unpack_from("<Q", image, 0x28)
            self._each, count = struct.unpack_from("<HH", image, 0x3A)
            self.sections = [Section._make(_SECTION.unpack_from(image, self._table + i * self._each)) for i in range(count)]
        except struct.error as e:
            raise ValueError(f"a damaged ELF object: {e}") from e
        if any(s.kind != NOBITS and s.offset + s.size > len(image) for s in self.sections):
            raise ValueError("a damaged ELF object: a section lies beyond its end")

    @cached_property
    def _symbol_table(self) -> Section:
        found = [s for s in self.sections if s.kind == SYMTAB]
        if len(found) != 1 or found[0].link >= len(self.sections):
            raise ValueError("a damaged ELF object: no table of symbols")
        return found[0]

    @cached_property
    def symbols(self) -> np.ndarray[Any, np.dtype[Any]]:
        """Name (see `name`), info, section, value and size of each symbol."""
        table = self._symbol_table
        return np.frombuffer(self.image, _SYMBOL, table.size // _SYMBOL.itemsize, table.offset)

    @cached_property
    def defined(self) -> dict[str, int]:
        """The symbols that others may ask for: name and number."""
        symbols = self.symbols
        at = np.flatnonzero((symbols["info"] >> 4 == _GLOBAL) & (symbols["section"] > 0) & (symbols["section"] < len(self.sections)))
        return {self.name(name): number for number, name in zip(at.tolist(), symbols["name"][at].tolist(), strict=True)}

    def find(self, name: str) -> int:
        """The value of the symbol of that name, for objects with very many. Raises KeyError."""
        names = self.sections[self._symbol_table.link]
        begin = self.image.find(b"\0" + name.encode() + b"\0", names.offset, names.offset + names.size) + 1
        if not begin or not len(found := np.flatnonzero(self.symbols["name"] == begin - names.offset)):
            raise KeyError(name)
        return int(self.symbols["value"][found[0]])

    def name(self, start: int) -> str:
        """The name that a symbol has, by its field `name`."""
        names = self.sections[self._symbol_table.link]
        begin = names.offset + start
        end = self.image.find(b"\0", begin, names.offset + names.size)
        if end < 0:
            raise ValueError("a damaged ELF object: a name without an end")
        return self.image[begin:end].decode()

    @cached_property
    def relocations(self) -> list[tuple[int, np.ndarray[Any, np.dtype[Any]]]]:
        """Of the sections that are in memory when the object is loaded: their numbers, with offset, kind, symbol and addend of each."""
        loaded = {number for number, s in enumerate(self.sections) if s.flags & ALLOC and s.size}
        tables = [s for s in self.sections if s.kind == RELA and s.info in loaded]
        found = [(s.info, np.frombuffer(self.image, _RELOCATION, s.size // _RELOCATION.itemsize, s.offset)) for s in tables]
        if any(len(some) and some["symbol"].max() >= len(self.symbols) for _, some in found):
            raise ValueError("a damaged ELF object: a relocation to no symbol")
        return found

    def functions(self) -> list[Function]:
        """The functions that it defines, in the order of its symbols."""
        symbols = self.symbols
        defined = (symbols["info"] & 15 == _FUNCTION) & (symbols["section"] > 0) & (symbols["section"] < len(self.sections))
        of_functions = symbols[defined][["name", "section", "value", "size"]].tolist()
        return [Function(self.name(name), section, value, size) for name, section, value, size in of_functions]

    def shown(self, names: Mapping[str, str], places: Mapping[int, int]) -> bytes:
        """The object as debuggers are told of it: its functions under the names that `names` gives them, and the addresses, by number,
        at which its sections lie."""
        made, added = bytearray(self.image), bytearray()
        table = self._symbol_table
        old = self.sections[table.link]
        for at, name in enumerate(self.symbols["name"].tolist()):
            new = names.get(self.name(name))
            if new is not None:
                struct.pack_into("<I", made, table.offset + at * _SYMBOL.itemsize, old.size + len(added))
                added += new.encode() + b"\0"
        # the names, with those behind them, move to the end: nothing else of the object moves
        struct.pack_into("<QQ", made, self._table + table.link * self._each + _OFFSET, len(made), old.size + len(added))
        for number, address in places.items():
            struct.pack_into("<Q", made, self._table + number * self._each + _ADDRESS, address)
        return bytes(made) + self.image[old.offset : old.offset + old.size] + bytes(added)
