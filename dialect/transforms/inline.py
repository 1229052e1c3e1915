"""tierup-inline: put the bodies of called functions in the place of the calls.

    func.func private @leaf(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
      return %0 : !torch.vtensor
    }
    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = call @leaf(%x) : (!torch.vtensor) -> !torch.vtensor
      return %0 : !torch.vtensor
    }

becomes

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor       loc(callsite(<tanh> at <call>))
      return %0 : !torch.vtensor
    }

The work is MLIR's `inline`, without the canonicalizer that it runs by default, which would drop ops and the exceptions that they
raise. A call cycle is refused: nothing says how deep it goes. A fallback (`tierup.fallback`) has an executor of its own and stays
a function; a private function that nobody calls any more goes. MLIR inlines nothing into ops of the tierup dialect: a call in one
gets a remark and stays (`tierup-lower-grad-of` first, where it stands in a `tierup.grad_of`).
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.ir.walking import callee_name, function_names, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, PassFailure, functions, parse, register

_FALLBACK = "tierup.fallback"
_NO_INLINE = "no_inline"


@register
class Inline(Pass):
    def run(self, module: ir.Module) -> None:
        _refuse_cycles(_calls(module))
        kept = {name: f for name, f in function_names(module).items() if _FALLBACK in f.attributes and _NO_INLINE not in f.attributes}
        for func in kept.values():
            func.attributes[_NO_INLINE] = ir.UnitAttr.get()
        parse("builtin.module(inline{default-pipeline=})").run(module)
        for name, func in function_names(module).items():  # those that are left
            if name in kept:
                del func.attributes[_NO_INLINE]
        for func in functions(module.operation):
            for op in walk(func):
                if op.name == "func.call" and _in_region_of_ours(op):
                    diagnostics.remark(op, f"stays a call: nothing is inlined into {_in_region_of_ours(op)}")


def _calls(module: ir.Module) -> dict[str, list[tuple[ir.Operation, str]]]:
    """The calls in each defined function: the op, and whom it calls."""
    found = {}
    for name, func in function_names(module).items():
        calls = [op for op in walk(func) if op.name == "func.call"]
        found[name] = [(op, callee_name(op)) for op in calls]
    return found


def _refuse_cycles(calls: Mapping[str, list[tuple[ir.Operation, str]]]) -> None:
    done: set[str] = set()
    for start in calls:
        path: list[str] = []
        open_: list[tuple[str, int]] = [(start, 0)]  # a stack of its own: chains may be deeper than Python's
        while open_:
            name, i = open_.pop()
            if i == 0:
                path.append(name)
            if i == len(calls.get(name, ())) or name in done:
                done.add(path.pop())
                continue
            open_.append((name, i + 1))
            op, callee = calls[name][i]
            if callee in path:
                cycle = " -> ".join(f"@{n}" for n in [*path[path.index(callee) :], callee])
                raise PassFailure(op, f"is recursive ({cycle}): such a program cannot be inlined")
            open_.append((callee, 0))


def _in_region_of_ours(op: ir.Operation) -> str:
    """The op of the tierup dialect around an op; empty when there is none."""
    while op.parent is not None:
        op = op.parent.operation
        if op.name.startswith("tierup."):
            return str(op.name)
    return ""
