"""A pass of a user's that fails: for the tests of tierup-custom-passes."""

from dataclasses import dataclass

import tierup
from tierup.dialect.mlir import ir


@tierup.register_pass("post-fusion")
@dataclass(frozen=True)
class Raising(tierup.Pass):
    """Look up what is not there."""

    name = "raising"

    def run(self, module: ir.Module) -> None:
        raise KeyError(str(module.operation.attributes["sym_name"]))
