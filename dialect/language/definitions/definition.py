"""How an op of the tierup dialect is defined: its fields, and a function whose docstring is its meaning and whose body its check.

    @define("guard", operands=["value"], results=["result"], attributes={"expected": "..."})
    def guard(op: ir.Operation) -> None:
        \"\"\"Identity that refines the type ...\"\"\"
        check_refinement(...)

The ops are not declared to MLIR with IRDL (`dialects.ext`): IRDL binds all values of a variadic field to one type, and most of
these ops take a list of values of different types. So to MLIR they are ops of an unregistered dialect, which it treats with
all due caution (unknown effects, isolated, any terminator), and ops.py verifies them. See docs/dialect.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import closest
from tierup.dialect.mlir import ir

Check = Callable[[ir.Operation], None]


class Broken(Exception):
    """An op that is not what its definition says; the message follows "'tierup.x' op"."""


@dataclass(frozen=True)
class OpDefinition:
    """One op. A field name that ends in `*` stands for any number of values; at most one of each kind, the last but for `ok`."""

    name: str
    summary: str
    check: Check
    operands: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    regions: tuple[str, ...] = ()

    def verify(self, op: ir.Operation) -> None:
        """Raises Broken."""
        _check_count("operand", self.operands, len(op.operands))
        _check_count("result", self.results, len(op.results))
        _check_regions(self.regions, len(op.regions))
        present = set(op.attributes)
        for name, meaning in self.attributes.items():
            if name not in present:
                raise Broken(f"needs the attribute '{name}': {meaning}")
        for name in sorted(present):
            if name not in self.attributes and name not in self.optional and "." not in name:
                known = [*self.attributes, *self.optional]
                has = f"; it has {', '.join(known)}" if known else "; it has none"
                raise Broken(f"has no attribute '{name}'{closest(name, known) or has}")
        self.check(op)


DEFINITIONS: dict[str, OpDefinition] = {}  # whole once ops.py is imported; take it from there


def define(
    name: str,
    *,
    operands: Sequence[str] = (),
    results: Sequence[str] = (),
    attributes: Mapping[str, str] | None = None,
    optional: Mapping[str, str] | None = None,
    regions: Sequence[str] = (),
) -> Callable[[Check], OpDefinition]:
    """Decorator that turns a check into the definition of `tierup.<name>`."""

    def make(check: Check) -> OpDefinition:
        summary = " ".join((check.__doc__ or "").split())
        definition = OpDefinition(
            f"tierup.{name}", summary, check, tuple(operands), tuple(results), attributes or {}, optional or {}, tuple(regions)
        )
        DEFINITIONS[definition.name] = definition
        return definition

    return make


def _check_count(kind: str, names: tuple[str, ...], count: int) -> None:
    shown = f" ({', '.join(names)})" if names else ""
    fixed = sum(not n.endswith("*") for n in names)
    plural = kind if count == 1 else kind + "s"
    if fixed == len(names) and count != fixed:
        raise Broken(f"has {count} {plural}, expected {fixed}{shown}")
    if count < fixed:
        raise Broken(f"has {count} {plural}, expected at least {fixed}{shown}")


def _check_regions(names: tuple[str, ...], count: int) -> None:
    if count == len(names):
        return
    # MLIR takes an op with a single region of an unregistered dialect for a symbol table of unknown kind:
    # symbol-dce gives up on such a module and inline crashes, so ops with one body have a second, empty region.
    hint = "; write ({...}, {})" if names == ("body", "empty") and count == 1 else ""
    shown = f" ({', '.join(names)})" if names else ""
    raise Broken(f"has {count} region{'' if count == 1 else 's'}, expected {len(names)}{shown}{hint}")
