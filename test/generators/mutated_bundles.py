"""Bundles with bytes, or parts of their description, changed: read as what they say, or refused by name."""

from __future__ import annotations

import copy
import json
import random
import struct
import tempfile
from pathlib import Path
from typing import Any

import test_bundle
from test_bundle import _bare, _program, _resealed, f32

from tierup.lowering.artifacts.bundle import BundleError
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.bundle import load_plans

_whole: list[bytes] = []


def whole() -> bytes:
    """A bundle, made once."""
    if not _whole:
        calls = [(f32(n, 4), f32(n, 4)[1:].copy(), 2.5) for n in range(5, 9)]
        made = _bare(test_bundle.artifact_of(lambda x, y, k: ((x[1:] + y) * k, x[1:, ::2], k), *calls))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "f.tierup"
            bundle_file.write(path, [_program(made, cubins={"sm_80": b"\x7fELF 80"})], "a soak")
            _whole.append(path.read_bytes())
    return _whole[0]


def mutate(seed: int, count: int = 60) -> tuple[int, str]:
    """(bundles that were read, what was wrong)."""
    chance, data = random.Random(f"bundles {seed}"), whole()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.tierup"
        for number in range(count):
            path.write_bytes(_changed(data, chance))
            try:
                load_plans(path)
            except BundleError as e:
                if str(path) not in str(e):
                    return number, f"the error does not name the file: {e}"
            except Exception as e:  # noqa: BLE001 - any other exception is a failure
                return number, f"bundle {number}: {type(e).__name__}: {e}"
    return count, ""


def _changed(data: bytes, chance: random.Random) -> bytes:
    if chance.random() < 0.2:
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 5))):
            changed[chance.randrange(len(changed))] = chance.randrange(256)
        return bytes(changed[: chance.choice((len(changed), chance.randrange(len(changed))))])
    described = json.loads(data[56 : 56 + struct.unpack_from("<Q", data, 48)[0]])
    places: list[tuple[Any, Any]] = []
    _visit(described, places)
    for _ in range(chance.choice((1, 1, 2, 4))):
        node, key = chance.choice(places)
        other, name = chance.choice(places)
        values = (None, -1, 0, 1, 2, "?", "", [], {}, 1 << 70, -(1 << 63), 1.5, float("inf"), [[[]]], True, "s0", other[name] if name in other or isinstance(other, list) and name < len(other) else 7)
        if isinstance(node, list) and chance.random() < 0.2:
            node.insert(chance.randrange(len(node) + 1), copy.deepcopy(chance.choice(values)))
        elif isinstance(node, dict) or key < len(node):
            node[key] = copy.deepcopy(chance.choice(values))
    return _resealed(data, lambda _: json.dumps(described).encode())


def _visit(node: Any, places: list[tuple[Any, Any]]) -> None:
    for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
        places.append((node, key))
        if isinstance(value, dict | list):
            _visit(value, places)
