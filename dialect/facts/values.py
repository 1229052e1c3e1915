"""What inference knows about a value: the abstract values that shape and dtype rules compute with.

Free of MLIR. `None` in a field always means "not known". Tensors say dtype and sizes; ints carry a symbolic size when they
came from one, so that `x.view(x.size(0), -1)` keeps its shape.
"""

from __future__ import annotations

from collections.abc import Hashable

from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim

Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class Tensor:
    """A tensor: element type and sizes, each known or None (unknown rank: shape is None)."""

    dtype: DType | None = None
    shape: Shape | None = None

    @property
    def rank(self) -> int | None:
        """How many dims the tensor has; None where that is not known."""
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
class Never:
    """No value: it stands where a program has none yet, and whoever would read it is never reached (torch.prim.Uninitialized)."""


@dataclass(frozen=True)
class List:
    """!torch.list: its items in order, or None when the length is not known; `element` then says what each is at least."""

    items: tuple[Value, ...] | None
    element: Value | None = None


@dataclass(frozen=True)
class Tuple:
    """!torch.tuple."""

    items: tuple[Value, ...]


Value = Tensor | Int | Float | Bool | Number | Str | NoneValue | Opaque | Never | List | Tuple


def joined(a: Value, b: Value) -> Value:
    """What holds of both values."""
    if a == b or isinstance(b, Never):
        return a
    if isinstance(a, Never):
        return b
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return Tensor(a.dtype if a.dtype == b.dtype else None, a.shape if a.shape == b.shape else None)
    if isinstance(a, List) and isinstance(b, List):
        if a.items is not None and b.items is not None and len(a.items) == len(b.items):
            return List(tuple(joined(x, y) for x, y in zip(a.items, b.items, strict=True)))
        return List(None, _element(a, b))
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(joined(x, y) for x, y in zip(a.items, b.items, strict=True)))
    if type(a) is type(b):
        return type(a)()  # type: ignore[call-arg]  # a scalar of unknown value
    if isinstance(a, (Int, Float, Number)) and isinstance(b, (Int, Float, Number)):
        return Number()
    return Opaque()


def _element(*lists: List) -> Value | None:
    parts = [p for x in lists for p in (x.items if x.items is not None else (x.element,)) if p is not None]
    if not parts:
        return None
    found = parts[0]
    for part in parts[1:]:
        found = joined(found, part)
    return found
