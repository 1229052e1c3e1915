"""Bundles with bytes, or parts of their description, changed: read as what they say, or refused by name."""

from __future__ import annotations

import copy
import json
import random
import struct
import tempfile
import warnings
from pathlib import Path
from typing import Any

import test_bundle
from test_bundle import _bare, _program, _resealed, f32

import tierup
from tierup.runtime.cuda import bundle_file

_whole: list[bytes] = []


def whole() -> list[bytes]:
    """A bundle of kernels and one for the CPU, made once."""
    if not _whole:
        calls = [(f32(n, 4), f32(n, 4)[1:].copy(), 2.5) for n in range(5, 9)]
        made = _bare(test_bundle.artifact_of(lambda x, y, k: ((x[1:] + y) * k, x[1:, ::2], k), *calls))
        function = tierup.jit(saved)
        for call in calls * 2:
            function(*call, w={"a": (1.5, "text")})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "f.tierup"
            bundle_file.write(path, [_program(made, cubins={"sm_80": b"\x7fELF 80"})], "a soak")
            _whole.append(path.read_bytes())
            function.save(path)
            _whole.append(path.read_bytes())
    return _whole


def saved(x: Any, y: Any, k: Any, *, w: Any) -> Any:
    return {"sum": (x[1:] + y) * k, "rest": [x[1:, ::2], w["a"][0] * x.sum()]}, w["a"][1]


def mutate(seed: int, count: int = 60) -> tuple[int, str]:
    """(bundles that were read, what was wrong)."""
    chance = random.Random(f"bundles {seed}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.tierup"
        for number in range(count):
            path.write_bytes(_changed(chance.choice(whole()), chance))
            try:
                with warnings.catch_warnings(action="ignore"):  # of code for another processor
                    repr(tierup.load_plan(path))
            except ValueError as e:  # a BundleError, or one for a bundle without a program
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
