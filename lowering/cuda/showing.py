"""The stages of a program's kernels as people read them: PTX has ptxas' report ahead."""

from __future__ import annotations

from dataclasses import replace

from tierup.lowering.base.abi import Request
from tierup.lowering.cuda import targets
from tierup.lowering.cuda.assembling import libdevice, ptxas
from tierup.lowering.cuda.compile import compile as compile_cuda


def stage(request: Request, name: str, target: str = "", *, libraries: bool = True, tf32: bool = False) -> str:
    """The text of a stage of a request, compiled for a target, or for the default one; `libraries`: with NVIDIA's libdevice, where it is
    installed. Raises what `compile` does."""
    target = target or targets.DEFAULT
    request = replace(request, tf32=request.tf32 or tf32)
    artifact = compile_cuda(request, target, (name,), library=libdevice.find() if libraries else None)
    text = artifact.stages[name]
    linked = f"// of NVIDIA's libdevice: {', '.join(artifact.linked)}\n" if artifact.linked else ""
    return f"{report(text, target)}{linked}{text}" if name == "ptx" else text


def report(ptx: str, target: str) -> str:
    """What ptxas says of the code, as PTX's comments: it assembles it, and runs nothing."""
    try:
        assembled = ptxas.assemble(ptx, target)
    except (FileNotFoundError, ptxas.UnknownTarget) as e:
        return f"// not assembled: {e}\n"
    except ptxas.AssemblyError as e:
        return "".join(f"// {line}\n" for line in str(e).splitlines())
    lines = [f"// assembled for {target}, not run; of each kernel:"]
    for k in assembled.report:
        spilled = f"{k.spill_stores + k.spill_loads} bytes spilled, " if k.spill_stores + k.spill_loads else "nothing spilled, "
        lines.append(f"//   {k.kernel}: {k.registers} registers, {spilled}{k.stack} bytes of stack, {k.shared} bytes of shared memory")
    return "\n".join(lines) + "\n"
