"""Kernels for GPUs in a bundle: what docs/bundles.md says of the kind `cuda`, written and read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Call, Dim, Symbol, polynomial
from tierup.lowering.artifacts import bundle
from tierup.lowering.artifacts.bundle import Bundle, BundleError
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.host_steps import Constant, HostProgram, Step, walk
from tierup.lowering.base.abi import ErrorSite, ResultKind, ResultSpec
from tierup.lowering.service.request_json import spec_of, spec_to_dict
from tierup.runtime.cuda.host.interpreter import STEPS

KIND = "cuda"


@dataclass(frozen=True)
class PackedVersion:
    """Code for arguments of one kind. `cubins`: assembled code by target."""

    artifact: CudaArtifact
    cubins: dict[str, bytes]


@dataclass(frozen=True)
class PackedProgram:
    """A program: its arguments' names and its versions, in the order in which they are tried."""

    name: str
    arguments: tuple[str, ...]
    versions: tuple[PackedVersion, ...]


def write(path: str | Path, programs: Sequence[PackedProgram], made_by: str = "", key: bytes | None = None) -> None:
    """Write a bundle, whole or not at all, signed where there is a key. Raises OSError, and ValueError for a version with assumptions in
    mid-program: a bundle has nothing that would go on where it is lost."""
    if any(version.artifact.exits for program in programs for version in program.versions):
        raise ValueError("a bundle holds no version with assumptions in mid-program")
    blobs = _Blobs()
    described = {"kind": KIND, "made_by": made_by, "programs": [_program(p, blobs) for p in programs]}
    bundle.write(path, described, blobs.parts, key)


def read(path: str | Path) -> tuple[PackedProgram, ...]:
    """The programs of a bundle. Raises BundleError for a file that is none, is damaged or cut short, or is too new; OSError."""
    return programs_of(bundle.read(path))


def programs_of(found: Bundle) -> tuple[PackedProgram, ...]:
    """As `read`, of what a file holds."""
    if found.description["kind"] != KIND:
        raise BundleError(f"{found.path} holds code of the kind {found.description['kind']!r}, and no kernels for GPUs")
    with found.reading():
        reader = _Reader(bytes(found.data))
        return tuple(reader.program(p) for p in found.description["programs"])


class _Blobs:
    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._length = 0

    def add(self, data: bytes) -> list[int]:
        place = [self._length, len(data)]
        self.parts.append(data)
        self._length += len(data)
        return place


def _program(program: PackedProgram, blobs: _Blobs) -> dict[str, Any]:
    return {"name": program.name, "arguments": list(program.arguments), "versions": [_version(v, blobs) for v in program.versions]}


def _version(version: PackedVersion, blobs: _Blobs) -> dict[str, Any]:
    a = version.artifact
    host = a.host
    return {
        "target": a.target,
        "ptx": blobs.add(a.ptx.encode()),
        "cubins": {target: blobs.add(code) for target, code in sorted(version.cubins.items())},
        "arguments": [spec_to_dict(spec) for spec in a.arguments],
        "results": [_result(spec) for spec in a.results],
        "error_sites": [[site.op, site.location] for site in a.error_sites],
        "ties": [[_dim(left), _dim(right)] for left, right in a.ties],
        "host": {
            "arguments": host.arguments,
            "steps": [_step(step) for step in host.steps],
            "returns": list(host.returns),
            "kernels": list(host.kernels),
            "types": {name: list(types) for name, types in host.types.items()},
            "origins": host.origins,
            "reads": [[number, what] for number, what in host.reads.items()],
            "constants": {n: [c.dtype, list(c.sizes), blobs.add(c.data)] for n, c in host.constants.items()},
        },
    }


def _result(spec: ResultSpec) -> dict[str, Any]:
    sizes = [_dim(d) for d in spec.sizes]
    found: dict[str, Any] = {"kind": spec.kind.value, "dtype": spec.dtype, "sizes": sizes, "argument": spec.argument}
    if spec.kind is ResultKind.VIEW:
        found |= {"offset": _dim(spec.offset), "strides": [_dim(d) for d in spec.strides]}
    return found | ({"read_only": True} if spec.read_only else {}) | ({"order": list(spec.order)} if spec.order else {})


def _dim(dim: Dim) -> Any:
    """An int, or the terms of a polynomial: [[coefficient, [[atom, power], ...]], ...]. Raises ValueError for one that `read` refuses."""
    described = _terms(dim)
    _read_dim(described)
    return described


def _terms(dim: Dim) -> Any:
    if isinstance(dim, int):
        return dim
    return [[coefficient, [[_atom(a), power] for _, a, power in monomial]] for monomial, coefficient in dim.terms]


def _atom(a: Symbol | Call) -> Any:
    return [a.name, a.low] if isinstance(a, Symbol) else {"call": a.fn, "of": [_terms(d) for d in a.args]}


def _step(step: Any) -> Any:
    """Nested tuples as lists; a float is {"float": hex}."""
    if isinstance(step, float):
        return {"float": step.hex()}
    return [_step(part) for part in step] if isinstance(step, tuple) else step


