"""Why code was compiled though earlier processes left some: which parts of its keys differ from those of the nearest entry on disk.

Two entries lead to code (`plans.py`): one by the graph and what was assumed of arguments, one by the program that came of it and the
options. Nothing is noted when a lookup finds nothing: whoever asks later has the keys made again, and looks at what there was before this
process.

Free of MLIR.
"""

from __future__ import annotations

import time

from tierup.dialect.base.records import cached_property
from tierup.lowering.artifacts import cache
from tierup.lowering.artifacts.places import placed
from tierup.lowering.base.abi import ArgumentSpec, Artifact
from tierup.lowering.objects import entries, store
from tierup.lowering.objects.entries import Entry
from tierup.lowering.objects.folder import Refused, folder
from tierup.lowering.objects.keys import Key
from tierup.runtime.code import plans
from tierup.runtime.code.plans import LoadedCode

_MOST = 1000  # entries that are looked at, those that were used last
_before: dict[tuple[str, float], list[Entry]] = {}  # by folder, what was there before this process: it is read once


class Earlier:
    """What was on disk before this process began."""

    @cached_property
    def _entries(self) -> list[Entry]:
        if not store.enabled():
            return []
        try:
            asked = folder(), plans.BEGAN
            if asked not in _before:
                _before[asked] = [entry for entry in entries.entries(_MOST) if entry.made < plans.BEGAN]
        except (Refused, OSError):  # an event has said so
            return []
        return _before[asked]

    def explain(self, graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], code: LoadedCode) -> str:
        """How the keys of code that this process compiled differ from those of the nearest entry of the same program; "" where there is
        none, or where nothing differs: it may have been made since, or could not be read, which is an event."""
        if code.from_disk or not self._entries:
            return ""
        keys = [plans.key_of(placed(graph), entry, arguments)] if graph else []
        if isinstance(code.artifact, Artifact):
            keys.append(cache.key(code.request))
        return next((f"not on disk: {said}" for key in keys if (said := self.differs(key))), "")

    def differs(self, key: Key) -> str:
        """How a key differs from that of the nearest entry of the same kind and program; "" where there is none, or nothing differs."""
        wanted = entries.described(key)
        found = entries.nearest(wanted, self._entries, plans.BEGAN)
        if found is None or found.name == key.name:
            return ""
        made = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found.made))
        return f"an entry of {made} differs in {'; '.join(entries.differences(wanted, found.described))}"
