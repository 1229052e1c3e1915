"""As `bailout_driver.Native`, with kernels on the emulated device, which finds races, accesses out of bounds, and what nothing wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bailout_driver import Native
from emulated_programs import STAGES
from host_runner import run

from tierup.dialect.base import dtypes
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import EXIT_BASE, ExitSite, Live, Request, ResultKind
from tierup.lowering.cuda.compile import compile
from tierup.lowering.entry.live import symbols_of, view
from tierup.lowering.entry.records import Form, VersionRecord


class _Code:
    """What is to be lost."""

    def __init__(self) -> None:
        self.lost = (-1, 0)

    def force(self, index: int = -1, evaluation: int = 0) -> None:
        self.lost = index, evaluation


class Emulated(Native):
    """There is no table: calls fit."""

    entries = ("python",)

    @staticmethod
    def load(request: Request) -> tuple[CudaArtifact, _Code, VersionRecord]:
        artifact, code = compile(request, "sm_80", STAGES), _Code()
        record = VersionRecord(
            request.arguments, artifact.results, 0, keepalive=code, form=Form.TUPLE, scalars=False, exits=artifact.exits, on_device=True
        )
        return artifact, code, record

    def __call__(self, arguments: list[Any], table: int = 0) -> tuple[Any, ...]:
        self.left.clear()
        outcome = run(self.artifact, arguments, self.code.lost)
        mine = [v.copy() if isinstance(v, np.ndarray) else v for v in arguments]
        if outcome.status:
            users = self._failed(self.record, (1 << 16) + outcome.status - 1, tuple(mine), None)
        elif outcome.exit >= 0:
            site = next(site for site in self.artifact.exits if site.index == outcome.exit)
            live = _operands(site, outcome.handed, mine, self.artifact)
            users = self._failed(self.record, EXIT_BASE + outcome.exit, tuple(mine), live)
        else:
            symbols = symbols_of(self.artifact.arguments, mine)
            users = ()
            for spec, value in zip(self.artifact.results, outcome.results, strict=True):
                if spec.kind is ResultKind.ARGUMENT:
                    mine[spec.argument][...] = value
                elif spec.kind is ResultKind.VIEW:
                    users += (view(spec, mine[spec.argument], symbols),)
                else:
                    users += (mine[spec.argument] if spec.kind is ResultKind.ALIAS else value,)
        return (*users, *(mine[i] for i in self.written))


def _operands(site: ExitSite, handed: Sequence[Any], flat: Sequence[Any], artifact: CudaArtifact) -> tuple[Any, ...]:
    rest, symbols = iter(handed), symbols_of(artifact.arguments, flat)

    def value(live: Live) -> Any:
        if isinstance(live, tuple):
            return [value(item) for item in live]
        if live.kind is ResultKind.ALIAS:
            return flat[live.argument]
        if live.kind is ResultKind.VIEW:
            return view(live, flat[live.argument], symbols)
        if live.kind is ResultKind.NONE:
            return None
        found = next(rest)
        if live.kind is ResultKind.SCALAR:
            return {"int": int, "float": float, "bool": bool}[live.dtype](found)
        return found.view(dtypes.BY_NAME[live.dtype].numpy)

    return tuple([value(live) for live in site.live])
