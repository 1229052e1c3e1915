"""tierup-peephole: every peephole, in the order of TorchScript's, until none applies.

    tierup-peephole-core, tierup-peephole-list-idioms, tierup-peephole-dict-idioms, tierup-peephole-alias-sensitive,
    tierup-peephole-non-tensor, tierup-peephole-concat

each a pass of its own, whose page says what it folds. Ours goes round until nothing is left to do, so that a second run finds
nothing; the ancestor goes through the parts once.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.torchscript.transforms.peephole_alias_sensitive import PeepholeAliasSensitive
from tierup.dialect.torchscript.transforms.peephole_concat import PeepholeConcat
from tierup.dialect.torchscript.transforms.peephole_core import PeepholeCore
from tierup.dialect.torchscript.transforms.peephole_dict_idioms import PeepholeDictIdioms
from tierup.dialect.torchscript.transforms.peephole_non_tensor import PeepholeNonTensor
from tierup.dialect.transforms.peephole_list_idioms import PeepholeListIdioms


@register
class Peephole(Pass):
    disable_shape: bool = False  # types are not to be trusted: fold no size, no rank, no dtype
    refine_list_len: bool = False  # fold the length of a list where a comparison decided it

    def run_on_function(self, func: ir.Operation) -> None:
        parts = (
            PeepholeCore(self.disable_shape), PeepholeListIdioms(self.refine_list_len), PeepholeDictIdioms(),
            PeepholeAliasSensitive(self.disable_shape), PeepholeNonTensor(), PeepholeConcat(),
        )  # fmt: skip
        changed = True
        while changed:
            changed = False
            for part in parts:
                changed |= part.apply(func)