_HIGHEST_POWER = 64  # of a size in a product of sizes; beyond it no number of elements fits 64 bits
_MOST_PARTS = 2000  # of one size; those of the largest programs have a hundred
_CALLS = ("floordiv", "mod", "max", "min")


class _Reader:
    """What `_version` described. Raises all kinds of exceptions for what it did not."""

    def __init__(self, blobs: bytes) -> None:
        self._blobs = blobs

    def program(self, found: dict[str, Any]) -> PackedProgram:
        versions = tuple(self._version(v) for v in found["versions"])
        names = tuple(str(name) for name in found["arguments"])
        if any(len(v.artifact.arguments) != len(names) for v in versions):
            raise ValueError("a version takes another number of arguments than its program")
        return PackedProgram(str(found["name"]), names, versions)

    def _blob(self, place: Sequence[int]) -> bytes:
        start, length = place
        if not (isinstance(start, int) and isinstance(length, int) and 0 <= start <= start + length <= len(self._blobs)):
            raise ValueError(f"no data at {place}")
        return self._blobs[start : start + length]

    def _version(self, found: dict[str, Any]) -> PackedVersion:
        arguments = tuple(spec_of(a) for a in found["arguments"])
        results = tuple(_read_result(r) for r in found["results"])
        host = self._host(found["host"])
        if not 0 <= host.arguments <= len(arguments) + len(results) + 1:  # each argument, buffers of results, the status
            raise ValueError(f"a host program of {host.arguments} values, for {len(arguments)} arguments and {len(results)} results")
        artifact = CudaArtifact(
            self._blob(found["ptx"]).decode(),
            str(found["target"]),
            host,
            arguments,
            results,
            tuple(ErrorSite(str(op), str(location)) for op, location in found["error_sites"]),
            tuple((_read_dim(left), _read_dim(right)) for left, right in found["ties"]),
        )
        return PackedVersion(artifact, {str(target): self._blob(place) for target, place in found["cubins"].items()})

    def _host(self, found: dict[str, Any]) -> HostProgram:
        steps = tuple(_read_step(step) for step in found["steps"])
        for step in walk(steps):
            if step[0] not in STEPS:
                raise ValueError(f"a host program has a step {step[0]!r}, which this tierup does not know: it needs a newer one")
        return HostProgram(
            int(found["arguments"]),
            steps,
            tuple(int(n) for n in found["returns"]),
            tuple(str(k) for k in found["kernels"]),
            {str(n): Constant(str(t), tuple(map(int, sizes)), self._blob(place)) for n, (t, sizes, place) in found["constants"].items()},
            {str(name): tuple(map(str, types)) for name, types in found["types"].items()},
            {str(name): str(origin) for name, origin in found["origins"].items()},
            reads={int(number): str(what) for number, what in found.get("reads", [])},
        )


def _read_result(found: dict[str, Any]) -> ResultSpec:
    strides = tuple(_read_dim(d) for d in found.get("strides", ()))
    sizes = tuple(_read_dim(d) for d in found["sizes"])
    offset = _read_dim(found.get("offset", 0))
    kind, argument, read_only = ResultKind(found["kind"]), int(found["argument"]), bool(found.get("read_only"))
    order = tuple(map(int, found.get("order", ())))
    return ResultSpec(kind, str(found["dtype"]), sizes, argument, offset, strides, order, read_only)


def _read_dim(found: Any) -> Dim:
    if isinstance(found, int):
        return found
    if _parts(found) > _MOST_PARTS:
        raise ValueError(f"a size is written with more than {_MOST_PARTS} parts")
    return _polynomial(found)


def _parts(found: Any) -> int:
    """How many numbers and names a description has; no more are counted than there may be. It may be nested as deeply as JSON was read."""
    count, left = 0, [found]
    while left and count <= _MOST_PARTS:
        part = left.pop()
        if isinstance(part, dict):
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part[: _MOST_PARTS + 1])
        count += 1
    return count


def _polynomial(found: Any) -> Dim:
    if isinstance(found, int):
        return found
    return polynomial((int(coefficient), [(_read_atom(a), _power(power)) for a, power in factors]) for coefficient, factors in found)


def _power(power: int) -> int:
    if not 0 < power <= _HIGHEST_POWER:
        raise ValueError(f"the power {power} of a size")
    return power


def _read_atom(found: Any) -> Symbol | Call:
    if isinstance(found, dict):
        if found["call"] not in _CALLS:
            raise ValueError(f"no function of sizes is called {found['call']!r}")
        return Call(found["call"], tuple(_polynomial(d) for d in found["of"]))
    name, low = found
    return Symbol(str(name), int(low))


def _read_step(found: Any) -> Step:
    if isinstance(found, dict):
        return float.fromhex(found["float"])  # type: ignore[return-value]  # a part of a step
    return tuple(_read_step(part) for part in found) if isinstance(found, list) else found
