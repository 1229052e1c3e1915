"""Runs a generated TorchScript module beside eager mode: results, views, what was written, gradients, None among them."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch_entries import Refused, calls_of, entered, entry_of
from torch_programs import TorchProgram, tensors

import tierup
from tierup.torch import UnsupportedProgram, from_torchscript

OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {}, {}, {"optimize": False}, {"bailout_depth": 0}, {"fusion_strategy": []}, {"speculate": "bailout"}, {"executor": "specializing"}, {"entry": "python"}, {"num_profiled_runs": 0}, {"compile": "background"},
)  # fmt: skip
_count = itertools.count()


@dataclass
class Seen:
    """What one call did."""

    results: list[torch.Tensor]
    error: Exception | None
    given: list[torch.Tensor]
    autograd: bool  # without it a view of a parameter of rank 1 may be the parameter itself, for eager
    gradients: list[torch.Tensor | None] | None  # None: eager refuses them, since something it saved was written
    failed: str = ""  # why there are none, where eager may have some


def module_of(program: TorchProgram, folder: Path) -> Any:
    name = f"generated_torch_{next(_count)}"
    path = folder / f"{name}.py"
    path.write_text(program.source)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.Program().double() if random.Random(str(program.seed)).random() < 0.2 else module.Program()


def call(f: Any, module: Any, program: TorchProgram, number: int, *, nudge: float = 0.0) -> Seen:
    """One call with arguments that hang on its number alone: sizes, layout, what requires a gradient, the int and the flag.
    `nudge`: how far, of its own size, each element of a tensor is moved first."""
    chance = random.Random(f"call {program.seed} {number}")
    n = 3 if number < 4 else chance.choice((1, 2, 3, 4, 5))
    dtype = next(module.parameters()).dtype
    (m,) = {module.b.shape[0]}
    given, leaves = [], []
    autograd = chance.random() < 0.7
    for x in tensors(program.shapes, n, m, number):
        x = _nudged(x.to(dtype), nudge)
        wants = autograd and chance.random() < 0.7
        x.requires_grad_(wants)
        if wants:
            leaves.append(x)
        how = chance.choice(("leaf", "plain", "plain", "stepped", "transposed", "columns", "expanded"))
        if how == "plain":
            x = x * 1
        elif how == "stepped":
            x = x.repeat_interleave(2, 0)[::2]
        elif how == "columns":
            x = x.repeat_interleave(2, -1)[..., ::2]
        elif how == "expanded" and x.dim() == 2:
            x = (x * 1)[:1].expand(x.shape)
        elif how == "transposed" and x.dim() == 2:
            x = x.t().contiguous().t() if not wants else (x * 1).t().clone().t()
        given.append(x)
    if not autograd and entry_of(program) != "compile":  # PyTorch's own guards miss what shares memory with another
        _share(given, random.Random(f"shared {program.seed} {number}"))
    arguments = [*given, chance.choice((0, 2, 3)), chance.random() < 0.5]
    leaves += list(module.parameters()) if autograd else []
    inference = not autograd and chance.random() < 0.4
    with torch.inference_mode() if inference else torch.set_grad_enabled(autograd), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = f(*arguments)
        except UnsupportedProgram as e:
            raise Refused(str(e)) from None
        except Exception as e:  # noqa: BLE001 - whatever it is, both must raise
            return Seen([], e, given, autograd, [])
        results = list(found) if isinstance(found, tuple) else [found]
        wanted = [r for r in [*results, *given] if r.requires_grad and r.is_floating_point()]
        gradients: list[torch.Tensor | None] = []
        if wanted and leaves:
            try:
                loss = sum((r * torch.linspace(0.5, 1.5, r.numel(), dtype=r.dtype).view(r.shape)).nan_to_num(0, 0, 0).sum() for r in wanted)
            except RuntimeError as e:  # eager refuses to use such a view
                return Seen([], e, given, autograd, [])
            try:
                gradients = list(torch.autograd.grad(loss, leaves, allow_unused=True))
            except RuntimeError as e:
                expected = "modified by an inplace operation" in str(e) or "in the TorchScript interpreter" in str(e)
                return Seen(results, None, given, autograd, None, "" if expected else str(e))
    return Seen(results, None, given, autograd, gradients)


def _share(given: list[torch.Tensor], chance: random.Random) -> None:
    """Now and then let a tensor lie in the memory of another, or be it."""
    for i, j in itertools.combinations(range(len(given)), 2):
        if given[i].shape == given[j].shape and chance.random() < 0.25:
            whole = torch.cat([given[i], given[i][:1]]) if given[i].dim() else given[i]
            given[i], given[j] = chance.choice([(given[i], given[i]), (whole[: len(given[i])], whole[1:]) if given[i].dim() else (given[i], given[i].view(()))])


def difference(got: Seen, want: Seen, *, joins: bool = False, memory: bool = True) -> str:
    """How two calls differ, "" when they do not. `joins`: a result that requires a gradient on one path does on all (docs/pytorch.md).
    `memory`: what shares memory is compared."""
    if any(text in str(want.error) for text in ("modified inplace", "a leaf Variable")):  # docs/pytorch.md: some of eager's refusals of views
        return ""
    if (got.error is None) != (want.error is None):
        return f"raised {got.error!r}, not {want.error!r}"
    if want.error is not None:
        return ""  # under autograd arguments get their new contents when the program is through
    if got.failed and want.gradients is not None:
        return f"gradients: raised {got.failed}"
    for name in ("results", "given", "gradients"):
        mine, theirs = getattr(got, name), getattr(want, name)
        if mine is None or theirs is None:
            continue
        if len(mine) != len(theirs):
            return f"{name}: {len(mine)}, not {len(theirs)}"
        for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
            found = _differ(a, b, name != "gradients" and not joins and want.autograd)
            if found:
                return f"{name}[{i}]: {found}"
    if memory:
        apart = _pairs_without_base(want) if want.autograd else set()  # docs/pytorch.md: under autograd one of them is a copy
        both = [
            [[_shares(a, b) for j, b in enumerate([*s.results[:i], *s.given]) if (i, j) not in apart] for i, a in enumerate(s.results)]
            for s in (got, want)
        ]
        if both[0] != both[1]:
            return f"what shares memory: {both[0]}, not {both[1]}"
        views = [[[s for s, n in zip(r.stride(), r.shape, strict=True) if n > 1] if any(_shares(r, x) for x in s.given) and r.numel() > 1 else None for r in s.results] for s in (got, want)]
        if views[0] != views[1]:
            return f"strides of views: {views[0]}, not {views[1]}"
    return ""


def _differ(a: Any, b: Any, grad: bool) -> str:
    if (a is None) != (b is None):
        return f"{a}, not {b}"
    if a is None:
        return ""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)}, not {b.dtype}{list(b.shape)}"
    if grad and a.requires_grad != b.requires_grad:
        return f"requires_grad {a.requires_grad}, not {b.requires_grad}"
    a, b = a.detach().double(), b.detach().double()
    tolerance = 1e-4 * float(b[b.isfinite()].abs().max()) if b.isfinite().any() else 0.0
    return "" if torch.allclose(a, b, rtol=1e-4, atol=max(tolerance, 1e-5), equal_nan=True) else f"values {a.tolist()}, not {b.tolist()}"


def _pairs_without_base(seen: Seen) -> set[tuple[int, int]]:
    """Results, a later and an earlier one, that are views of one value which neither they nor an argument is."""
    known = {id(t) for t in (*seen.results, *seen.given) if t is not None}
    bases = [None if r is None or r._base is None or id(r._base) in known else r._base for r in seen.results]
    return {(i, j) for i, a in enumerate(bases) for j, b in enumerate(bases[:i]) if a is not None and a is b}


def _shares(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether elements lie in the same bytes; what was handed over from one library to another has storages of its own."""
    first, second = a.detach().numpy(), b.detach().numpy()
    return bool(np.shares_memory(first, second))


