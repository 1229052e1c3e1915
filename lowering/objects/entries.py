"""What is in the store, for people: entries as they describe themselves, which of them hold, and why a lookup found none.

    for entry in entries(): entry.kind, entry.about, entry.bytes, entry.used
    differences(wanted, nearest(wanted, entries()))     ["facts: f32[4] there, f32[8] here", "CPU: ..."]

Descriptions are shown and believed in nothing else: what is run is authenticated when it is read (`store.py`).

Free of MLIR and LLVM.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import printable
from tierup.lowering.objects import folder, keys, store


@dataclass(frozen=True)
class Described:
    """What was looked up, or found: its kind, what it is about, and of each part of its key (label, digest, what is shown of it)."""

    kind: str = ""
    about: str = ""
    parts: tuple[tuple[str, str, str], ...] = ()

    @property
    def function(self) -> str:
        """The program that it is of: what `about` has before the facts."""
        return self.about.partition(":")[0]


@dataclass(frozen=True)
class Entry:
    """A file of the store. `made`, `used`: when it was written and last read, in seconds since 1970; `made` is 0 where it does not say."""

    name: str
    path: str
    bytes: int
    used: float
    made: float
    described: Described


def described(key: keys.Key) -> Described:
    """A key as the entry that is found by it describes itself."""
    return _read(key.description())[0]


def entries(most: int | None = None) -> list[Entry]:
    """All of them, or so many, the most recently used first. Raises Refused for a folder that may not be used, OSError."""
    files = [(path, about) for path, about in folder.files(folder.checked(folder.folder())) if path.endswith(folder.SUFFIX)]
    found = []
    for path, about in sorted(files, key=lambda file: -file[1].st_mtime)[:most]:
        try:
            told, made = _read(store.description(path))
        except FileNotFoundError:  # another process has removed it since
            continue
        except (folder.Refused, OSError):  # `faults` says why
            told, made = Described(), 0.0
        name = os.path.basename(path).removesuffix(folder.SUFFIX)
        found.append(Entry(name, path, about.st_size, about.st_mtime, made, told))
    return found


def _read(description: bytes) -> tuple[Described, float]:
    """(what a description says, when it says that it was made). Of one that nobody wrote nothing is believed."""
    try:
        found = json.loads(description or b"{}")
        parts = tuple((printable(str(label)), str(digest), printable(str(said))) for label, digest, said in found.get("parts", ()))
        about = Described(printable(str(found.get("kind", ""))), printable(str(found.get("about", ""))), parts)
        return about, float(found.get("made", 0.0))
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return Described(), 0.0


def fault(entry: Entry) -> str:
    """Why an entry may not be used, "" where it may."""
    place = folder.checked(folder.folder())
    try:
        key = store.key_of(place) if place else None
        if key is None:
            return "the folder has no key"
        store.opened(place, key, entry.name)
    except folder.Refused as e:
        return str(e)
    except OSError as e:
        return e.strerror or str(e)
    return ""


def size() -> tuple[int, int]:
    """How many entries there are, and their bytes. Raises as `entries`."""
    sizes = [about.st_size for path, about in folder.files(folder.checked(folder.folder())) if path.endswith(folder.SUFFIX)]
    return len(sizes), sum(sizes)


def clear() -> int:
    """Remove all entries, and what is unfinished; how many entries there were. Raises as `entries`."""
    found = list(folder.files(folder.checked(folder.folder())))
    return sum(store.remove(path) and path.endswith(folder.SUFFIX) for path, _ in found)


def nearest(wanted: Described, among: Iterable[Entry], before: float) -> Entry | None:
    """Of the entries of the same kind and program that were made before a time, the one whose key differs in the fewest parts, the newest
    of these; None where there is none."""
    others = [e for e in among if e.made < before and (e.described.kind, e.described.function) == (wanted.kind, wanted.function)]
    return min(others, key=lambda e: (len(differences(wanted, e.described)), -e.made), default=None)


def differences(wanted: Described, found: Described) -> list[str]:
    """In which parts of their keys two entries differ, and what they have there, as far as that can be shown."""
    there = {label: (digest, said) for label, digest, said in found.parts}
    here = {label: (digest, said) for label, digest, said in wanted.parts}
    nothing = ("", "nothing")
    pairs = [(label, there.get(label, nothing), here.get(label, nothing)) for label in dict.fromkeys((*here, *there))]
    return [f"{label}{_shown(one[1], other[1])}" for label, one, other in pairs if one[0] != other[0]]


def _shown(there: str, here: str) -> str:
    if there == here:  # too long to be shown, or a version whose files were changed
        return f" ({here}, with other contents)" if here else ""
    return f" ({there or 'another'} there, {here or 'another'} here)"
