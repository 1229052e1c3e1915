"""NVIDIA's assembler, where it is installed: is the PTX right, and what does each kernel take of a multiprocessor.

    assemble(ptx, "sm_90") -> Assembled(cubin=b"...", report=(KernelReport("k0", registers=32, spill_stores=0, ...),))
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tierup.dialect.base.records import dataclass


@dataclass(frozen=True)
class KernelReport:
    """What ptxas says of a kernel: registers per thread, bytes spilled from them to memory, bytes of shared memory per block."""

    kernel: str
    registers: int
    spill_stores: int
    spill_loads: int
    stack: int
    shared: int


@dataclass(frozen=True)
class Assembled:
    """Machine code of a module, and what ptxas says of its kernels."""

    cubin: bytes
    report: tuple[KernelReport, ...]


class AssemblyError(Exception):
    """ptxas does not take the PTX; the message is its own."""


class UnknownTarget(AssemblyError):
    """This ptxas makes no code for the target: a toolkit knows the devices of its time (CUDA 13 none before sm_75)."""


def find() -> str | None:
    """The path of ptxas: $TIERUP_PTXAS, on PATH, or in $CUDA_HOME/bin. None when it is not installed."""
    named = os.environ.get("TIERUP_PTXAS")
    if named:
        return named
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    return shutil.which("ptxas") or (shutil.which("ptxas", path=str(Path(home, "bin"))) if home else None)


def assemble(ptx: str, target: str) -> Assembled:
    """Assemble for a target. Raises FileNotFoundError when there is no ptxas that runs, UnknownTarget, AssemblyError when it refuses the
    code."""
    tool = find()
    if tool is None:
        raise FileNotFoundError("ptxas is not installed: it comes with NVIDIA's CUDA toolkit; put it on PATH or name it in TIERUP_PTXAS")
    with tempfile.TemporaryDirectory(prefix="tierup-") as folder:
        source, cubin = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        source.write_text(ptx)
        command = [tool, f"--gpu-name={target}", "--verbose", "-o", str(cubin), str(source)]
        try:
            run = subprocess.run(command, capture_output=True, text=True)
        except OSError as e:
            named = " (TIERUP_PTXAS names it)" if os.environ.get("TIERUP_PTXAS") else ""
            raise FileNotFoundError(f"ptxas cannot be run: {tool}{named}: {e.strerror}") from e
        said = (run.stderr or run.stdout).replace(str(source), "ptx").strip()
        if run.returncode and "'gpu-name'" in said:
            raise UnknownTarget(f"{tool} makes no code for {target} ({said}): a toolkit of another version does; name its in TIERUP_PTXAS")
        if run.returncode:
            raise AssemblyError(f"ptxas refuses the code for {target}: {said}")
        if not cubin.exists():
            raise AssemblyError(f"{tool} wrote no code: is it NVIDIA's ptxas?")
        return Assembled(cubin.read_bytes(), tuple(_reports(run.stderr + run.stdout)))


_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_REGISTERS = re.compile(r"Used (\d+) registers")
_SHARED = re.compile(r"(\d+) bytes smem")


def _reports(text: str) -> list[KernelReport]:
    found = []
    for part in text.split("Compiling entry function '")[1:]:
        stack, registers, shared = _STACK.search(part), _REGISTERS.search(part), _SHARED.search(part)
        if stack is None or registers is None:
            raise AssemblyError(f"ptxas' report has another form than expected: {part.strip()}")
        frame, stores, loads = map(int, stack.groups())
        found.append(KernelReport(part.split("'")[0], int(registers[1]), stores, loads, frame, int(shared[1]) if shared else 0))
    return found
