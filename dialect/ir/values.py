"""What inference knows about a value: the abstract values that shape and dtype rules compute with.

Free of MLIR. `None` in a field always means "not known". Tensors say dtype and sizes; ints carry a symbolic size when they
came from one, so that `x.view(x.size(0), -1)` keeps its shape.
"""

from __future__ import annotations

from collections.abc import Hashable

from tierup.dialect.dtypes import DType
from tierup.dialect.inference.dims import Dim
from tierup.dialect.records import dataclass

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor: element type and sizes, each known or None (unknown rank: shape is None)."""

    dtype: DType | None = None
    shape: Shape | None = None

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)


@dataclass(frozen=True)
class Counter:
    """The number of an iteration, 0 to rounds - 1, plus `offset`. `loop` tells loops apart."""

    loop: Hashable
    rounds: Dim
    offset: Dim = 0


@dataclass(frozen=True)
class Int:
    """!torch.int: a number, a symbolic size, what a loop counts, or unknown."""

    value: Dim | None = None
    counter: Counter | None = None


@dataclass(frozen=True)
class Float:
    """!torch.float."""

    value: float | None = None


@dataclass(frozen=True)
class Bool:
    """!torch.bool."""

    value: bool | None = None


@dataclass(frozen=True)
class Number:
    """!torch.number: an int or a float, not known which."""


@dataclass(frozen=True)
class Str:
    """!torch.str."""

    value: str | None = None


@dataclass(frozen=True)
class NoneValue:
    """!torch.none."""


@dataclass(frozen=True)
class Opaque:
    """A value that rules never look into (device, generator)."""


@dataclass(frozen=True)
class List:
    """!torch.list: its items in order, or None when the length is not known; `element` then says what each is at least."""

    items: tuple[Value, ...] | None
    element: Value | None = None


@dataclass(frozen=True)
class Tuple:
    """!torch.tuple."""

    items: tuple[Value, ...]


Value = Tensor | Int | Float | Bool | Number | Str | NoneValue | Opaque | List | Tuple
