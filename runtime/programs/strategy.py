"""Which speculation to make next: static sizes first, then, dim by dim, symbols for the sizes that varied, then symbols for all.

The log keeps what calls looked like and which speculations were made, both bounded. `propose` answers a miss:

* a signature that came back gets a static version, while the fusion strategy has static ones left;
* once sizes have varied and static versions are used up, or two new shapes of a kind came, the sizes that varied become
  symbols, each on its own, and one version serves them all. Sizes 0 and 1 stay static;
* beyond the strategy, or for kinds of arguments (dtypes, ranks, layouts) that come after too many others, a call gets a fully
  symbolic version, in which no size of 2 or more is speculated on: one for each kind, and no more than `max_versions` of them;
* an int argument that sizes hang on (`np.zeros(n)`, `x[:n]`) is assumed like a size: its value where all calls so far had that one, else a
  symbol, for any of 2 or more. Where one has a value that no symbol stands for (0, 1, below, huge) all are left open, and from then on
  where an assumption on them had no code;
* a speculation that has code only when the values of ints and bools are known is made for each pair of sizes and values that comes back;
* so is one for values that calls have in common which native code hands over (`dispatching/handed_over.py`);
* a speculation that was made before is never made again (the speculation log), not even when its version was evicted: the next more general
  speculation is made instead.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import MOST_BY_NAME, ArgumentKind, ArgumentSpec
from tierup.runtime.arguments.signature import ArgumentClass, Signature
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.base.recent import Recent
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.programs.speculations import (
    NAMED,
    SPECULATED_KINDS,
    Speculation,
    generalised,
    has_name,
    symbolic,
    with_values,
    without_ints,
)

_SIGNATURES_KEPT = 64  # per function; an unseen shape per call must not grow memory
_NOVEL_SHAPES_BEFORE_DYNAMIC = 2
_CLASSES_BEFORE_SYMBOLIC = 8  # a function with so many kinds of arguments will see more: the next kinds get one version each

Classes = tuple[ArgumentClass, ...]
Shapes = tuple[Classes, tuple[tuple[int, ...], ...]]
Seen = tuple[Classes, tuple[tuple[int, ...], ...], dict[int, int]]


def _count(seen: Recent[Any, int], key: Any, before: int = 0) -> None:
    seen.keep(key, seen.get(key, before) + 1, _SIGNATURES_KEPT)


class Underway:
    """The speculations of one owner that are being compiled. The caller holds a lock."""

    def __init__(self) -> None:
        self._speculations: dict[tuple[ArgumentSpec, ...], Speculation] = {}

    def __contains__(self, specs: tuple[ArgumentSpec, ...]) -> bool:
        return specs in self._speculations

    def __bool__(self) -> bool:
        return bool(self._speculations)

    def begin(self, speculation: Speculation) -> None:
        """Note that a speculation is being compiled."""
        self._speculations[speculation.specs] = speculation

    def end(self, speculation: Speculation) -> bool:
        """Whether this very speculation was on its way: another attempt at the same guards goes on."""
        if self._speculations.get(speculation.specs) is not speculation:
            return False
        del self._speculations[speculation.specs]
        return True


class SpeculationLog:
    """What one program's calls looked like, and the speculations made on it. `sizing`: the int arguments that sizes hang on."""

    def __init__(self, sizing: Collection[int] = ()) -> None:
        self._sizing = sizing
        self._ints: dict[int, int | None] = {}  # of these: the value that all calls had, None where they had several
        self._leaves_ints_open = False  # an assumption on one had no code
        self._seen: Recent[Shapes, int] = Recent()
        self._varied: dict[tuple[int, int], set[int]] = {}  # (argument, rank) -> dims that had more than one size
        self._first_sizes: dict[tuple[int, int], tuple[int, ...]] = {}
        self._novel: Recent[Classes, int] = Recent()  # kinds of arguments -> shapes beyond the first
        self._classes_tried: set[Classes] = set()
        self._made: set[tuple[ArgumentSpec, ...]] = set()
        self._underway = Underway()
        self._evicted: set[tuple[ArgumentSpec, ...]] = set()
        self._valued: set[tuple[ArgumentSpec, ...]] = set()  # speculations that need values
        self._seen_values: Recent[tuple[Any, ...], int] = Recent()
        self.within_strategy = 0  # within the strategy
        self.beyond_strategy = 0  # beyond it

    def record(self, signature: Signature) -> None:
        """Count a call that no version fitted, after `propose` has answered it."""
        if any(klass.kind in SPECULATED_KINDS for klass in signature.classes):
            _count(self._seen_values, (signature.shapes, signature.values))
        for argument, value in self._sizing_values(signature).items():
            self._ints[argument] = value if self._ints.get(argument, value) == value else None
        key, classes = signature.shapes, signature.classes
        is_new = key not in self._seen
        _count(self._seen, key)
        if not is_new:
            return
        _count(self._novel, classes, -1)
        for argument, (klass, sizes) in enumerate(zip(classes, signature.sizes, strict=True)):
            if klass.kind is not ArgumentKind.ARRAY:
                continue
            first = self._first_sizes.setdefault((argument, klass.rank), sizes)
            varied = self._varied.setdefault((argument, klass.rank), set())
            varied.update(d for d, (a, b) in enumerate(zip(first, sizes, strict=True)) if a != b)

    def seen(self) -> list[tuple[tuple[Classes, tuple[tuple[int, ...], ...]], int]]:
        """The classes and sizes of calls that tier 0 answered, and how often they came."""
        return list(self._seen.items())

    def calls(self) -> list[Seen]:
        """The classes and sizes of calls that no version fitted, and by argument the value that an int which sizes hang on had in all of
        them."""
        ints = {argument: value for argument, value in self._ints.items() if value is not None}
        return [(classes, sizes, ints) for classes, sizes in self._seen]

    def made_speculations(self) -> list[tuple[ArgumentSpec, ...]]:
        """The guards of all speculations that were made, in no order."""
        return list(self._made)

    def propose(self, signature: Signature, options: Options) -> Speculation | Reason:
        """The speculation for a call that fitted no version and is being made now, or why none is made. Does not record the call."""
        kind = options.kind_of_version(self.within_strategy)
        is_open = options.is_dynamic  # a strategy of static versions alone wants no other kind
        is_megamorphic = len(self._classes_tried) >= _CLASSES_BEFORE_SYMBOLIC and signature.classes not in self._classes_tried
        if is_open and (kind is None or is_megamorphic):
            kind = "symbolic"
        if kind is None or kind == "symbolic" and self.beyond_strategy >= options.max_versions:
            return Reason.DEPTH_EXHAUSTED
        seen = self._seen.get(signature.shapes, 0)
        known = signature.classes in self._novel
        novel = self._novel.get(signature.classes, 0) + (known and not seen)
        ints = self._int_assumptions(signature, options)
        dynamic = self._dynamic(signature, ints)
        if kind == "static" and novel >= _NOVEL_SHAPES_BEFORE_DYNAMIC and dynamic.generalised and self._has_dynamic_left(options):
            kind = "dynamic"
        if kind == "symbolic" and (known or options.num_profiled_runs == 0):
            speculations = [self._symbolic(signature, ints)]
        elif kind == "dynamic" and dynamic.generalised and (seen or novel):
            speculations = [dynamic, self._symbolic(signature, ints)]
        elif kind != "symbolic" and (seen >= max(options.num_profiled_runs, 1) or options.num_profiled_runs == 0):
            static = generalised(signature, {}, ints, "dynamic" if any(isinstance(v, str) for v in ints.values()) else "static")
            speculations = [static, *([dynamic] if dynamic.generalised else []), self._symbolic(signature, ints)]
            if kind == "dynamic" and not options.is_static_first and speculations[-1].generalised:  # no size has varied: all may
                first = replace(speculations[-1], kind="dynamic")
                if self._unless_made(first, signature, options) is not Reason.SITE_GIVEN_UP:  # that is one without code for open sizes
                    speculations = [first, *speculations]
        else:
            return Reason.NOT_SEEN_BEFORE
        for speculation in speculations if is_open else speculations[:1]:
            proposal = self._unless_made(speculation, signature, options)
            if proposal is not Reason.EVICTED:
                return proposal
        return Reason.EVICTED

    def _unless_made(self, speculation: Speculation, signature: Signature, options: Options) -> Speculation | Reason:
        if speculation.specs in self._valued:
            speculation = replace(speculation, specs=with_values(speculation.specs, signature.values))
            if self._seen_values.get((signature.shapes, signature.values), 0) < options.num_profiled_runs:
                return Reason.NOT_SEEN_BEFORE
        if speculation.specs in self._evicted:
            return Reason.EVICTED
        if speculation.specs in self._made:
            return Reason.COMPILING if speculation.specs in self._underway else Reason.SITE_GIVEN_UP
        if speculation.kind == "symbolic" and self.beyond_strategy >= options.max_versions:
            return Reason.DEPTH_EXHAUSTED
        return speculation

    def has_room(self, speculation: Speculation, options: Options | None) -> bool:
        """Whether a speculation that an earlier process made may be made here: it is new, and the strategy of the options has such left."""
        if speculation.specs in self._made:
            return False
        if options is None:
            return True
        if speculation.kind == "symbolic":
            return options.is_dynamic and self.beyond_strategy < options.max_versions
        return options.kind_of_version(self.within_strategy) is not None

    def for_values(self, speculation: Speculation, options: Options) -> Speculation | None:
        """`speculation`, on values of ints and bools, if it may be made for calls that code without them hands over."""
        if not options.profile or speculation.specs in self._made:
            return None
        kind = speculation.kind if options.kind_of_version(self.within_strategy) is not None else "symbolic"
        if kind == "symbolic" and (not options.is_dynamic or self.beyond_strategy >= options.max_versions):
            return None
        return replace(speculation, kind=kind)

    def needs_values(self, specs: tuple[ArgumentSpec, ...], valued: tuple[ArgumentSpec, ...]) -> None:
        """Note that a speculation on `specs` has code only with the values of its ints and bools, or with its ints open, and that `valued`
        was made of it."""
        if valued == without_ints(specs):
            self._leaves_ints_open = True
        else:
            self._valued.add(specs)
        self._made.add(valued)

    def made(self, speculation: Speculation, classes: Classes) -> None:
        """Note a speculation for a call with such arguments, so that it is counted and never made twice. It is being compiled until it is
        `decided` or `ended`."""
        self._underway.begin(speculation)
        self._made.add(speculation.specs)
        if speculation.kind == "symbolic":
            self.beyond_strategy += 1
        else:
            self.within_strategy += 1
            self._classes_tried.add(classes)

    def evicted(self, specs: tuple[ArgumentSpec, ...]) -> None:
        """Note that the version of a speculation had to go for others."""
        self._evicted.add(specs)

    def withdraw(self, speculation: Speculation) -> None:
        """Forget a speculation for which something ran out, so that it may be made again."""
        self._underway.end(speculation)
        if speculation.specs in self._made and speculation.specs not in self._underway:
            self._made.discard(speculation.specs)
            if speculation.kind == "symbolic":
                self.beyond_strategy -= 1
            else:
                self.within_strategy -= 1

    def ended(self, speculation: Speculation) -> None:
        """Nobody compiles a speculation any more: forget it if it was not `decided`."""
        if self._underway.end(speculation):
            self.withdraw(speculation)

    @property
    def pending(self) -> bool:
        """Whether a speculation is being compiled."""
        return bool(self._underway)

    def refused(self, speculation: Speculation, why: NotCompiled) -> None:
        """Note that a speculation has no code."""
        self.decided(speculation)

    def told(self, speculation: Speculation) -> tuple[EventKind, Reason | None, str]:
        """How a new version is told."""
        is_open = speculation.kind != "static"
        kind, reason = (EventKind.GENERALISED, Reason.GENERALISED) if is_open else (EventKind.COMPILED, None)
        return kind, reason, f"a {speculation.kind} version for"

    def decided(self, speculation: Speculation) -> None:
        """Note that a speculation has its version, or will have none."""
        self._underway.end(speculation)

    def _has_dynamic_left(self, options: Options) -> bool:
        now, most = self.within_strategy, sum(n for _, n in options.fusion_strategy)
        return any(options.kind_of_version(i) == "dynamic" for i in range(now, now + most))

    def _sizing_values(self, signature: Signature) -> dict[int, int]:
        return {i: value for i in self._sizing if type(value := signature.values[i]) is int}

    def _int_assumptions(self, signature: Signature, options: Options) -> dict[int, int | str]:
        """What is assumed of ints that sizes hang on: a value that all calls had, of others that they are named."""
        if self._leaves_ints_open or not options.is_dynamic or options.backend != "cpu":
            return {}
        known = {i: value for i, value in self._sizing_values(signature).items() if i in self._ints}
        varied = [i for i, value in known.items() if value != self._ints[i]]
        takes = all(has_name(known[i]) for i in varied) and all(abs(value) <= MOST_BY_NAME for value in known.values())
        return known | dict.fromkeys(varied, NAMED) if takes else {}

    def _dynamic(self, signature: Signature, ints: Mapping[int, int | str]) -> Speculation:
        """The sizes that varied are symbols."""
        dims: dict[int, set[int]] = {}
        for argument, (klass, sizes) in enumerate(zip(signature.classes, signature.sizes, strict=True)):
            first = self._first_sizes.get((argument, klass.rank), sizes)
            now = {d for d, (a, b) in enumerate(zip(first, sizes, strict=True)) if a != b}  # this call counts too
            dims[argument] = now | self._varied.get((argument, klass.rank), set())
        return generalised(signature, dims, ints, "dynamic")

    def _symbolic(self, signature: Signature, ints: Mapping[int, int | str]) -> Speculation:
        """All sizes are symbols."""
        named = all(isinstance(value, str) or has_name(value) for value in ints.values())
        return symbolic(signature, "symbolic", dict.fromkeys(ints, NAMED) if named else {})
