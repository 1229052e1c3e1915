"""What an entry of the store is found by: all that it depends on, by content. No file's time or place is part of a key, and nothing that
differs between processes: the order of a set, a hash, an address.

    key = Key("code", "layer: f32[4,8]", (Part("program", text), Part("options", "level=2"), *environment()))
    store.read(key.name);  store.write(key.name, payload, key.description())

A key has parts, so that people can be told which of them differed (`entries.py`): an entry keeps a digest of each, and what is short of it.

`contents` says what files are by what is in them. To read 3 MB of sources at each start would take longer than to load code, so what
they were when they were last read is kept in the store, under a name made of each file's path, size, times and number; where one of these
differs, and nothing else does, they are read again, and the keys are what they were.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from tierup import __version__
from tierup.dialect.base.records import cached_property, dataclass
from tierup.dialect.passes.entry_points import told_in
from tierup.lowering.objects import store
from tierup.lowering.objects.build_id import build_id

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
_SOURCES = (".py", ".pyc", ".json")  # .pyc outside of __pycache__: of an installation without sources
_LIBRARIES = (".so", ".pyd", ".dll", ".dylib")
_LARGE = 1 << 20  # a library that its linker has numbered is not read, from this size on
_LONGEST = 300  # characters of a text that is shown
_SETTLED_NS = 2_000_000_000  # a file that was changed so lately may be changed again within one tick of its clock


@dataclass(frozen=True)
class Tree:
    """Files below a folder whose names start and end with these. `label` stands for the folder, wherever it is."""

    label: str
    folder: str
    endings: tuple[str, ...] = _SOURCES
    beginning: str = ""


def name_of(*parts: str) -> str:
    """A digest of these texts, in their order: another for other texts."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]  # names of files are any bytes
    return hashlib.sha256(b"".join([b"%d\n%b" % (len(data), data) for data in encoded])).hexdigest()


def tree(folder: str, beginning: str = "") -> Tree:
    """Our own sources in a folder of the package."""
    return Tree(folder, os.path.join(_ROOT, *folder.split("/")), beginning=beginning)


class Part(NamedTuple):
    """A part of what an entry depends on: what it is called, all of it, and what people are shown of it ("": all, where that is short)."""

    label: str
    text: str
    said: str = ""


@dataclass(frozen=True)
class Key:
    """What an entry is found by. `kind`: what is kept; `about`: of what, for people alone: no part of the name."""

    kind: str
    about: str
    parts: tuple[Part, ...] = ()

    @cached_property
    def name(self) -> str:
        """The name of the entry that depends on these parts, and on nothing else."""
        return name_of(self.kind, *(text for part in self.parts for text in part[:2]))

    def description(self) -> bytes:
        """What an entry says of itself, and of when it was made: see `entries.py`, which reads it."""
        parts = [(part.label, digest_of(part), _shown(part)) for part in self.parts]
        about = {"kind": self.kind, "about": self.about[:_LONGEST], "made": time.time(), "parts": parts}
        return json.dumps(about).encode()


def digest_of(part: Part) -> str:
    """Another for another text."""
    return name_of(part.text)[:16]


def _shown(part: Part) -> str:
    if part.label in _VERSIONS:
        return _VERSIONS[part.label]()
    return (part.said or (part.text if len(part.text) <= _LONGEST else ""))[:_LONGEST]


def _mlir_version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # here: only who keeps compiled code asks

    try:
        return f"torch-mlir {version('torch-mlir')}"
    except PackageNotFoundError:  # it is on the search path without having been installed
        return ""


def _llvm_version() -> str:
    import llvmlite  # here: loads LLVM, which who keeps compiled code has loaded
    from llvmlite.binding import llvm_version_info

    return f"LLVM {'.'.join(map(str, llvm_version_info))}, llvmlite {llvmlite.__version__}"


_VERSIONS = {"tierup": lambda: __version__, "MLIR": _mlir_version, "LLVM": _llvm_version}  # of what is in the name by its files


@cache
def sources(*folders: str) -> str:
    """What our own sources in these folders are, when it is first asked."""
    return contents(*map(tree, folders))


@cache
def environment() -> tuple[Part, ...]:
    """What compiled code depends on beside the program: our sources, the compilers, the CPU."""
    from tierup.lowering.base.llvm import host  # loads LLVM, which running code needs anyway

    def libraries(package: str) -> str:
        return contents(*(Tree(package, folder, _LIBRARIES) for folder in _folders(package)))

    return (
        Part("tierup", sources("dialect", "lowering")),
        Part("MLIR", libraries("torch_mlir")),
        Part("LLVM", libraries("llvmlite")),
        Part("CPU", host(), ":".join(host().split(":")[:2])),
    )


def _folders(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    return [] if spec is None else list(spec.submodule_search_locations or ())


def plugins(group: str) -> tuple[str, ...]:
    """What the installed distributions say of their entry points of this group."""
    found = []
    for folder in sys.path:
        if folder.endswith("-packages") and os.path.isdir(folder):
            before, _ = _stamped({"": folder})
            index = Key("entry points", f"{group} in {folder}", (Part("files", name_of(group, *before)),))
            kept = store.read(index.name)
            if kept is None:
                kept = told_in(folder, group).encode("utf-8", "surrogateescape")
                after, settled = _stamped({"": folder})
                if settled and before == after:
                    store.write(index.name, kept, index.description())
            found.append(kept.decode("utf-8", "surrogateescape"))
    return tuple(filter(None, found))


def contents(*trees: Tree) -> str:
    """What the files of these trees are. Another name, or another content, is another text; another time, place or owner is not."""
    files = _files(trees)
    stamps, _ = _stamped(files)
    labels = ", ".join(dict.fromkeys(tree.label for tree in trees))
    index = Key("contents", f"files of {labels}", (Part("files", name_of("\0".join(files), "\0".join(stamps))),))
    kept = store.read(index.name)
    if kept is not None:
        return kept.decode()
    digest = name_of(*(part for label, path in files.items() for part in (label, _content(path))))
    after, settled = _stamped(files)
    if settled and stamps == after:
        store.write(index.name, digest.encode(), index.description())
    return digest


def _files(trees: Iterable[Tree]) -> dict[str, str]:
    """Paths by what stands for them wherever the trees are."""
    found: dict[str, str] = {}
    for tree in trees:
        _collect(tree, tree.folder, tree.label, found)
    return {name: found[name] for name in sorted(found)}  # not of pairs: hundreds of tuples set the garbage collector going


def _collect(tree: Tree, folder: str, label: str, found: dict[str, str]) -> None:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(tree.endings) and name.startswith(tree.beginning):
                    found[f"{label}/{name}"] = entry.path
                elif name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    _collect(tree, entry.path, f"{label}/{name}", found)
    except FileNotFoundError:
        return  # so says its content


def _stamped(files: Mapping[str, str]) -> tuple[list[str], bool]:
    """(a text for each that differs where its content may, whether all of them have been as they are for a while)."""
    stamps, latest = [], 0
    for path in files.values():
        about = os.stat(path)
        stamps.append(f"{path} {about.st_size} {about.st_mtime_ns} {about.st_ctime_ns} {about.st_ino}")
        latest = max(latest, about.st_mtime_ns, about.st_ctime_ns)
    return stamps, latest < time.time_ns() - _SETTLED_NS


def _content(path: str) -> str:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if path.endswith(_LIBRARIES) and size >= _LARGE and (number := build_id(file)):
            return f"{number} {size}"
        return hashlib.file_digest(file, "sha256").hexdigest()
