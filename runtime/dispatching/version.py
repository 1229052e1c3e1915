"""A version: code that answers the calls whose arguments keep its guards."""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.lowering.base.abi import ArgumentSpec, Layout
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.account import last_plan
from tierup.runtime.account.last_plan import ExecutedPlan
from tierup.runtime.code.plans import LoadedCode
from tierup.runtime.programs.speculations import Speculation


@dataclass(frozen=True, eq=False)
class Version:
    """A compiled speculation: its code, behind the guards that say what it relies on."""

    speculation: Speculation
    record: VersionRecord
    compiled: LoadedCode
    call: int
    guards: str
    function: str = ""  # the program's name

    def __post_init__(self) -> None:
        last_plan.register(self.record.serial, self)

    @property
    def milliseconds(self) -> float:
        """How long compiling it, or loading it from disk, took."""
        return self.compiled.milliseconds

    @property
    def is_general(self) -> bool:
        """Whether it may cover others: it has symbols for sizes, or reads memory with any strides."""
        return bool(self.speculation.generalised) or any(spec.layout is Layout.STRIDED for spec in self.speculation.specs)

    def covers(self, other: Version) -> bool:
        """Whether all calls that fit the other one's guards on dtypes, sizes and strides fit these too, and not the other way round."""
        mine, others = self.speculation.specs, other.speculation.specs
        return other is not self and others != mine and all(map(_covers, mine, others))

    def executed(self) -> ExecutedPlan:
        """What `last_executed_plan` says after a run."""
        return ExecutedPlan(self.function, "native", self, self.guards)

    def __repr__(self) -> str:
        return f"<version: {self.guards}: {self.speculation.kind}, compiled in {self.milliseconds:.0f} ms>"


def _covers(general: ArgumentSpec, special: ArgumentSpec) -> bool:
    if (general.kind, general.dtype) != (special.kind, special.dtype) or general.layout not in (special.layout, Layout.STRIDED):
        return False
    if len(general.sizes) != len(special.sizes) or not (general.value is None or _takes(general.value, special.value)):
        return False
    return all(map(_takes, general.sizes, special.sizes))


def _takes(general: int | float | str, special: int | float | str | None) -> bool:
    """Whether a size or a value, or what a symbol stands for, takes in another."""
    return general == special or isinstance(general, str) and special is not None and (isinstance(special, str) or special >= 2)
