"""Complex numbers: their parts, their conjugates, and what Python's complex numbers are beside arrays. None has a gradient."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.ops.pointwise.elements import Element, Elements, Parameter
from tierup.dialect.ops.pointwise.elementwise import pointwise
from tierup.dialect.optable.core import OF_COMPLEX
from tierup.dialect.optable.kernels.promotion import Gives

_of_complex = partial(
    pointwise, no_gradient="complex numbers have none yet", **OF_COMPLEX,
)  # fmt: skip


def _weak(like: Any, real: Any, imag: Any) -> Any:
    return np.full(np.shape(like), complex(real, imag), np.result_type(like.dtype, 1j))


@_of_complex(
    "tierup.weak_complex(Tensor like, float real, float imag) -> Tensor", gives=Gives.COMPLEX, numpy=_weak, form="unary", exact=True
)
def weak_complex(m: Elements, like: Element, real: Parameter, imag: Parameter) -> Element:
    """A Python complex number in the complex dtype that it gives beside arrays like `like` (NEP 50)."""
    part = m.real(like)
    return m.complex(m.number(real, part), m.number(imag, part))


@_of_complex("tierup.conj_physical(Tensor self) -> Tensor", numpy=np.conjugate, exact=True)
def conj_physical(m: Elements, x: Element) -> Element:
    """The conjugate; of a real number itself."""
    return m.complex(m.real(x), -m.imag(x)) if m.is_complex(x) else x


@_of_complex("tierup.real(Tensor self) -> Tensor", gives=Gives.REAL, numpy=lambda x: x.real.copy(), form="as_is", exact=True)
def real(m: Elements, x: Element) -> Element:
    """The real part, as values of their own."""
    return m.real(x)


@_of_complex("tierup.imag(Tensor self) -> Tensor", gives=Gives.REAL, numpy=lambda x: x.imag.copy(), form="as_is", exact=True)
def imag(m: Elements, x: Element) -> Element:
    """The imaginary part, as values of their own."""
    return m.imag(x)
