"""Which bet to make next: static sizes first, then, dim by dim, symbols for the sizes that varied.

The log keeps what calls looked like and which bets were made, both bounded. `propose` answers a miss:

* a signature that came back gets a static version, while the fusion strategy has static ones left;
* once sizes have varied and static versions are used up, or two calls in a row brought sizes never seen, the sizes
  that varied become symbols, each on its own, and one version serves them all. Sizes 0 and 1 stay static;
* a bet that has code only when the values of ints and bools are known is made for each pair of sizes and values that comes back;
* a bet that was made before is never made again (the speculation log).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tierup.dialect.reasons import Reason
from tierup.dialect.records import dataclass
from tierup.lowering.abi import ArgumentKind, ArgumentSpec
from tierup.runtime.options import Options
from tierup.runtime.signature import ArgumentClass, Signature, describe_specs, static_specs

_SIGNATURES_KEPT = 64  # per function; an unseen shape per call must not grow memory
_NOVEL_SHAPES_BEFORE_DYNAMIC = 2

Classes = tuple[ArgumentClass, ...]


@dataclass(frozen=True)
class Bet:
    """A version to compile: its guards, and whether sizes are symbolic."""

    specs: tuple[ArgumentSpec, ...]
    kind: str  # "static" or "dynamic"
    generalised: tuple[tuple[int, int], ...] = ()  # (argument, dim) pairs that are symbols

    def describe(self, names: tuple[str, ...]) -> str:
        return describe_specs(self.specs, names)


BETTABLE = (ArgumentKind.INT, ArgumentKind.BOOL)  # what a size or a branch may hang on


def with_values(specs: tuple[ArgumentSpec, ...], values: Sequence[object]) -> tuple[ArgumentSpec, ...]:
    """The guards with the values of int and bool arguments bet on as well. `values`: one per argument."""
    return tuple(
        ArgumentSpec(s.kind, value=v) if s.kind in BETTABLE and s.value is None else s  # type: ignore[arg-type]  # its kind says so
        for s, v in zip(specs, values, strict=True)
    )


def _count(seen: OrderedDict[tuple[Any, ...], int], key: tuple[Any, ...]) -> None:
    seen[key] = seen.get(key, 0) + 1
    seen.move_to_end(key)
    if len(seen) > _SIGNATURES_KEPT:
        seen.popitem(last=False)


class SpeculationLog:
    """What one program's calls looked like, and the bets made on it."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple, int] = OrderedDict()
        self._varied: dict[tuple[int, int], set[int]] = {}  # (argument, rank) -> dims that had more than one size
        self._first_sizes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._novel: dict[Classes, int] = {}
        self._made: set[tuple[ArgumentSpec, ...]] = set()
        self._pending: set[tuple[ArgumentSpec, ...]] = set()
        self._valued: set[tuple[ArgumentSpec, ...]] = set()  # bets that need values
        self._seen_values: OrderedDict[tuple[Any, ...], int] = OrderedDict()
        self.bets = 0

    def record(self, signature: Signature) -> None:
        """Count a call that ran in tier 0."""
        if any(klass.kind in BETTABLE for klass in signature.classes):
            _count(self._seen_values, (signature.shapes, signature.values))
        key = signature.shapes
        if key in self._seen:
            self._seen[key] += 1
            self._seen.move_to_end(key)
            return
        known_class = any(classes == signature.classes for classes, _ in self._seen)
        self._seen[key] = 1
        if len(self._seen) > _SIGNATURES_KEPT:
            self._seen.popitem(last=False)
        if known_class:
            self._novel[signature.classes] = self._novel.get(signature.classes, 0) + 1
        for argument, (klass, sizes) in enumerate(zip(signature.classes, signature.sizes, strict=True)):
            if klass.kind is not ArgumentKind.ARRAY:
                continue
            first = self._first_sizes.setdefault((argument, klass.rank), sizes)
            varied = self._varied.setdefault((argument, klass.rank), set())
            varied.update(d for d, (a, b) in enumerate(zip(first, sizes, strict=True)) if a != b)

    def seen(self) -> list[tuple[tuple[Classes, tuple[tuple[int, ...], ...]], int]]:
        """The classes and sizes of calls that tier 0 answered, and how often they came."""
        return list(self._seen.items())

    def made_bets(self) -> list[tuple[ArgumentSpec, ...]]:
        """The guards of all bets that were made, in no order."""
        return list(self._made)

    def times_seen(self, signature: Signature) -> int:
        return self._seen.get(signature.shapes, 0)

    def propose(self, signature: Signature, options: Options) -> Bet | Reason:
        """The bet for a call that fitted no version and is being made now, or why none is made. Does not record the call."""
        kind = options.kind_of_version(self.bets)
        if kind is None:
            return Reason.DEPTH_EXHAUSTED
        seen = self.times_seen(signature)
        novel = self._novel.get(signature.classes, 0) + (seen == 0 and any(c == signature.classes for c, _ in self._seen))
        dynamic = self._dynamic(signature)
        if kind == "static" and novel >= _NOVEL_SHAPES_BEFORE_DYNAMIC and dynamic.generalised and self._has_dynamic_left(options):
            kind = "dynamic"
        if kind == "dynamic" and dynamic.generalised and (seen or novel):
            bet = dynamic
        elif seen >= max(options.num_profiled_runs, 1) or options.num_profiled_runs == 0:
            bet = Bet(static_specs(signature), "static")
        else:
            return Reason.NOT_SEEN_BEFORE
        if bet.specs in self._valued:
            bet = replace(bet, specs=with_values(bet.specs, signature.values))
            if self._seen_values.get((signature.shapes, signature.values), 0) < options.num_profiled_runs:
                return Reason.NOT_SEEN_BEFORE
        if bet.specs in self._made:
            return Reason.COMPILING if bet.specs in self._pending else Reason.SITE_GIVEN_UP
        return bet

    def needs_values(self, specs: tuple[ArgumentSpec, ...], valued: tuple[ArgumentSpec, ...]) -> None:
        """Note that a bet on `specs` has code only with the values of its ints and bools, and that `valued` was made of it."""
        self._valued.add(specs)
        self._made.add(valued)

    def made(self, bet: Bet) -> None:
        """Note a bet, so that it is counted and never made twice. It is being compiled until it is `settled`."""
        self._made.add(bet.specs)
        self._pending.add(bet.specs)
        self.bets += 1

    @property
    def pending(self) -> bool:
        """Whether a bet is being compiled."""
        return bool(self._pending)

    def settled(self, bet: Bet) -> None:
        """Note that a bet has its version, or will have none."""
        self._pending.discard(bet.specs)

    def _has_dynamic_left(self, options: Options) -> bool:
        return any(
            options.kind_of_version(i) == "dynamic" for i in range(self.bets, self.bets + sum(n for _, n in options.fusion_strategy))
        )

    def _dynamic(self, signature: Signature) -> Bet:
        specs, generalised = [], []
        for argument, spec in enumerate(static_specs(signature)):
            klass = signature.classes[argument]
            varied = set(self._varied.get((argument, klass.rank), ()))
            first = self._first_sizes.get((argument, klass.rank), spec.sizes)
            varied |= {d for d, (a, b) in enumerate(zip(first, spec.sizes, strict=True)) if a != b}  # this call counts too
            sizes: list[int | str] = list(spec.sizes)
            for d in sorted(varied):
                if signature.sizes[argument][d] >= 2:
                    sizes[d] = f"s{len(generalised)}"
                    generalised.append((argument, d))
            specs.append(replace(spec, sizes=tuple(sizes)))
        return Bet(tuple(specs), "dynamic", tuple(generalised))
