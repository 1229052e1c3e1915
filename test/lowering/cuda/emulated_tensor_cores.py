"""The nvgpu dialect's ops for tensor cores and asynchronous copies, as NVIDIA's PTX ISA defines the instructions that they become.

ldmatrix: lanes 8 i .. 8 i + 7 give the addresses of the 8 rows of matrix i, of 16 bytes each; lane t gets of each matrix 32 bits: of halves
row t / 4, columns 2 (t % 4) and the next, of the transposed matrix if asked ("Warp-level matrix load instruction: ldmatrix").

mma.sync.m16n8k16 ("Matrix fragments for mma.m16n8k16 with floating point type"), in lane t, with g = t / 4 and c = 2 (t % 4):
    x[i][j]   row g + 8 (i % 2), column c + j + 8 (i / 2)            y[i][j]   row c + j + 8 i, column g
    sums[i][j]   row g + 8 i, column c + j

mma.sync.m16n8k8 of .tf32 ("Matrix fragments for mma.m16n8k8"), with c = t % 4:
    x[i]   row g + 8 (i % 2), column c + 4 (i / 2)                    y[i]   row c + 4 i, column g
What it makes of operands that are no tf32 (10 bits of mantissa) is left open: it is a Fault.

cvt.rna.tf32.f32: to nearest, halfway away from zero.

cp.async: the copy may happen at any time until the thread waits for its group: what it writes holds nothing until then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from emulated_memory import Fault, View

from tierup.dialect.mlir import ir

WARP = 32
_ROW = 8
_INFINITY, _BELOW_TF32 = 0x7F800000, np.uint32(0x1FFF)  # the exponent's bits of a float; those that a tf32 has not


def to_tf32(value: Any) -> int:
    """cvt.rna.tf32.f32: the bits, as a signed number."""
    bits = int(np.float32(value).view(np.int32))
    return bits if bits & _INFINITY == _INFINITY else (bits + 0x1000) & ~0x1FFF


def ldmatrix(given: list[Any]) -> list[Any]:
    """Of (view, indices, matrices, transpose, thread) of each lane, the lane's pairs."""
    view, _, count, transpose, _ = given[0]
    matrices = []
    for first in range(0, _ROW * count, _ROW):
        rows = []
        for view, (*outer, inner), _, _, me in given[first : first + _ROW]:
            start, size = view.at([*outer, inner]), view.memory.data.itemsize
            if start * size % 16:
                raise Fault(f"ldmatrix: element {start} of {view.memory.what} is at no multiple of 16 bytes")
            if transpose and size != 2:
                raise Fault(f"ldmatrix: elements of {size} bytes are not transposed")
            view.at([*outer, inner + 16 // size - 1])
            rows.append([view.memory.load(start + i, me) for i in range(16 // size)])
        matrix = np.array(rows)
        matrices.append(matrix.T if transpose else matrix)
    pair = matrices[0].shape[1] // 4
    return [np.array([m[t // 4, t % 4 * pair : t % 4 * pair + pair] for m in matrices]) for t in range(WARP)]


_LANE = np.arange(WARP)[:, None, None]
_G, _C2, _I, _J = _LANE // 4, _LANE % 4 * 2, np.arange(4)[None, :, None], np.arange(2)[None, None, :]
_X = np.broadcast_arrays(_G + 8 * (_I % 2), _C2 + _J + 8 * (_I // 2))  # where each lane's elements stand
_Y = np.broadcast_arrays(_C2 + _J + 8 * _I[:, :2], _G)
_SUMS = np.broadcast_arrays(_G + 8 * _I[:, :2], _C2 + _J)
_C, _J1 = _LANE % 4, _J[:, :, :1]
_X_TF32 = np.broadcast_arrays(_G + 8 * (_I % 2), _C + 4 * (_I // 2) + _J1)
_Y_TF32 = np.broadcast_arrays(_C + 4 * _I[:, :2] + _J1, _G)


def mma(given: list[Any]) -> list[Any]:
    """Of (x, y, sums) of each lane, the new sums. Added in double precision, rounded once: the hardware's order is its own."""
    return _mma(given, _X, _Y, 16)


def mma_tf32(given: list[Any]) -> list[Any]:
    """The same of floats that are tf32."""
    for operand in (0, 1):
        values = np.array([lane[operand] for lane in given], np.float32)
        if (values.view(np.uint32)[np.isfinite(values)] & _BELOW_TF32).any():
            raise Fault("mma: a warp hands over floats that are no tf32")
    return _mma(given, _X_TF32, _Y_TF32, 8)


def _mma(given: list[Any], x_at: Any, y_at: Any, inner: int) -> list[Any]:
    x, y, sums = np.zeros((16, inner)), np.zeros((inner, 8)), np.zeros((16, 8))
    x[tuple(x_at)], y[tuple(y_at)], sums[tuple(_SUMS)] = (np.array(part) for part in zip(*given, strict=True))
    return list((x @ y + sums).astype(np.float32)[tuple(_SUMS)])


def load_run(view: View, at: tuple[int, ...], count: int, aligned: int, me: int) -> np.ndarray[Any, Any]:
    """vector.load: neighbours, the first at a multiple of so many bytes."""
    start = view.at(at)
    if start * view.memory.data.itemsize % aligned:
        raise Fault(f"a load of {count} elements: element {start} of {view.memory.what} is at no multiple of {aligned} bytes")
    view.at([*at[:-1], at[-1] + count - 1])
    return np.array([view.memory.load(start + i, me) for i in range(count)], view.memory.data.dtype)


class Copies:
    """A thread's asynchronous copies, by group."""

    def __init__(self) -> None:
        self._groups: list[list[Any]] = [[]]

    def copy(self, target: View, to: tuple[int, ...], source: View, at: tuple[int, ...], count: int, taken: int, me: int) -> None:
        """Copy `taken` elements, and zeros up to `count`."""
        there = target.at(to)
        for place, view in ((there, target), (source.at(at) if taken else 0, source)):
            if place * view.memory.data.itemsize % 16:
                raise Fault(f"cp.async: element {place} of {view.memory.what} is at no multiple of 16 bytes")
        last = [*to[:-1], to[-1] + count - 1]
        if target.at(last) != there + count - 1:
            raise Fault(f"cp.async: {count} elements from {to} of {target.memory.what} on do not follow one another")
        zero = target.memory.data.dtype.type(0)
        start = source.at(at) if taken else 0
        values = [source.memory.load(start + i, me) if i < taken else zero for i in range(count)]
        for i in range(count):
            target.memory.forget(there + i, me)
        self._groups[-1].append((target.memory, there, values))

    def commit(self) -> None:
        self._groups.append([])

    def wait(self, running: int, me: int) -> None:
        """All but the newest `running` groups have ended."""
        ended, self._groups = self._groups[: -1 - running], self._groups[-1 - running :]
        for memory, start, values in (copy for group in ended for copy in group):
            for i, value in enumerate(values):
                memory.store(start + i, value, me)


class TensorCores:
    """Translations of the ops; the rest of the translator is `emulated_kernels._Translation`."""

    def nvgpu_ldmatrix(self: Any, op: ir.Operation, view: str, *at: str) -> None:
        count, transpose = ir.IntegerAttr(op.attributes["numTiles"]).value, ir.BoolAttr(op.attributes["transpose"]).value
        self.let(op, f"yield ({self.place('ldmatrix')!r}, ldmatrix, ({view}, ({', '.join(at)},), {count}, {transpose}, me))")

    def nvgpu_mma_sync(self: Any, op: ir.Operation, *given: str) -> None:
        how = "mma_tf32" if "tf32Enabled" in op.attributes else "mma"
        self.let(op, f"yield ({self.place('mma')!r}, {how}, ({', '.join(given)}))")

    def nvvm_convert_float_to_tf32(self: Any, op: ir.Operation, value: str) -> None:
        assert "rna" in str(op.attributes["rnd"])
        self.let(op, f"to_tf32({value})")

    def nvgpu_device_async_copy(self: Any, op: ir.Operation, *given: str) -> None:
        _, to, _, at, taken = ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"])
        count = ir.IntegerAttr(op.attributes["dstElements"]).value
        target, source = given[0], given[1 + to]
        places = [f"({''.join(f'{i}, ' for i in part)})" for part in (given[1 : 1 + to], given[2 + to : 2 + to + at])]
        self.line(f"copies.copy({target}, {places[0]}, {source}, {places[1]}, {count}, {given[-1] if taken else count}, me)", op)

    def nvgpu_device_async_create_group(self: Any, op: ir.Operation, *_: str) -> None:
        self.line("copies.commit()", op)

    def nvgpu_device_async_wait(self: Any, op: ir.Operation, *_: str) -> None:
        running = ir.IntegerAttr(op.attributes["numGroups"]).value if "numGroups" in op.attributes else 0
        self.line(f"copies.wait({running}, me)", op)

    def vector_extract(self: Any, op: ir.Operation, vector: str) -> None:
        self.let(op, f"{vector}[{', '.join(map(str, ir.DenseI64ArrayAttr(op.attributes['static_position'])))}]")

    def vector_insert(self: Any, op: ir.Operation, value: str, vector: str) -> None:
        (place,) = ir.DenseI64ArrayAttr(op.attributes["static_position"])
        self.let(op, f"np.concatenate([{vector}[:{place}], [{value}], {vector}[{place + 1}:]])")

    def vector_to_elements(self: Any, op: ir.Operation, vector: str) -> None:
        self.let(op, f"{vector}.reshape(-1){'[0]' if len(op.results) == 1 else ''}")

    def vector_from_elements(self: Any, op: ir.Operation, *given: str) -> None:
        shape = tuple(ir.VectorType(op.results[0].type).shape)
        self.let(op, f"np.array([{', '.join(given)}]).reshape({shape})")

    def vector_load(self: Any, op: ir.Operation, view: str, *at: str) -> None:
        count, aligned = ir.VectorType(op.results[0].type).shape[0], ir.IntegerAttr(op.attributes["alignment"]).value
        self.let(op, f"load_run({view}, ({''.join(f'{i}, ' for i in at)}), {count}, {aligned}, me)")
