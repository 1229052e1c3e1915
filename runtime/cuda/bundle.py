"""Plans of kernels from a bundle: compiled programs that run with NumPy and NVIDIA's driver alone. No MLIR and no LLVM is imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tierup.lowering.artifacts import bundle
from tierup.lowering.artifacts.bundle import Bundle
from tierup.lowering.cuda import targets
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.arguments import guards
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.base.errors import PlanError
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.arrays.interchange import handed_over, ours
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.runtime.cuda.device.devices import Device, device
from tierup.runtime.cuda.errors import NoDevice
from tierup.runtime.cuda.host.flat import free_numbers
from tierup.runtime.cuda.plan import CudaPlan, image_for
from tierup.runtime.cuda.steady import InlineCache, valued


class LoadedPlan:
    """A program of a bundle, as a function of arrays and numbers. Its code goes to the device with the first call that needs it.
    `libraries`: whether NVIDIA's may compute products, where they are installed."""

    is_one_plan = True  # for `capture`

    def __init__(self, program: PackedProgram, *, libraries: bool = True) -> None:
        self.name, self.arguments, self._libraries = program.name, program.arguments, libraries
        self._versions = [(_record(packed), packed) for packed in program.versions]
        self._plans: dict[int, CudaPlan] = {}  # by a record's serial
        packed = [v.artifact for v in program.versions]
        self._cache = InlineCache(i for artifact in packed for i in valued(artifact.arguments, free_numbers(artifact.host)))

    @property
    def versions(self) -> tuple[str, ...]:
        """What its versions take, in the order in which they are tried."""
        return tuple(describe_specs(record.arguments, self.arguments) for record, _ in self._versions)

    def __call__(self, *arguments: Any) -> Any:
        """The program's results: one as it is, more as a tuple. Arrays may be NumPy's, or lie on the device; see `tierup.device_array`.

        Raises TypeError for arguments that no version takes, saying why; PlanError where a check of the program fails, NoDevice,
        DriverError, MemoryError.
        """
        on = device()
        flat = ours(on, arguments)
        key = self._cache.key(flat)
        steady = self._cache.get(key)
        if steady is not None:
            return _handed(steady[1].run(flat), arguments, flat)
        for record, packed in self._versions:
            symbols = guards.fit(record, flat)
            if isinstance(symbols, guards.Mismatch):
                continue
            plan = self._plans.get(record.serial) or self._load(record, packed, on)
            outcome = plan.run(flat, symbols)
            if outcome.site:
                site = packed.artifact.error_sites[outcome.site - 1]
                raise PlanError(
                    f"{self.name}: a check of {site.op} failed" + (f" at {site.location}" if site.location else "") + "; a bundle has no "
                    "interpreter that would raise the program's own exception"
                )
            self._cache.note(key, record, plan, outcome, symbols)
            return _handed(outcome.results, arguments, flat)
        raise TypeError(self._why_not(flat))

    def _load(self, record: VersionRecord, packed: PackedVersion, on: Device) -> CudaPlan:
        _check_target(packed, on)
        return self._plans.setdefault(record.serial, CudaPlan(packed.artifact, on, packed.cubins, libraries=self._libraries))

    def _why_not(self, flat: Sequence[Any]) -> str:
        lines = [f"{self.name} has no version for these arguments:"]
        for record, _ in self._versions:
            mismatch = guards.explain(record, flat)
            assert mismatch is not None
            where = f"{self.arguments[mismatch.argument]}: " if mismatch.argument >= 0 else ""
            wanted = describe_specs(record.arguments, self.arguments)
            lines.append(f"  ({wanted}): {where}{mismatch.what} expected {mismatch.expected}, got {mismatch.actual}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<plan {self.name}: {'; '.join(self.versions)}>"


def plans_of(found: Bundle, *, libraries: bool = True) -> dict[str, LoadedPlan]:
    """The programs of a bundle by their names. `libraries=False` keeps large matrix products from NVIDIA's cuBLAS, which computes them
    where it is installed. Needs no device; the first call does. Raises BundleError for what is no such bundle."""
    programs = bundle_file.programs_of(found)
    with found.reading():  # parts that are sound alone may make no sense together
        return {program.name: LoadedPlan(program, libraries=libraries) for program in programs}


def load_plans(path: str | Path, *, libraries: bool = True) -> dict[str, LoadedPlan]:
    """As `plans_of`, of a file. Raises OSError, too."""
    return plans_of(bundle.read(path), libraries=libraries)


def _handed(results: tuple[Any, ...], arguments: tuple[Any, ...], flat: tuple[Any, ...]) -> Any:
    """As the caller gets them."""
    found = handed_over(results, arguments, flat)
    return None if not found else found[0] if len(found) == 1 else found


def _record(packed: PackedVersion) -> VersionRecord:
    targets.target(packed.artifact.target)  # raises for one that only a newer tierup knows
    return VersionRecord(packed.artifact.arguments, packed.artifact.results, 0, form=Form.TUPLE, scalars=False, on_device=True)


def _check_target(packed: PackedVersion, on: Device) -> None:
    """Raises NoDevice where the code is for newer devices."""
    major, minor = on.driver.capability
    needs = targets.target(packed.artifact.target).capability
    if needs > 10 * major + minor and image_for(packed.artifact, (major, minor), packed.cubins) == packed.artifact.ptx.encode():
        raise NoDevice(
            f"the bundle's code is for {packed.artifact.target} and later, and {on.driver.name} is sm_{major}{minor}: "
            f"compile it with --target sm_{major}{minor}"
        )