def check(program: TorchProgram, options: dict[str, Any], folder: Path) -> tuple[int, str]:
    """(calls that were made, how the last of them differed). Raises Refused."""
    entry = entry_of(program)
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = module_of(program, folder)
        twin = copy.deepcopy(module)
        if entry == "script":
            oracle, ours = twin, from_torchscript(_scripted(module))
        else:
            oracle, ours = entered(entry, twin, program, ours=False), entered(entry, module, program, ours=True)
    apart = False
    for count, number in enumerate(calls_of(program, entry), 1):
        for buffer in (*module.buffers(), *twin.buffers()):
            buffer.detach_()  # it may hold what the last call gave it, with its history: then no module can be copied
        if apart:
            twin.load_state_dict(module.state_dict())
        before = copy.deepcopy(twin)
        with torch.jit.optimized_execution(False):
            want = call(oracle, twin, program, number)
        if ".data." in program.source:  # docs/pytorch.md: eager's gradients are of what such a write left
            want.gradients = None
        with tierup.options(**options):
            got = call(ours, module, program, number)
            if options.get("compile") == "background":
                tierup.wait_for_compiles(120)
        what = difference(got, want, joins="if " in program.source, memory=entry != "export")
        if entry == "export" and got.error is None and str(want.error).startswith("view size is not compatible"):
            what = ""  # docs/pytorch.md: a view of what lies otherwise than where it was exported
        if what and (_order_decides(copy.deepcopy(before), program, number) or _rounding_decides(copy.deepcopy(before), program, number, want)):
            return count, ""
        if what and entry == "compile" and not difference(got, call(before, before, program, number)):
            return count, ""  # aot_eager's own: gradients of what was computed with a buffer that is written
        if what and (entry != "script" or _is_wrong(got, want, _by_torchscript(before, program, number))):
            return count, f"call {number}: {what}" + f" ({entry})" * (entry != "script")
        apart = got.error is not None or want.error is not None  # one may have written buffers that the other has not
    return len(program.calls), ""


