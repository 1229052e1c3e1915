"""How a generated module comes to tierup: scripted, traced, exported, through torch.compile; and PyTorch's own way of each, its oracle."""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import random
from collections.abc import Callable
from typing import Any

import torch
from torch_programs import TorchProgram, tensors

from tierup.torch import from_export, from_torchscript

SHARES = {"script": 7, "trace": 1, "export": 1, "compile": 0.5}  # torch.compile takes seconds a program
_N, _FLAG = 2, True  # of programs that are traced or exported, in which these are constants


class Refused(Exception):
    """PyTorch, TorchScript or tierup's front end does not take the program."""


def entry_of(program: TorchProgram) -> str:
    return random.Random(f"entry {program.seed}").choices(list(SHARES), list(SHARES.values()))[0]


def calls_of(program: TorchProgram, entry: str) -> list[int]:
    """Those of its calls that the program may be called with: sizes, too, are constants in traces and exports."""
    return [number for number in program.calls if number < 4] if entry in ("trace", "export") else program.calls


class _Constants(torch.nn.Module):
    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *given: torch.Tensor) -> Any:
        return self.inner(*given, _N, _FLAG)


def entered(entry: str, module: Any, program: TorchProgram, *, ours: bool) -> Callable[..., Any]:
    """What to call with tensors, the int and the flag. Raises Refused where PyTorch does not take the program this way."""
    torch._logging.set_logs(all=logging.CRITICAL)  # torch.compile and export tell at length what they cannot take
    if entry == "compile":
        return torch.compile(module, backend="tierup" if ours else "aot_eager")
    dtype = next(module.parameters()).dtype
    given = tuple([x.to(dtype) for x in tensors(program.shapes, 3, len(module.b), 0)])
    before = copy.deepcopy(module.state_dict())
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):  # where export explains itself
            made: Any
            if entry == "trace":
                made = torch.jit.trace(_Constants(module), given, check_trace=False)
            else:
                made = torch.export.export(_Constants(module), given)
    except Exception as e:  # noqa: BLE001 - PyTorch's refusals are of many types
        raise Refused(f"{entry}: " + str(e).strip().split("\n")[0]) from None
    module.load_state_dict(before)  # a trace runs the program
    if entry == "export":
        _decomposes(made)
    taken = (from_torchscript(made) if entry == "trace" else from_export(made)) if ours else made if entry == "trace" else made.module()
    return lambda *arguments: taken(*arguments[:-2])


def _decomposes(exported: torch.export.ExportedProgram) -> None:
    """Raises Refused where PyTorch's own decompositions, which every backend asks for, raise."""
    try:
        copy.deepcopy(exported).run_decompositions({})
    except Exception as e:  # noqa: BLE001 - PyTorch's refusals are of many types
        raise Refused("export's decompositions: " + str(e).strip().split("\n")[0]) from None
