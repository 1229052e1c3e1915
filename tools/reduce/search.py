"""tierup-reduce's search: which edits to try, in which order, until none of them helps any more.

Greedy to a fixpoint. Of each kind of edit all sites are tried at once, then halves, quarters, ... and single ones, from the end of the
program to its beginning, and what still shows the fault is gone on from: delta debugging (A. Zeller, R. Hildebrandt, "Simplifying and
isolating failure-inducing input", IEEE TSE 28(2), 2002). That edits know the language, and that what does not verify is never asked
about, is C-Reduce's and mlir-reduce's idea (J. Regehr et al., "Test-case reduction for C compiler bugs", PLDI 2012;
https://mlir.llvm.org/docs/Tools/mlir-reduce). The same input gives the same output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tierup.dialect.language.context import new_context
from tierup.dialect.language.text import parse_module, verify_module
from tierup.dialect.mlir import ir
from tierup.tools.reduce import functions as of_functions
from tierup.tools.reduce import regions as of_regions
from tierup.tools.reduce import values as of_values
from tierup.tools.reduce.judge import Judge, isolated

Edit = Callable[[ir.Module], list[Callable[[], None]]]
Progress = Callable[[int, int, str], None]

# What takes most away comes first.
EDITS: dict[str, Edit] = {
    "functions": of_functions.whole,
    "bodies": of_regions.first_body,
    "other bodies": of_regions.second_body,
    "loops": of_regions.no_run,
    "results": of_functions.results,
    "unused ops": of_values.unused,
    "ops by arguments": of_values.by_argument,
    "ops by operands": of_values.by_operand,
    "ops by earlier values": of_values.by_earlier,
    "ops by constants": of_values.by_constant,
    "results of bodies": of_regions.results,
    "arguments": of_functions.arguments,
    "sizes": of_functions.sizes,
    "sizes and constants": of_functions.sizes_and_constants,
    "attributes": of_functions.attributes,
}
_LOCATIONS = "locations"


@dataclass
class Search:
    """A program on its way down. `tried`: how many candidates were judged."""

    text: str
    judge: Judge
    progress: Progress
    seconds: float = 60.0
    tried: int = 0
    n_ops: int = 0  # without functions and the ends of blocks
    _sites: dict[str, int] = field(default_factory=dict)  # of each edit
    _exhausted: dict[str, str] = field(default_factory=dict)  # edits, and the text at which they last helped nothing
    _known: dict[str, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = isolated(lambda send: _measured(parse_module(self.text, new_context())), self.seconds).result
        if found is not None:
            self.n_ops, self._sites = found

    def run(self) -> str:
        """The smallest program found. `text` always shows the fault, also when this is interrupted."""
        while True:
            before = self.text
            if "loc(" in self.text:
                self._try(_LOCATIONS, range(1))
            for name in EDITS:
                if self._exhausted.get(name) != self.text:
                    self._shrink(name)
            if self.text == before:
                return self.text

    def _shrink(self, name: str) -> None:
        before = self.text
        size = self._sites.get(name, 0)
        while size:
            end = self._sites[name]
            while end > 0:
                start = max(0, end - size)
                self.progress(self.tried, self.n_ops, name)
                self._try(name, range(start, end))
                end = start  # what stands before was not touched by an edit further down
            size //= 2
        if self.text == before:
            self._exhausted[name] = before

    def _try(self, name: str, chosen: range) -> None:
        made = isolated(lambda send: _edited(self.text, name, chosen), self.seconds).result
        if made is not None and made[0] != self.text and self._shows(made[0]):
            self.text, (self.n_ops, self._sites) = made

    def _shows(self, text: str) -> bool:
        if text not in self._known:
            self.tried += 1
            self._known[text] = self.judge.shows(text)
        return self._known[text]


def _edited(text: str, name: str, chosen: range) -> tuple[str, tuple[int, dict[str, int]]]:
    """The program after an edit at some sites, and its measures. Raises what the edit or the verifier raises."""
    module = parse_module(text, new_context())
    located = "loc(" in text and name != _LOCATIONS
    if name in EDITS:
        with module.context, ir.Location.unknown():
            sites = EDITS[name](module)
            for i in reversed(chosen):
                sites[i]()
    verify_module(module)
    return module.operation.get_asm(enable_debug_info=located), _measured(module)


def _measured(module: ir.Module) -> tuple[int, dict[str, int]]:
    """How many ops a program has, and how many sites there are for each edit."""
    return sum(1 for _ in of_values.candidates(module)), {name: len(edit(module)) for name, edit in EDITS.items()}
