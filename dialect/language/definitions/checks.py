"""What the checks of several ops share. Each raises `Broken` with what is wrong and what would be right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierup.dialect.facts.profiled import Fact, Profiled, ProfiledScalar
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of, is_profiled
from tierup.dialect.ir.structure import values_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.definitions.definition import Broken
from tierup.dialect.mlir import ir


def integer(op: ir.Operation, name: str, low: int | None = None) -> int:
    """An integer attribute, at least `low`."""
    attribute = op.attributes[name]
    if not isinstance(attribute, ir.IntegerAttr):
        raise Broken(f"attribute '{name}' is an integer, got {attribute}")
    if low is not None and attribute.value < low:
        raise Broken(f"attribute '{name}' is at least {low}, got {attribute.value}")
    return int(attribute.value)


def indices(op: ir.Operation, name: str, bound: int, what: str) -> list[int]:
    """A dense i64 array of indices below `bound`, without repetition."""
    attribute = op.attributes[name]
    if not isinstance(attribute, ir.DenseI64ArrayAttr):
        raise Broken(f"attribute '{name}' is an array<i64: ...>, got {attribute}")
    found = list(attribute)
    for index in found:
        if not 0 <= index < bound:
            raise Broken(f"attribute '{name}' names {what} {index}, but there are {bound}")
    if len(set(found)) != len(found):
        raise Broken(f"attribute '{name}' names a {what} twice: {found}")
    return found


def word(op: ir.Operation, name: str, words: Sequence[str] | None = None) -> str:
    """A string attribute, one of `words` when they are given."""
    attribute = op.attributes[name]
    if not isinstance(attribute, ir.StringAttr):
        raise Broken(f"attribute '{name}' is a string, got {attribute}")
    if words is not None and attribute.value not in words:
        raise Broken(f"attribute '{name}' is one of {', '.join(words)}, got '{attribute.value}'")
    return str(attribute.value)


def elements(op: ir.Operation, name: str, count: int) -> list[ir.Attribute]:
    """An array attribute of one element per value."""
    attribute = op.attributes[name]
    if not isinstance(attribute, ir.ArrayAttr):
        raise Broken(f"attribute '{name}' is an array, got {attribute}")
    found = list(attribute)
    if len(found) != count:
        raise Broken(f"attribute '{name}' has {len(found)} elements for {count} values")
    return found


def facts(attribute: ir.Attribute, name: str) -> Fact:
    """The facts of a `#tierup.profiled`."""
    if not is_profiled(attribute):
        raise Broken(f"attribute '{name}' is #tierup.profiled, got {attribute}")
    try:
        return facts_of(attribute)
    except ValueError as e:
        raise Broken(f"malformed {attribute}: {e}") from e


def check_fact_fits(fact: Fact, type_: ir.Type) -> None:
    """Facts about a tensor belong to a tensor, facts about a number to a number of that kind; definedness alone to an optional too."""
    if isinstance(fact, Profiled) and fact == Profiled(defined=fact.defined) and str(type_).startswith("!torch.optional<"):
        return
    if isinstance(fact, Profiled) != torch_types.is_tensor(type_):
        raise Broken(f"has facts about a {'tensor' if isinstance(fact, Profiled) else 'number'} ({fact}) for a value of type {type_}")
    if isinstance(fact, ProfiledScalar) and "!torch.number" not in (fact.torch_type(), str(type_)) and fact.torch_type() != str(type_):
        raise Broken(f"has facts about a {fact.torch_type()} ({fact}) for a value of type {type_}")


def check_refinement(source: ir.Type, fact: Fact, result: ir.Type) -> None:
    """A guard's result type says no more than its operand's type and the guard's facts together."""
    check_fact_fits(fact, source)
    if not isinstance(fact, Profiled):
        if source != result:
            raise Broken(f"keeps the type of a number, but {source} became {result}")
        return
    if not torch_types.is_tensor(result) or torch_types.is_value_tensor(source) != torch_types.is_value_tensor(result):
        raise Broken(f"refines a tensor's type and keeps its value semantics, but {source} became {result}")
    sizes, dtype = torch_types.parse_tensor(str(result))
    known, known_dtype = torch_types.parse_tensor(str(source))
    neither = f"follows neither from {source} nor from {fact}"
    if dtype is not None and dtype not in (known_dtype, fact.dtype):
        raise Broken(f"result dtype {dtype} {neither}")
    if sizes is None:
        return
    stated = [s for s in (known, fact.sizes) if s is not None and len(s) == len(sizes)]
    if not stated:
        raise Broken(f"result rank {len(sizes)} {neither}")
    for i, size in enumerate(sizes):
        if size is not None and all(s[i] != size for s in stated):
            raise Broken(f"result size {size} of dimension {i} {neither}")


def check_truth_value(type_: ir.Type, what: str) -> None:
    """Raises Broken for a type that is neither !torch.bool nor i1."""
    if str(type_) not in ("i1", "!torch.bool"):
        raise Broken(f"{what} is !torch.bool or i1, got {type_}")


def check_tensors(values: Iterable[ir.Value], what: str) -> None:
    """Raises Broken where a value is no tensor of the torch dialect."""
    for value in values:
        if not torch_types.is_tensor(value.type):
            raise Broken(f"{what} is a torch tensor, got {value.type}")


def block_of(op: ir.Operation, index: int, what: str) -> ir.Block:
    """The one block of a region."""
    blocks = list(op.regions[index].blocks)
    if len(blocks) != 1:
        raise Broken(f"{what} has {len(blocks)} blocks, expected 1")
    return blocks[0]


def yielded(block: ir.Block, what: str) -> list[ir.Type]:
    """The types that a block's `tierup.yield` hands over."""
    ops = [view.operation for view in block.operations]
    if not ops or ops[-1].name != "tierup.yield":
        raise Broken(f"{what} ends with tierup.yield" + (f", not with {ops[-1].name}" if ops else ", it is empty"))
    return types_of(ops[-1].operands)


def check_isolated(op: ir.Operation, region: int, what: str) -> None:
    """No op in the region reads a value from outside."""
    blocks = list(op.regions[region].blocks)
    ops = [inner for block in blocks for view in block.operations for inner in (view.operation, *walk(view.operation))]
    inside = {v for of in (*(block.arguments for block in blocks), *map(values_of, ops)) for v in of}
    for inner in ops:
        for value in inner.operands:
            if value not in inside:
                raise Broken(f"{what} is isolated from above, but {inner.name} in it reads a value of type {value.type} from outside")


def check_types(actual: Sequence[ir.Type], expected: Sequence[ir.Type], what: str, than: str) -> None:
    """One type each, equal."""
    if len(actual) != len(expected):
        raise Broken(f"has {len(actual)} {_plural(what, len(actual))} for {len(expected)} {_plural(than, len(expected))}")
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        if a != e:
            raise Broken(f"{what} {i} has type {a}, but {than} {i} has type {e}")


def _plural(noun: str, count: int) -> str:
    """`operands`, `parameters of @f`; the noun as it is for one."""
    head, of, tail = noun.partition(" of ")
    return noun if count == 1 else f"{head}s{of}{tail}"


def types_of(values: Iterable[ir.Value]) -> list[ir.Type]:
    """The types of values, in order."""
    return [v.type for v in values]
