"""What tierup-opt does around passes: prints the IR, keeps the time."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.tools.opt.options import Settings


def pass_name(shown: str) -> str:
    """The name in a pass's text, without its options."""
    return shown.partition("{")[0]


@dataclass(frozen=True)
class PrintIR:
    """--mlir-print-ir-before..., -after...: IR to stderr, in mlir-opt's frame."""

    settings: Settings

    @staticmethod
    def of(settings: Settings) -> PrintIR | None:
        """The hook that the settings ask for; None when they have nothing printed."""
        wanted = settings.print_before_all or settings.print_after_all or settings.print_before or settings.print_after
        return PrintIR(settings) if wanted else None

    def before(self, name: str, op: ir.Operation) -> None:
        """Print the IR if it is wanted before this pass."""
        if self.settings.print_before_all or pass_name(name) in self.settings.print_before:
            self._print("Before", name, op)

    def after(self, name: str, op: ir.Operation, seconds: float) -> None:
        """Print the IR if it is wanted after this pass."""
        if self.settings.print_after_all or pass_name(name) in self.settings.print_after:
            self._print("After", name, op)

    def failed(self, name: str, op: ir.Operation, seconds: float) -> None:
        """Print the IR if it is wanted after this pass, as what a failed pass left."""
        if self.settings.print_after_all or pass_name(name) in self.settings.print_after:
            self._print("After", name, op, " Failed")

    def _print(self, when: str, name: str, op: ir.Operation, how: str = "") -> None:
        of = ""
        if op.name != "builtin.module":
            symbol = f": @{symbol_of(op)}" if "sym_name" in op.attributes else ""
            of = f" ('{op.name}' operation{symbol})"
        shown = op
        if self.settings.print_module_scope:
            while shown.parent is not None:
                shown = shown.parent.operation
        # broken IR (after a failed pass) can only be printed in the generic form, unverified
        text = shown.get_asm(print_generic_op_form=bool(how), assume_verified=bool(how))
        print(f"// -----// IR Dump {when} {name}{how}{of} //----- //\n{text.rstrip()}\n", file=sys.stderr)


@dataclass
class Running:
    """Which pass runs now, for the error that names it."""

    name: str = ""

    def before(self, name: str, op: ir.Operation) -> None:
        """Note the name of the pass, without its options."""
        self.name = pass_name(name)

    def after(self, name: str, op: ir.Operation, seconds: float) -> None:
        """Nothing: the name stays until the next pass runs."""
        pass

    failed = after


@dataclass
class Timing:
    """--mlir-timing: seconds and runs of each pass, in the order of their first run."""

    seconds: dict[str, float] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)

    def before(self, name: str, op: ir.Operation) -> None:
        """Nothing: a pass counts when it ends."""
        pass

    def after(self, name: str, op: ir.Operation, seconds: float) -> None:
        """Count a run of the pass and add its seconds; a run that failed counts, too."""
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self.runs[name] = self.runs.get(name, 0) + 1

    failed = after

    def table(self) -> str:
        """The table, as text."""
        total = sum(self.seconds.values())
        rule = "===" + "-" * 73 + "==="
        title = "... Execution time report ..."
        lines = [rule, f"{title:^79}".rstrip(), rule, f"  Total Execution Time: {total:.4f} seconds", ""]
        lines.append("  ----Time----  ---Share--  Runs  ----Pass----")
        for name, spent in self.seconds.items():
            lines.append(f"  {spent:10.4f} s  {spent / total if total else 0:9.1%}  {self.runs[name]:5}  {name}")
        return "\n".join([*lines, f"  {total:10.4f} s  {1 if total else 0:9.1%}         Total"])
