"""Functions of NumPy with the arguments that few calls give, ufuncs' methods, and functions that programs rarely call."""

from __future__ import annotations

from draft import Draft
from families import statement
from family_elementwise import operand

UFUNCS = ("np.add", "np.subtract", "np.multiply", "np.maximum", "np.minimum", "np.logical_and", "np.logical_or", "np.bitwise_or", "np.bitwise_and", "np.bitwise_xor", "np.true_divide", "np.floor_divide", "np.hypot", "np.power", "np.fmax", "np.logaddexp", "np.greater", "np.equal", "np.left_shift", "np.gcd", "np.divide", "np.remainder", "np.arctan2", "np.copysign", "np.nextafter", "np.heaviside", "np.fmod")  # fmt: skip
ALONE = ("np.negative", "np.absolute", "np.sqrt", "np.exp", "np.square", "np.sign", "np.invert", "np.logical_not", "np.floor", "np.rint", "np.isnan", "np.positive", "np.reciprocal", "np.cbrt", "np.tanh", "np.conj", "np.deg2rad", "np.log2", "np.spacing")  # fmt: skip
DTYPES = ("np.float32", "np.float64", "np.int64", "np.int32", "np.float16", "bool", "np.int8", "np.uint8")

FUNCTIONS = (
    "np.nansum(X)", "np.nanmean(X, axis=D)", "np.nanmax(X)", "np.nanmin(X, axis=D)", "np.nanprod(X)", "np.nanstd(X)", "np.nancumsum(X)", "np.nanargmax(X)", "np.average(X)", "np.average(X, axis=D)",
    "np.average(X, weights=np.ones(X.shape))", "np.gradient(X, axis=D) if X.shape[D] > 1 else X", "np.ediff1d(X)", "np.convolve(X.ravel(), [1, 2, 1])", "np.convolve(X.ravel(), [1.0, -1.0], 'same')",
    "np.correlate(X.ravel(), [1, 2], 'full')", "np.histogram(X, 3)[0]", "np.histogram(np.nan_to_num(X), bins=[-1, 0, 1, 3])[0]", "np.lexsort((X.ravel(), X.ravel()[::-1]))", "np.partition(X, 0, axis=D)[..., :1]",
    "np.rot90(X)", "np.delete(X, 0, axis=D)", "np.insert(X, 0, 1, axis=D)", "np.append(X, X)", "np.append(X, X, axis=D)", "np.resize(X, (3, 2))", "np.unravel_index(np.argmax(X), X.shape)[0]", "np.ravel_multi_index((X > 0).nonzero(), X.shape)",
    "np.meshgrid(X.ravel(), [1, 2])[0]", "np.meshgrid(X.ravel(), X.ravel(), indexing='ij', sparse=True)[1]", "np.ix_([0], [0])[0]", "np.kron(X, [1, 2])", "np.cross(X.ravel()[:3], [1, 2, 3])", "np.einsum('...i->...', X)", "np.einsum('...i,...i->...i', X, X)",
    "np.einsum('...i->i...', X)", "np.tensordot(X, X, axes=(D, D))", "np.tensordot(X, X, 0)", "np.vecdot(X, X)", "np.matvec(X, X[0])", "np.select([X > 1, X > 0], [X, -X], 7)", "np.select([X > 0], [1])", "np.piecewise(X, [X > 0], [1, -1])",
    "np.choose((X > 0).astype(int), [X, 1])", "np.compress([True], X, axis=D)", "np.extract(X > 0, X)", "np.argwhere(X > 0)", "np.isin(X, [1, 2])", "np.union1d(X, [1])", "np.intersect1d(X, [0, 1])", "np.setdiff1d(X, [0])", "np.isclose(X, 1)", "np.allclose(X, X)",
    "np.array_equal(X, X)", "np.array_split(X, 2)[1]", "np.split(X, [1], axis=D)[1]", "np.dstack([X, X])", "np.column_stack([X, X])", "np.block([[X, X], [X, X]])", "np.broadcast_arrays(X, 1)[1] + 0", "np.fliplr(np.atleast_2d(X)) * 1", "np.triu_indices(3)[0]", "np.tri(3, 4, 1)",
    "np.vander(X.ravel(), 3)", "np.trapezoid(X, axis=D)", "np.cov(X)", "np.corrcoef(X)", "np.quantile(X, [0.1, 0.5], axis=D)", "np.diag(X.ravel())", "np.diag(np.atleast_2d(X), 1) * 1", "np.fill_diagonal(X.copy(), 3)", "np.packbits(X > 0)", "np.unwrap(X)", "np.sinc(X)", "np.i0(X)",
    "np.polyval([1, 2], X)", "np.polyfit([1.0, 2.0, 3.0], [1.0, 2.0, 3.5], 1)", "np.roots([1.0, -3.0, 2.0])", "np.modf(X)[0]", "np.divmod(X, 2)[1]", "np.frexp(X)[1]", "np.ldexp(X, 2)", "np.real(X)", "np.isrealobj(X)", "np.size(X, D)", "np.shape(X)[0]", "np.result_type(X, 1.5)",
    "np.can_cast(X.dtype, np.float32)", "np.promote_types(X.dtype, np.int8)", "np.min_scalar_type(3)", "np.cumsum(X, dtype=np.float32)", "np.sum(X, initial=3)", "np.sum(X, where=X > 0)", "np.max(X, initial=1, axis=D)", "np.max(X, where=X > 0, initial=0)", "np.mean(X, where=X > -99)", "np.prod(X, axis=D, initial=2)",
    "np.all(X, where=X > 0)", "np.any(X, axis=D, keepdims=True)", "np.std(X, axis=D, keepdims=True, ddof=1)", "np.argmax(X, axis=D, keepdims=True)", "np.argsort(-X, kind='stable')", "np.take(X, [1, -1, 7], mode='clip')", "np.take(X, [1, -1, 7], mode='wrap')", "np.take(X, [[0, 1], [1, 0]], axis=D)",
    "np.clip(X, 0, None)", "np.clip(X, a_max=1, a_min=None)", "np.clip(X, X - 1, 1)", "np.where(X > 0)[0]", "np.nonzero(X)", "np.roll(X, (1, 2), axis=(D, D))", "np.pad(X, 1, mode='edge')", "np.pad(X, (0, 1), mode='reflect')", "np.pad(X, 1, constant_values=7)", "np.pad(X, 1, mode='wrap')", "np.linspace(X.min(), X.max(), 4)",
    "np.linspace(X, X + 1, 3)", "np.geomspace(1, 8, 4)", "np.logspace(0, 1, 3)", "np.arange(0.5, 3, 0.5)", "np.fromiter((v for v in [1, 2]), float)", "np.fromfunction(lambda i, j: i - j, (2, 3))", "np.indices((2, 3))[1]", "np.mgrid[0:2, 0:3][0]", "np.ogrid[0:2, 0:3][1]", "np.r_[1:4, 0, X.ravel()]", "np.c_[X.ravel(), X.ravel()]",
    "np.apply_along_axis(np.sum, D, X)", "np.vectorize(lambda v: v * 2)(X)", "np.apply_over_axes(np.sum, X, [0])", "np.round(X, 1)", "np.around(X, -1)", "np.trim_zeros(X.ravel())", "X.repeat(2)", "X.repeat([1] * X.shape[D], axis=D)", "X.swapaxes(0, D)", "X.flat[0]", "X.item(0)", "X.tolist()", "X.astype(np.float32, copy=False)", "X.view()", "X.squeeze()",
    "X.byteswap().byteswap()", "X.dot(X.T)", "X.choose([1, 2]) if X.dtype == bool else X", "X.searchsorted(1) if X.ndim == 1 else 0", "X.argpartition(0, axis=D).shape", "X.real", "X.imag + 0", "X.conj()", "X.nbytes", "X.itemsize", "X.strides", "X.dtype.kind", "X.flags.c_contiguous", "X.dtype == np.float32", "np.iinfo(np.int8).max", "np.finfo(X.dtype).eps if X.dtype.kind == 'f' else 0",
    "np.float32(X.ravel()[0])", "np.int8(3) + X", "np.uint8(200) + np.uint8(100)", "np.array(X, dtype=np.float64, ndmin=3)", "np.array(X, copy=True)[..., 0]", "np.asarray(X, dtype=np.float32)", "np.ascontiguousarray(X.T)", "np.asfortranarray(X) + 0", "np.require(X, requirements='C')", "np.copy(X.T)", "np.bincount(np.abs(X.ravel()).astype(int) % 5, minlength=6)",
    "np.bincount([0, 1, 1], weights=[0.5, 1.0, 2.0])", "np.digitize(X, [0.0, 1.0], right=True)", "np.count_nonzero(X > 0, axis=D, keepdims=True)", "np.ptp(X, axis=D)", "np.percentile(X, [20, 80], axis=D)", "np.nanmedian(X)", "np.cumprod(X, axis=D, dtype=np.float64)", "np.add.reduce(X, axis=D)", "np.multiply.accumulate(X, axis=D)", "np.maximum.reduce(X, axis=None)",
    "np.logical_xor.reduce(X > 0, axis=D)", "np.subtract.outer(X, [1, 2])", "np.add.reduceat(X, [0, 1], axis=D)", "np.bitwise_or.reduce((X > 0).astype(int), axis=D)", "np.minimum.accumulate(X)", "np.hypot.reduce(X, axis=D)", "np.linalg.norm(X, axis=D)", "np.linalg.norm(X, ord=1, axis=D)", "np.linalg.norm(X.ravel(), np.inf)", "np.linalg.multi_dot([X, X.T, X])", "np.linalg.matrix_power(np.eye(2) * 2, 3)",
)  # fmt: skip
IN_PLACE = (
    "np.copyto(Z, Y * 1)", "np.copyto(Z, Y * 1, where=Z > 0)", "np.copyto(Z, Y * 1, casting='unsafe')", "np.put(Z, [0, -1], [1, 2])", "np.putmask(Z, Z > 0, Y)", "np.place(Z, Z > 0, [1, 2])", "np.fill_diagonal(Z, 1)", "Z.sort()", "Z.sort(axis=D)", "Z.put([0], 5)", "np.put_along_axis(Z, np.argmax(Z, axis=D, keepdims=True), 9, D)",
    "Z.flat = 3", "Z.flat[1:3] = 7", "Z.itemset", "np.subtract.at(Z, [0, 0, 1], 1)", "np.maximum.at(Z, 0, Y)", "Z[...] = Z[::-1]", "Z[1:] = Z[:-1]", "Z[1:] += Z[:-1]", "Z[:] = Z.T", "Z[Z > 0] = Z[Z > 0] * 2", "Z[Z > 0] += 1", "Z[[0, 0]] += 1", "Z[..., 0] = Z[..., -1]", "Z.T[0] = Y", "Z.reshape(-1)[1:3] = 5", "Z.ravel()[0] = 3",
    "Z.partition(0, axis=D); Z.sort(axis=D)", "np.random.seed(0)", "Z.resize(Z.shape)", "Z.shape = (-1,)", "Z[None][0, 0] = 4", "Z[(Z > 1) | (Z < 0)] = 0", "Z[np.nonzero(Z)] = 2", "Z[np.argmax(Z, axis=0)] = 1", "Z[:, None][0] = 3", "Z.real[0] = 2", "np.nan_to_num(Z, copy=False)", "np.clip(Z, 0, 1, out=Z)", "np.cumsum(Z, axis=D, out=Z)", "np.take(Z, [0, 0], axis=0, out=Z[:2], mode='clip')",
)  # fmt: skip


