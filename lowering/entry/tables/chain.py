"""The chain of versions that the dispatcher walks: a few in order, the rest of the static ones by hash."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tierup.lowering.base.abi import ArgumentKind
from tierup.lowering.entry import layout
from tierup.lowering.entry.records import LINEAR, is_static
from tierup.lowering.entry.tables.plan import NativeRow, signature_key


class NativeChain:
    """A Chain structure over versions in their order of preference. Immutable."""

    def __init__(self, versions: Sequence[NativeRow]) -> None:
        self.versions = tuple(versions)
        front, behind = versions[:LINEAR], versions[LINEAR:]
        hashed = [v for v in behind if is_static(v.record)]
        rest = [v for v in behind if not is_static(v.record)]
        c = self.struct = layout.Chain()
        linear = [v.address for v in (*front, *rest)]
        self._pointers = (ctypes.c_int64 * max(1, len(linear)))(*linear)
        c.versions, c.n_front, c.n_linear = ctypes.addressof(self._pointers), len(front), len(linear)
        c.frame = max((v.frame for v in versions), default=0)
        c.n_arguments = len(versions[0].record.arguments) if versions else 0
        c.hash_mask = -1
        if hashed:
            self._hash(hashed)

    @property
    def address(self) -> int:
        """Where the structure lies; good as long as this object lives."""
        return ctypes.addressof(self.struct)

    def _hash(self, versions: list[NativeRow]) -> None:
        records = [v.record for v in versions]
        # a scalar counts where every hashed version assumes its value, else the key would tell apart calls that one version takes
        keyed = [all(r.arguments[i].kind is ArgumentKind.ARRAY or r.arguments[i].value is not None for r in records)
                 for i in range(len(records[0].arguments))]  # fmt: skip
        size = 1 << (2 * len(versions)).bit_length()
        self._slots = (layout.HashSlot * size)()
        for version in versions:
            key = signature_key(version.record, keyed)
            i = key & size - 1
            while self._slots[i].version:
                i = (i + 1) & size - 1
            self._slots[i].key = key - (1 << 64) if key >> 63 else key
            self._slots[i].version = version.address
        self._keyed = (ctypes.c_int64 * max(1, len(keyed)))(*keyed)
        c = self.struct
        c.hash_mask, c.slots, c.keyed = size - 1, ctypes.addressof(self._slots), ctypes.addressof(self._keyed)
