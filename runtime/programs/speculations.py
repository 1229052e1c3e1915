"""A speculation: the guards of a version to come, and how they are made of a call: of its sizes, and of ints that sizes hang on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tierup.dialect.base.records import dataclass
from tierup.lowering.base.abi import MOST_BY_NAME, ArgumentKind, ArgumentSpec
from tierup.runtime.arguments.signature import Signature, describe_specs, static_specs


@dataclass(frozen=True)
class Speculation:
    """A version to compile: its guards, and whether sizes are symbolic."""

    specs: tuple[ArgumentSpec, ...]
    kind: str  # "static", "dynamic" (sizes that varied are symbols) or "symbolic" (all are)
    generalised: tuple[tuple[int, int], ...] = ()  # (argument, dim) pairs that are symbols
    for_values: bool = False  # beside a version that hands over calls with these values: without code for it that one goes on

    @property
    def assumes_ints(self) -> bool:
        """Whether a guard is about the value of an int."""
        return any(s.kind is ArgumentKind.INT and s.value is not None for s in self.specs)

    def describe(self, names: tuple[str, ...]) -> str:
        """The guards in words. `names`: of the arguments."""
        return describe_specs(self.specs, names)


SPECULATED_KINDS = (ArgumentKind.INT, ArgumentKind.BOOL)  # what a size or a branch may hang on


def with_values(specs: tuple[ArgumentSpec, ...], values: Sequence[object]) -> tuple[ArgumentSpec, ...]:
    """The guards with the values of int and bool arguments speculated on as well. `values`: one per argument."""
    return tuple(
        ArgumentSpec(s.kind, value=v) if s.kind in SPECULATED_KINDS and s.assumed is None else s  # type: ignore[arg-type]  # its kind says so
        for s, v in zip(specs, values, strict=True)
    )


def without_ints(specs: tuple[ArgumentSpec, ...]) -> tuple[ArgumentSpec, ...]:
    """The guards with ints left open."""
    return tuple(ArgumentSpec(s.kind) if s.kind is ArgumentKind.INT else s for s in specs)


NAMED = "named"  # an int is to be a symbol


def has_name(value: int) -> bool:
    """Whether a symbol may stand for an int argument."""
    return 2 <= value <= MOST_BY_NAME


def symbolic(signature: Signature, kind: str, ints: Mapping[int, int | str] = MappingProxyType({})) -> Speculation:
    """All sizes are symbols but 0 and 1, which broadcast otherwise. For `ints` see `generalised`."""
    return generalised(signature, {i: set(range(len(sizes))) for i, sizes in enumerate(signature.sizes)}, ints, kind)


def generalised(signature: Signature, dims: Mapping[int, set[int]], ints: Mapping[int, int | str], kind: str) -> Speculation:
    """A speculation with a symbol for each of these dims, per argument, whose size is not 0 or 1. `ints`: of those assumed the value, or
    that they are symbols (`NAMED`)."""
    specs: list[ArgumentSpec] = []
    dims_named: list[tuple[int, int]] = []
    names = 0
    for argument, spec in enumerate(static_specs(signature)):
        sizes: list[int | str] = list(spec.sizes)
        for d in sorted(dims.get(argument, ())):
            if signature.sizes[argument][d] >= 2:
                sizes[d] = f"s{names}"
                names += 1
                dims_named.append((argument, d))
        value = ints.get(argument)
        if isinstance(value, str):
            value = f"s{names}"
            names += 1
        specs.append(replace(spec, sizes=tuple(sizes), value=value))
    return Speculation(tuple(specs), kind, tuple(dims_named))