@statement("keywords", 1)
def function(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {d.of(*FUNCTIONS).replace('X', x).replace('D', str(d.axis(x)))}"])


@statement("keywords", 0.7)
def ufunc(d: Draft) -> bool:
    """With where, out, dtype, casting, or one of its methods."""
    f, x, y, v, g = d.of(*UFUNCS), d.array(), operand(d), d.new(), d.of(*ALONE)
    m, z = d.array("b"), d.array()
    if v in (x, y, m, z):
        return False
    call = d.of(f"{f}({x}, {y}", f"{g}({x}")
    lines = d.of(
        [f"{v} = {call}, dtype={d.of(*DTYPES)})"], [f"{v} = {call}, dtype={d.of(*DTYPES)}, casting='unsafe')"], [f"{v} = {call}, where={m}, out=np.ones(np.broadcast_shapes(np.shape({x}), np.shape({y}), {m}.shape), np.float64))"],
        [f"{v} = {call}, out={z})"], [f"{v} = {z} * 1", f"{call}, out={v})"], [f"{call}, out={z}, where={x} > 0)"], [f"{v} = {call}, out={z}, casting='unsafe')"], [f"{v} = {f}.outer({x}, {y})"], [f"{v} = {f}.reduce({x}, axis={d.of(0, -1, None)}, keepdims={d.of(True, False)})"],
        [f"{v} = {f}.accumulate({x}, axis={d.of(0, -1)})"], [f"{v} = {f}.reduce({x}, initial={d.of(0, 1, 2.5)}, where={x} > 0)"], [f"{f}.at({z}, {d.of('0', '[0, 0]', 'slice(0, 2)')}, {y})"], [f"{v} = {call}, out=({z},))"], [f"{v} = {call}, subok=True, order='K')"],
    )  # fmt: skip
    return d.keep(lines)


@statement("keywords", 0.5)
def in_place(d: Draft) -> bool:
    z, y = d.pick(lambda v: type(v).__name__ == "ndarray" and v.ndim > 0), operand(d)
    return d.keep([d.of(*IN_PLACE).replace("Z", z).replace("Y", y).replace("D", str(d.axis(z)))])
