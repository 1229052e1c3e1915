"""tierup-isolate-entry: all functions but the entry are private, and bailouts forget their continuations, which are other programs.

    func.func @f(...) attributes {tierup.entry} {
      %0 = "tierup.bailout"(%x) {continuation = @f_continuation_0, index = 0 : i64, ...} : ...
    func.func @g(...)

becomes

    func.func @f(...) attributes {tierup.entry} {
      %0 = "tierup.bailout"(%x) {index = 0 : i64, ...} : ...
    func.func private @g(...)

So what the entry calls is inlined, and all else dropped. A bailout in a function that is called would leave it alone, not its caller, which
is refused.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.lowering.analysis.stated import ENTRY, entry_of
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused

_CONTINUATION = "continuation"


@register
class IsolateEntry(Pass):
    def run(self, module: ir.Module) -> None:
        if entry_of(module) is None:
            return
        called, bailouts = set(), {}
        for function in functions(module.operation):
            name = symbol_of(function)
            for op in b.walk(function):
                if op.name == "func.call":
                    called.add(callee_name(op))
                elif op.name == "tierup.bailout":
                    bailouts[name] = op
                    if _CONTINUATION in op.attributes:
                        del op.attributes[_CONTINUATION]
            if ENTRY not in function.attributes:
                function.attributes["sym_visibility"] = ir.StringAttr.get("private")
            elif "sym_visibility" in function.attributes:
                del function.attributes["sym_visibility"]
        for name in called & set(bailouts):
            raise Refused(bailouts[name], f"leaves @{name}, which another function calls")
