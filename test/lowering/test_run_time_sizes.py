"""Calls of NumPy's with parts of arrays whose sizes only the run knows: values and exceptions are NumPy's, for sizes that fit and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checking import plain
from running import function_of
from sampling import drawn

import tierup

CALLS = (
    "np.squeeze(x[:n],axis=0)", "x[:n].squeeze(0)+1", "x[:n]+y[:k]", "x[:n]@y[:k]", "a[:n]@b[:k]", "a[:n]@y[:k]",
    "np.dot(x[:n],y[:k])", "np.outer(x[:n],y[:k])", "x[:n].max()", "np.argmax(x[:n])", "np.max(a[:n],axis=0)",
    "np.min(a[:,:n],axis=1)", "np.concatenate([a[:n],b[:k]])", "np.concatenate([a[:n],b[:k]],axis=1)", "np.stack([x[:n],y[:k]])",
    "np.vstack([x[:n],y[:k]])", "x[:n].reshape(2,-1)", "x[:n].reshape(k,2)", "np.where(x[:n]>0,y[:k],1.0)",
    "np.broadcast_to(x[:n],(3,3))", "np.maximum(x[:n],y[:k])", "a[:n]*x[:k]", "np.cross(x[:n],y[:3])", "np.trace(a[:n,:k])",
    "np.diag(x[:n])", "np.linalg.det(a[:n,:k])", "np.linalg.solve(a[:n,:n],y[:k])", "np.split(x[:n],2)[0]",
    "np.array_split(x[:n],k)[0]", "np.interp(0.5,x[:n],y[:k])", "np.median(x[:n])", "np.percentile(x[:n],50)", "np.cumsum(x[:n])",
    "np.diff(x[:n])", "np.convolve(x[:n],y[:k])", "np.take(x[:n],[1])", "x[:n][1]", "x[:n][-1]", "x[:n][k]", "np.sort(x[:n])",
    "np.searchsorted(x[:n],0.5)", "np.einsum('i,i->',x[:n],y[:k])", "np.tensordot(a[:n],b[:k],1)", "np.roll(x[:n],1)",
    "np.repeat(x[:n],k)", "np.tile(x[:n],2)", "np.tile(a[:n],(k,2))", "np.pad(x[:n],1,mode='edge')", "np.pad(x[:n],(1,1),mode='wrap')",
    "np.pad(x[:n],1,mode='reflect')", "np.ptp(x[:n])", "np.mean(x[:n])", "np.prod(x[:n])", "np.average(x[:n],weights=y[:k])",
    "np.cov(x[:n],y[:k])", "np.corrcoef(x[:n],y[:k])", "np.histogram(x[:n])[0]", "np.linspace(0,1,n)", "np.arange(n)[k]",
    "np.swapaxes(a[:n],0,1)+b[:k]", "np.kron(x[:n],y[:k])", "np.trapezoid(x[:n],y[:k])", "np.gradient(x[:n])", "np.unwrap(x[:n])",
    "np.bincount(np.arange(n),weights=y[:k])", "np.choose(np.arange(n)%2,(y[:k],y[:k]*2))", "np.atleast_2d(x[:n])@b[:k]",
    "np.inner(x[:n],y[:k])", "np.vdot(x[:n],y[:k])", "np.matmul(a[:n].T,b[:k])", "np.column_stack([x[:n],y[:k]])",
    "np.hstack([x[:n],y[:k]])", "x[:n].reshape(-1,k)", "x[:n].reshape(k,-1).sum(axis=1)", "np.unstack(a[:n])[0]", "a[:n].ravel()[k]",
    "np.delete(x[:n],1)", "np.insert(x[:n],2,5.0)", "np.nanmax(x[:n])", "np.ldexp(x[:n],2)", "np.clip(x[:n],0,y[:k])",
    "np.fliplr(a[:n,:k])", "np.rot90(a[:n,:k])", "np.add.reduceat(x[:n],[0,2])", "np.minimum.reduce(x[:n])", "np.isclose(x[:n],y[:k])",
    "np.copyto(x[:n],y[:k])", "np.allclose(x[:n],y[:k])", "np.array_equal(x[:n],y[:k])", "np.lexsort((x[:n],y[:k]))",
    "np.polyval(x[:n],2.0)", "np.vander(x[:n])", "np.triu(a[:n,:k])", "np.linalg.norm(x[:n],ord=np.inf)",
    "np.linalg.inv(a[:n,:k]+np.eye(3)[:n,:k]*9)", "np.linalg.qr(a[:n,:k])[1]", "np.block([[a[:n],b[:k]]])",
    "x.__setitem__(slice(0,n),y[:k])", "np.moveaxis(a[:n],0,1)@y[:k]", "np.partition(x[:n],1)",
)  # fmt: skip
SIZES = ((2, 2), (2, 2), (3, 3), (1, 1), (2, 3), (0, 0), (3, 2), (0, 2), (1, 3), (2, 0), (3, 1), (-1, -1), (3, 3))


def outcome(f: Any, given: list[Any]) -> Any:
    with np.errstate(all="ignore"):
        try:
            return f(*given), given
        except Exception as e:  # noqa: BLE001 - whatever comes
            return type(e), given


def alike(found: Any, want: Any) -> bool:
    if isinstance(want, (list, tuple)):
        return type(found) is type(want) and len(found) == len(want) and all(map(alike, found, want))
    if isinstance(want, (np.ndarray, np.generic)):
        same = type(found) is type(want) and found.dtype == want.dtype and found.shape == want.shape
        return same and np.allclose(found, want, rtol=1e-12, equal_nan=True)
    return type(found) is type(want) and found == want


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", drawn("run-time sizes", CALLS, 16))
def test_a_call_does_what_numpys_does_whatever_the_sizes_are(call: str, tmp_path: Path) -> None:
    source = f"def f(x, y, a, b, n, k):\n    v = {call}\n    return v\n"
    python = plain(source)
    f, rng = tierup.jit(function_of(source, tmp_path), weigh=False), np.random.default_rng(0)
    for n, k in SIZES:
        given = [np.sort(rng.random(3)), rng.random(3), rng.random((3, 3)), rng.random((3, 3)), n, k]
        copied = [v.copy() if isinstance(v, np.ndarray) else v for v in given]
        assert alike(outcome(f, copied), outcome(python, given)), (call, n, k)
