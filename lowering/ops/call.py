"""A call of an op that is being lowered: its operands read, its results described."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.analysis.ints.positions import FROM_END, FROM_START, INSIDE, NOT_NEGATIVE
from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import NUMPYS_STEPS
from tierup.dialect.rewriting.core import items_of, under_casts
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, Number, Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.pointwise.context import NotHandled, Parameter, parameter, tensor_type
from tierup.lowering.ops.tensors import Tensor

HAS_ELEMENTS = "tierup.has_elements"


@dataclass(frozen=True)
class Call:
    """An op of the torch dialect."""

    op: ir.Operation

    def tensor(self, i: int) -> Tensor:
        """An operand that is a tensor."""
        return tensors.of_torch(self.op.operands[i])

    def optional_tensor(self, i: int) -> Tensor | None:
        """An operand that may be None."""
        value = under_casts(self.op.operands[i])
        return None if str(value.type) == "!torch.none" else tensors.of_torch(value)

    def parameter(self, i: int) -> Parameter:
        """A number, string or None; a Scalar when the program computes it; None when the op has fewer operands."""
        return parameter(self.op.operands[i]) if i < len(self.op.operands) else None

    def known(self, i: int) -> Number | str | None:
        """A parameter that must be a constant. Raises NotHandled."""
        value = self.parameter(i)
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise NotHandled
        return value

    def ints(self, i: int) -> list[int] | None:
        """A list of constant ints, an int as a list of one, or None. Raises NotHandled."""
        value = under_casts(self.op.operands[i])
        listed = items_of(value)
        if listed is not None:
            items = [parameter(v) for v in listed]
            if all(type(v) is int for v in items):
                return items
            raise NotHandled
        found = parameter(value)
        if found is None:
            return None
        if type(found) is int:
            return [found]
        raise NotHandled

    def sizes_list(self, i: int) -> list[Size]:
        """A list of ints, known or computed. Raises NotHandled."""
        return [self._size(v) for v in self.listed(i)]

    def listed(self, i: int) -> list[ir.Value]:
        """The items of a list that is spelled out. Raises NotHandled."""
        items = items_of(under_casts(self.op.operands[i]))
        if items is None:
            raise NotHandled
        return items

    def position(self, i: int) -> Size | None:
        """An int, known or computed; None for none."""
        value = self.op.operands[i]
        return None if self.parameter(i) is None else self._size(value)

    @property
    def is_inside(self) -> bool:
        """Whether the op's one position of an axis is known to be there."""
        return INSIDE in self.op.attributes

    def place(self, i: int, length: Size) -> Size:
        """A position of an axis of so many elements, from its start. Raises NotHandled for none."""
        position = self.position(i)
        if position is None:
            raise NotHandled
        marks = self.op.attributes
        known = ir.StringAttr(marks[INSIDE]).value if INSIDE in marks else FROM_START if NOT_NEGATIVE in marks else ""
        return position if known == FROM_START else position + length if known == FROM_END else sizes.from_end(position, length)

    @staticmethod
    def _size(value: ir.Value) -> Size:
        found = parameter(value)
        if isinstance(found, Scalar):
            return found.cast(dtypes.i64).cast(INDEX)
        if type(found) is not int:
            raise NotHandled
        return found

    def tensors(self, i: int) -> list[Tensor]:
        """A list of tensors."""
        return [tensors.of_torch(v) for v in self.listed(i)]

    @property
    def in_numpys_steps(self) -> bool:
        """Whether it rounds and overflows on the way as NumPy does, not as PyTorch."""
        return NUMPYS_STEPS in self.op.attributes

    @property
    def has_elements(self) -> bool:
        """Whether operand 0, of which a part is written, is known to have elements."""
        return HAS_ELEMENTS in self.op.attributes

    def sizes(self, result: int = 0) -> tuple[int | None, ...]:
        """A result's sizes, as inference found them."""
        return tensor_type(self.op.results[result].type).sizes

    def fitted(self, lengths: Sequence[Size], result: int = 0) -> list[Size]:
        """The sizes of a result as inference knows them, else as computed. Raises NotHandled for another rank."""
        known = self.sizes(result)
        if len(known) != len(lengths):
            raise NotHandled
        return [k if k is not None else v for k, v in zip(known, lengths, strict=True)]

    def integer(self, i: int) -> int:
        """An int that must be a constant. Raises NotHandled."""
        found = self.known(i)
        if type(found) is not int:
            raise NotHandled
        return found

    def axis(self, i: int, rank: int) -> int:
        """A constant axis, counted from the front. Raises NotHandled."""
        return self.integer(i) % max(rank, 1)

    def number(self, i: int, dtype: DType, default: Number | None = None) -> Scalar:
        """A number, known or computed, in a dtype; `default` for none. Raises NotHandled where there is neither."""
        value = self.parameter(i)
        value = default if value is None else value
        if value is None:
            raise NotHandled
        return value.cast(dtype) if isinstance(value, Scalar) else constant(value, dtype)

    def dtype(self, result: int = 0) -> DType:
        """A result's dtype, as inference found it."""
        return tensor_type(self.op.results[result].type).dtype


def axes_of(dims: Sequence[int] | None, rank: int, *, empty_means_all: bool = True) -> list[int]:
    """The axes that a reduction runs over, sorted."""
    if dims is None or (empty_means_all and not dims):
        return list(range(rank))
    return sorted({d % rank for d in dims}) if rank else []


Lowering = Callable[[Call], "Tensor | Scalar | list[Tensor]"]