def _scripted(module: Any) -> Any:
    try:
        return torch.jit.script(module)
    except Exception as e:  # noqa: BLE001 - TorchScript's own refusals are of many types
        raise Refused("TorchScript: " + str(e).strip().split("\n")[0]) from None


def _by_torchscript(module: Any, program: TorchProgram, number: int) -> Seen:
    """What TorchScript itself does: it drops unused operations that would raise, and knows no gradient to be absent after a branch."""
    with torch.jit.optimized_execution(False):
        return call(torch.jit.script(module), module, program, number)


def _is_wrong(got: Seen, eager: Seen, script: Seen) -> bool:
    """Whether a call is neither eager's nor TorchScript's, where they agree: one may drop what the other raises, and raise for what the other takes."""
    if got.error is None and eager.error is not None and script.error is not None:
        return str(eager.error).split("\n")[0] in str(script.error)
    return bool(difference(got, script))


class _ReadsWhatItWrites(TorchDispatchMode):
    """Notes whether an op reads, element by element, memory that it writes in another order (`x.t().add_(x)`, `x.add_(x[:1])`): what comes of
    it PyTorch leaves open."""

    found = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func._schema.is_mutable:
            written, *read = [a for a in args if isinstance(a, torch.Tensor)]
            self.found |= any(_shares(written, r) and not _lies_as(r, written) for r in read)
        return func(*args, **(kwargs or {}))


def _lies_as(read: torch.Tensor, written: torch.Tensor) -> bool:
    """Whether each element of the one lies where that of the other does."""
    return read.data_ptr() == written.data_ptr() and read.shape == written.shape and read.stride() == written.stride()


def _rounding_decides(module: Any, program: TorchProgram, number: int, want: Seen) -> bool:
    """Whether eager mode itself gives something else in float64, or after a nudge, as where all that a condition sees is rounding."""
    others = [(_with_tensors(module, lambda t: t.double()), 0.0)]
    others += [(_with_tensors(module, lambda t: _nudged(t, 3e-7)), 3e-7) for _ in range(4)]
    return any(_is_another(call(other, other, program, number, nudge=nudge), want) for other, nudge in others)


def _is_another(seen: Seen, want: Seen) -> bool:
    if seen.error is not None or want.error is not None:
        return False
    for kind in ("results", "given", "gradients"):
        old = [] if getattr(want, kind) is None else getattr(want, kind)
        new = [] if getattr(seen, kind) is None else getattr(seen, kind)
        if any(a is not None and b is not None and _differ(a, b.to(a.dtype), False) for a, b in zip(old, new, strict=False)):
            return True
    return False


def _with_tensors(module: Any, changed: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """A copy of a module in which every tensor of floating point is another: parameters, buffers and plain attributes."""
    copied = copy.deepcopy(module)
    for part in copied.modules():
        part._apply(lambda t: changed(t) if t.is_floating_point() else t, recurse=False)
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor) and value.is_floating_point():
                setattr(part, name, changed(value))
    return copied


def _nudged(x: torch.Tensor, nudge: float) -> torch.Tensor:
    return x * (1 + nudge * torch.randn(x.shape, dtype=x.dtype)) if nudge and x.is_floating_point() else x


def _order_decides(module: Any, program: TorchProgram, number: int) -> bool:
    with _ReadsWhatItWrites() as mode:
        call(module, module, program, number)
    return mode.found
