"""A pass as a user would write it: for the tests of --load-passes."""

from dataclasses import dataclass

import tierup
from tierup.dialect.mlir import ir


@tierup.register_pass("pre-fusion")
@dataclass(frozen=True)
class RenameFunctions(tierup.Pass):
    """Give every function one name."""

    name = "rename-functions"
    to: str = "g"

    def run(self, module: ir.Module) -> None:
        for view in module.body.operations:
            view.operation.attributes["sym_name"] = ir.StringAttr.get(self.to)
