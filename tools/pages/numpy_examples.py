"""Calls of everything in NumPy's index, and their arguments: in a call `x` is DATA["x"], and a name of the index stands at `@`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_MATRIX = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 3.0, 0.3, 0.1], [0.5, 0.3, 2.0, 0.4], [0.2, 0.1, 0.4, 1.0]])
DATA: dict[str, Any] = {
    "x": np.array([0.3, 0.7, 0.1, 0.9, 0.5, 0.2]), "y": np.array([0.6, 0.2, 0.8, 0.4, 0.15, 0.75]),
    "t": np.array([0.1, 0.2, 0.4, 0.5, 0.8, 0.9]), "a": np.arange(12.0).reshape(3, 4) / 16 + 0.1, "m": _MATRIX,
    "v": np.array([0.5, 0.25, 0.125, 1.0]), "u": np.array([0.1, 0.2, 0.3]), "w": np.array([0.2, 0.9, 0.4]),
    "s": np.stack([_MATRIX, _MATRIX * 2]),
    "i": np.array([3, 1, 0, 2, 5, 1]), "j": np.array([2, 3, 1, 4, 1, 6]), "k": np.array([0, 2, 1]), "g": np.array([[2], [0], [1]]),
    "b": np.array([True, False, True, True, False, True]), "d": np.array([False, True, True, False, False, True]),
    "h": np.array([0.25, float("nan"), 0.5, 1.5, float("nan"), 0.75]), "q": np.array([200, 7, 15], np.uint8),
    "z": np.array([1 + 2j, 0.5 - 1j, 3j]), "n": 3, "r": 0.5,
}  # fmt: skip

_CALLS = {
    "np.@(x)": """
    argmax argmin argwhere around array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray atleast_1d atleast_2d
    atleast_3d array2string array_repr array_str copy corrcoef count_nonzero cov cumprod cumsum cumulative_prod cumulative_sum diag
    diagflat ediff1d empty_like ones_like zeros_like flatnonzero imag real iscomplex iscomplexobj isfortran isneginf isposinf isreal
    isrealobj isscalar iterable histogram histogram_bin_edges mean median nan_to_num ndim nonzero poly polyder polyint ravel
    real_if_close require roots round shape sinc size squeeze trim_zeros unique unique_all unique_counts unique_inverse
    unique_values angle fix flip i0 min_scalar_type sort_complex nancumprod nancumsum all any max min prod sum std var amax amin ptp
    gradient diff sort argsort trapezoid unwrap average info""",
    "np.@(a, axis=0)": """
    argmax argmin mean median all any max min prod sum std var amax amin ptp diff sort argsort cumsum cumprod average nanmax nanmean
    nanmedian nanmin nanprod nanstd nansum nanvar trapezoid""",
    "np.@(x, where=b)": "sum mean",
    "np.@(x, where=b, initial=0.0)": "max",
    "np.@(x, keepdims=True)": "sum mean max",
    "np.@(h)": "nanargmax nanargmin nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar",
    "np.@(h, 30)": "nanpercentile",
    "np.@(h, r)": "nanquantile",
    "np.@(x, 30)": "percentile",
    "np.@(x, r)": "quantile",
    "np.@(a, 30, axis=0)": "percentile",
    "np.@(n)": "identity bartlett blackman hamming hanning",
    "np.@(8)": "identity bartlett blackman hamming hanning",
    "np.@(x, y)": """
    allclose array_equal array_equiv isclose convolve correlate dot inner outer intersect1d isin kron polyadd polymul polydiv
    polysub polyval setdiff1d setxor1d union1d vdot trapezoid append common_type result_type may_share_memory shares_memory meshgrid
    corrcoef broadcast_arrays""",
    "np.@((x, y))": "column_stack concat concatenate dstack hstack stack vstack row_stack lexsort",
    "np.@(x, 2)": "partition argpartition array_split roll vander repeat tile polyder polyint split hsplit",
    "np.@(a)": "fliplr flipud rot90 transpose matrix_transpose permute_dims trace tril triu diagonal unstack ravel squeeze flip",
    "np.@(n, n)": "eye tri tril_indices triu_indices diag_indices",
    "np.@(m)": "tril_indices_from triu_indices_from diag_indices_from asmatrix",
    "np.@((3, 2))": "empty ones zeros indices",
    "np.@(x, n)": "delete",
    "np.@(7, 2)": "base_repr",
    "np.@(0.5, 8.0, 5)": "geomspace linspace",
    "np.@(0.5, 2.0, 5)": "logspace",
    "np.@(a, 0, 1)": "moveaxis swapaxes rollaxis",
    "np.@(a, 2, axis=1)": "split",
    "np.@(a, 2)": "hsplit",
    "np.@(m, 2)": "vsplit",
    "np.@(s, 2)": "dsplit",
    "np.@(i)": "bincount unique argsort sort",
    "np.@(q)": "unpackbits",
    "np.@(b)": "packbits count_nonzero nonzero flatnonzero",
    "np.@(u, w)": "cross",
    "np.@.reduce(x)": "add multiply maximum minimum",
    "np.@(i, j)": "floor_divide remainder power",
    "np.@(x, y, out=t)": "add",
    "np.@(x, out=t)": "exp",
    "np.@(s, v)": "matmul",
    "np.@(m, v)": "matmul",
    "np.@(m, a.T)": "matmul",
    "x.@()": """
    all any argmax argmin argsort byteswap conj conjugate copy cumprod cumsum dumps flatten max mean min nonzero prod ravel round
    sort squeeze std sum tobytes tolist transpose var view""",
    "a.@()": "diagonal trace transpose flatten ravel",
    "a.@(axis=0)": "all any argmax argmin cumsum cumprod max mean min prod std sum var sort",
    "x.@(2)": "argpartition partition repeat item fill",
    "x.@(k)": "take",
    "x.@": "T base ctypes data device dtype flags flat imag itemsize nbytes ndim real shape size strides",
    "a.@": "T mT flat",
    "np.linalg.@(m)": """
    inv cholesky eigvals eigvalsh pinv slogdet det svd svdvals eig eigh norm qr cond matrix_rank trace diagonal matrix_transpose
    matrix_norm""",
    "np.linalg.@(m, v)": "solve lstsq tensorsolve matmul",
    "np.linalg.@(x)": "norm vector_norm",
    "np.linalg.@(s)": "inv det matrix_transpose",
    "np.linalg.@(m, 3)": "matrix_power",
    "np.linalg.@(u, w)": "cross outer vecdot",
    "np.linalg.@(m, m)": "tensordot matmul",
    "np.fft.@(x)": "fft ifft rfft irfft hfft ihfft fftshift ifftshift fftn ifftn rfftn irfftn",
    "np.fft.@(a)": "fft2 ifft2 rfft2 irfft2 fftn rfft",
    "np.fft.@(8)": "fftfreq rfftfreq",
    "np.random.default_rng(7).@(size=n)": """
    exponential gumbel laplace logistic lognormal normal random rayleigh standard_cauchy standard_exponential standard_normal
    uniform poisson""",
    "np.random.default_rng(7).@(1.5, size=n)": "chisquare pareto power standard_gamma standard_t weibull gamma zipf",
    "np.random.default_rng(7).@(2.0, 3.0, size=n)": "beta f wald vonmises noncentral_chisquare",
    "np.random.default_rng(7).@(0.3, size=n)": "geometric logseries",
    "np.random.default_rng(7).@(5, 0.4, size=n)": "binomial negative_binomial",
    "np.random.default_rng(7).@(x)": "choice permutation permuted shuffle",
    "np.random.@(size=n)": """
    exponential gumbel laplace logistic lognormal normal random_sample random ranf sample rayleigh standard_cauchy
    standard_exponential standard_normal uniform poisson""",
    "np.random.@(1.5, size=n)": "chisquare pareto power standard_gamma standard_t weibull gamma zipf",
    "np.random.@(2.0, 3.0, size=n)": "beta f wald vonmises noncentral_chisquare",
    "np.random.@(0.3, size=n)": "geometric logseries",
    "np.random.@(5, 0.4, size=n)": "binomial negative_binomial",
    "np.random.@(x)": "choice permutation shuffle",
    "np.random.@(2, 3)": "rand randn",
    "np.@([x, y])": "block concatenate vstack",
    "np.@(7)": "binary_repr",
}

_OWN = {
    "np": """apply_along_axis(np.sum, 0, a); apply_over_axes(np.sum, a, [0, 1]); arange(n); arange(0.0, 2.0, 0.25); array([1.0, r])
    astype(x, np.float32); average(x, weights=y); bmat([[a, a]]); bincount(i, weights=x); bincount(i, minlength=9)
    broadcast_shapes((3, 1), (4,)); broadcast_to(x, (2, 6)); busday_count("2024-01-01", "2024-02-01"); busday_offset("2024-01-01", 3)
    can_cast(np.int8, np.int64); choose(k, (u, w, u)); clip(x, 0.2, 0.8); clip(x, y, None); compress(b, x); copyto(x, y)
    copyto(x, y, where=b); cov(x, y); add(x, y, where=b, out=t); convolve(x, u, mode="same"); correlate(x, u, mode="full")
    datetime_as_string(np.datetime64("2024-01-01")); datetime_data(np.dtype("M8[D]")); delete(x, k); diag(a); diff(x, n=2)
    digitize(x, t); einsum("ij,j->i", a, v); einsum("ij,kj->ik", a, a); einsum_path("ij,j->i", a, v); expand_dims(x, 0); extract(b, x)
    fill_diagonal(m, r); format_float_positional(r); format_float_scientific(r); from_dlpack(x); frombuffer(x.tobytes())
    fromfile("/dev/null"); fromfunction(lambda p, q: p + q, (3, 4)); fromiter((p * 2.0 for p in range(4)), float)
    frompyfunc(len, 1, 1); fromregex(io.StringIO("1 2"), r"(\\d+) (\\d+)", [("p", int), ("q", int)]); fromstring("1 2 3", sep=" ")
    full((2, 3), r); full_like(x, r); genfromtxt(io.StringIO("1 2")); get_include(); get_printoptions(); getbufsize(); geterr()
    geterrcall(); gradient(a); gradient(x, 0.5); histogram(x, bins=4, range=(0.0, 1.0)); histogram2d(x, y); histogramdd(a)
    insert(x, 1, r); interp(r, t, x); interp(y, t, x); is_busday("2024-01-01"); isdtype(np.float32, "real floating"); isin(i, k)
    issubdtype(np.float32, np.floating); ix_(k, k); kaiser(8, 2.0); load(io.BytesIO(x.dumps()), allow_pickle=True)
    loadtxt(io.StringIO("1 2")); mask_indices(3, np.triu); mintypecode("fd"); nan_to_num(h); nested_iters(a, [[0], [1]])
    pad(x, 2); pad(a, 1, mode="edge"); pad(x, 2, mode="reflect"); pad(x, 2, mode="symmetric"); pad(x, 2, mode="wrap")
    pad(x, 2, mode="linear_ramp"); piecewise(x, [x < 0.5, x >= 0.5], [0.0, 1.0]); place(x, b, y); polyfit(t, x, 2)
    printoptions(precision=3); promote_types(np.int8, np.float32); put(x, k, w); put_along_axis(a, g, 0.5, 1); putmask(x, b, y)
    ravel_multi_index((k, k), (3, 4)); repeat(a, 2, axis=1); reshape(x, (2, 3)); reshape(x, -1); resize(x, (2, 5)); roll(a, 1, axis=0)
    save(io.BytesIO(), x); savetxt(io.StringIO(), x); savez(io.BytesIO(), x); savez_compressed(io.BytesIO(), x); searchsorted(t, x)
    searchsorted(t, r); select([x < 0.3, x < 0.6], [x, y], 0.0); set_printoptions(); setbufsize(8192); seterr(all="ignore")
    seterrcall(None); show_config(); show_runtime(); split(x, [2, 4]); stack((x, y), axis=1); take(x, k); take(a, k, axis=1)
    take_along_axis(a, g, 1); tensordot(a, m, 1); tensordot(s, m, axes=([2], [0])); test; tile(a, (2, 1)); trapezoid(x, dx=0.1)
    typename("d"); unique(x); unravel_index(k, (3, 4)); where(b, x, y); where(b, x, 0.0); where(b); nonzero(a); flip(a, 0)
    linspace(0.0, 1.0, n); zeros(n); ones(n, dtype=np.float32); sum(a); mean(a, axis=(0, 1)); std(x, ddof=1)
    meshgrid(u, v, indexing="ij"); argsort(a, axis=0, kind="stable"); partition(a, 1, axis=0); vecdot(a, v); matvec(m, v)
    vecmat(v, m); ldexp(x, i); arccosh(x + 1.0); acosh(x + 1.0); gcd(i, j); lcm(i, j); isnat(np.datetime64("NaT")); bitwise_count(i)
    divmod(x, y); left_shift(i, j); right_shift(i, j); bitwise_left_shift(i, j); bitwise_right_shift(i, j); bitwise_and(i, j)
    bitwise_or(i, j); bitwise_xor(i, j); bitwise_and(b, d); invert(i); bitwise_not(i); bitwise_invert(i); logical_and(b, d)
    logical_or(b, d); logical_xor(b, d); logical_not(b); negative(i); add.reduce(a, axis=1); add.accumulate(x); add.outer(u, w)
    add.reduceat(x, k[:2]); add.at(x, i, y); multiply.reduce(x); multiply.accumulate(x); multiply.outer(u, w)
    multiply.reduceat(x, k[:2]); multiply.at(x, i, y); maximum.reduce(x); maximum.accumulate(x); maximum.outer(u, w)
    maximum.reduceat(x, k[:2]); maximum.at(x, i, y); minimum.reduce(x); minimum.accumulate(x); minimum.outer(u, w)
    minimum.reduceat(x, k[:2]); minimum.at(x, i, y); subtract.reduce(x); subtract.accumulate(x); subtract.outer(u, w)
    subtract.at(x, i, y); true_divide.outer(u, w); power.outer(u, w); logical_and.reduce(b); logical_and.accumulate(b)
    logical_or.reduce(b); logical_or.accumulate(b); logical_xor.reduce(b); bitwise_and.reduce(i); bitwise_or.reduce(i)
    bitwise_xor.reduce(i); bitwise_xor.accumulate(i); logaddexp.reduce(x); logaddexp.accumulate(x); hypot.reduce(x); hypot.outer(u, w)
    equal.outer(k, k); less.outer(u, w); arctan2.outer(u, w); fmax.reduce(x); fmin.reduce(x); gcd.reduce(i); lcm.reduce(j)
    negative.at(x, k); exp.at(x, k); mgrid[0:3, 0:2]; ogrid[0:3, 0:2]; r_[x, y]; c_[x, y]; s_[1:3]; index_exp[1:3]
    vectorize(max)(x, y); ndenumerate(a); ndindex(2, 3); nditer(x); broadcast(u, g); poly1d(u)(r); float32(r); int64(n)
    ndarray((2, 3), np.float64); dtype(np.float32); finfo(np.float32).eps; iinfo(np.int32).max; errstate(all="ignore"); matrix(m)
    datetime64("2024-01-01"); bool_(n)""",
    "x": """
    astype(np.float32); astype(int); clip(0.2, 0.8); compress(b); dot(y); fill(r); getfield(np.float32); item(2); put(k, w); repeat(2)
    reshape((2, 3)); reshape(2, 3); reshape(-1); resize((2, 3), refcheck=False); round(1); searchsorted(y); setfield(r, np.float64)
    setflags(write=False); swapaxes(0, 0); take(k); to_device("cpu"); tofile("/dev/null"); argpartition(2); partition(2)
    dump("/dev/null"); view(np.int64)""",
    "a": """
    diagonal(); trace(); swapaxes(0, 1); mT; transpose(1, 0); dot(v); sum(); mean(axis=1); reshape((4, 3)); sum(axis=(0, 1))
    std(axis=0, ddof=1)""",
    "np.linalg": """
    tensorsolve(m, v); tensorinv(m, ind=1); multi_dot([m, m, v]); norm(m, ord=2); norm(a, axis=1); lstsq(m, v, rcond=None); qr(a)
    LinAlgError('no')""",
    "np.fft": """fft(x, n=8); fft(z); ifft(z); irfft(z); irfftn(z); rfftfreq(8, 0.1); fftfreq(n)""",
    "np.random": """bytes(4); choice(5, 3); dirichlet((1.0, 2.0)); get_state(legacy=True)[0]; hypergeometric(3, 4, 2, n)
    multinomial(5, (0.2, 0.8))
    multivariate_normal(u[:2], m[:2, :2]); noncentral_f(2.0, 3.0, 1.0, n); randint(0, 9, n); random_integers(5); seed(3)
    set_state(np.random.get_state()); triangular(0.0, 0.5, 1.0, n); normal(0.0, 1.0, x.shape); uniform(0.0, 1.0, (2, 3))
    default_rng(3).normal(); RandomState(3).rand()""",
    "np.random.default_rng(7)": """bit_generator.__class__; bytes(4); dirichlet((1.0, 2.0)); hypergeometric(3, 4, 2, n)
    integers(0, 9, n)
    multinomial(5, (0.2, 0.8)); multivariate_hypergeometric((3, 4), 2); multivariate_normal(u[:2], m[:2, :2])
    noncentral_f(2.0, 3.0, 1.0, n); spawn(1)[0].random(); triangular(0.0, 0.5, 1.0, n); normal(0.0, 1.0, x.shape)
    uniform(0.0, 1.0, (2, 3)); random((2, 3))""",
    "k": """choose((u, w, u)); tolist(); max()""",
}

_OWNERS = {"x": "ndarray", "a": "ndarray", "k": "ndarray", "np.random.default_rng(7)": "np.random.Generator"}
_NAME = re.compile(r"\w+(\.(reduce|accumulate|outer|reduceat|at)\b)?")


def examples() -> Iterator[tuple[str, str]]:
    """Each example: the name that it is of, such as `np.fft.fft` or `ndarray.sum`, and the call."""
    for pattern, names in _CALLS.items():
        owner = pattern.partition("@")[0].removesuffix(".")
        for name in names.split():
            yield f"{_OWNERS.get(owner, owner)}.{name}", pattern.replace("@", name)
    for owner, calls in _OWN.items():
        for call in re.split(r";\s|\n\s*", calls.strip()):
            found = _NAME.match(call.strip())
            assert found is not None, call
            yield f"{_OWNERS.get(owner, owner)}.{found[0]}", f"{owner}.{call.strip()}"
    for name in np.__all__:
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and any(t.startswith("d" * ufunc.nin + "-") for t in ufunc.types):
            yield f"np.{name}", f"np.{name}({'x' if ufunc.nin == 1 else 'x, y'})"
