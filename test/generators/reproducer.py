"""A finding as a program of its own, without anything of the tests; and smaller programs that show the same."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from arguments import Call, arguments
from numpy_programs import NumpyProgram
from running import made

_HEAD = '''"""{what}

{found}
"""
import os
import sys
import warnings

os.environ.setdefault("TIERUP_CACHE", "0")
import numpy as np
import tierup

warnings.simplefilter("ignore")
np.seterr(all="ignore")


{source}

def call(function, arguments):
    try:
        return function(*arguments)
    except Exception as e:
        return f"raises {{type(e).__name__}}"


g = tierup.jit(f, **{options})
'''
_CALL = """
def arguments():
{given}
    return [{names}]


for _ in range({times}):
    want, got = arguments(), arguments()
    a, b = call(f, want), call(g, got)
    if {waits}:
        g.wait(200)
    if {checks} and repr((a, want)) != repr((b, got)):
        print("wanted", a, want, "got", b, got, sep="\\n")
        sys.exit(1)
"""


def script(program: NumpyProgram, options: dict[str, Any], what: str, found: str) -> str:
    """The program and its calls as a script that exits 1 when tierup does something else. Differences that are not seen in the last
    call's repr (what shares memory) are told by its head."""
    text = _HEAD.format(what=what, found=found.replace('"""', "'''").replace("\\", "/"), source=program.source, options=options)
    for i, call in enumerate(program.calls):
        given = "\n".join("    " + line for line in _literals(program, call))
        names = ", ".join(p.name for p in program.parameters)
        waits = options.get("compile") == "background"
        text += _CALL.format(given=given, names=names, times=call.times, waits=waits, checks=i == len(program.calls) - 1)
    return text


def _literals(program: NumpyProgram, call: Call) -> Iterator[str]:
    """Assignments that make the arguments: arrays over memory of their own, or one over another's."""
    given, owners = arguments(program.parameters, call), []
    for p, value in zip(program.parameters, given, strict=True):
        if not isinstance(value, np.ndarray):
            yield f"{p.name} = {value!r}"
            continue
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        known = next((k for k, o in enumerate(owners) if o is owner), None)
        if known is None:
            known = len(owners)
            owners.append(owner)
            flat = owner.ravel(order="K")
            numbers = str(flat.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
            yield f"m{known} = np.array({numbers}, np.{owner.dtype})"
        at = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        yield f"{p.name} = np.ndarray({value.shape}, m{known}.dtype, m{known}, {at}, {value.strides})"
        if not value.flags.writeable:
            yield f"{p.name}.flags.writeable = False"


# --- smaller ----------------------------------------------------------------------------------------------------------------


def reduced(program: Any, shows: Callable[[Any], bool], seconds: float = 60.0) -> Any:
    """The program with whatever can go while it `shows` what was found: calls, then statements, then parts of expressions."""
    until = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < until:
        again = False
        for candidate in (*_fewer_calls(program), *_fewer_statements(program)):
            if time.monotonic() > until:
                break
            if _size(candidate) < _size(program) and _is_program(candidate.source) and shows(candidate):
                program, again = candidate, True
                break
    return program


def _is_program(source: str) -> bool:
    """Whether it parses, and reads no memory that nobody has filled."""
    try:
        compile(source, "candidate", "exec")
    except SyntaxError:
        return False
    return "np.empty" not in source or "[...] = " in source


def _flat(program: Any) -> list[Any]:
    """Its calls, each by itself; those of TorchScript's are numbers."""
    return [replace(c, times=1) for c in made(program.calls)] if isinstance(program, NumpyProgram) else list(program.calls)


def _size(program: Any) -> tuple[int, int]:
    return len(_flat(program)), len(program.source)


def _fewer_calls(program: Any) -> Iterator[Any]:
    flat = _flat(program)
    for count in (len(flat) // 2, len(flat) // 4, 2, 1):
        for start in range(0, len(flat) - 1, max(1, count)):
            if count and start + count < len(flat):
                yield replace(program, calls=flat[:start] + flat[start + count :])


def _fewer_statements(program: Any) -> Iterator[Any]:
    tree = ast.parse(program.source)
    bodies = [(n, name) for n in ast.walk(tree) for name in ("body", "orelse") if isinstance(getattr(n, name, None), list)]
    for k, (node, name) in enumerate(bodies):
        if isinstance(node, ast.Module):
            continue
        for i, inner in enumerate(getattr(node, name)):
            yield _changed(program, tree, k, name, i, [])
            if isinstance(inner, (ast.If, ast.For, ast.While)):
                yield _changed(program, tree, k, name, i, inner.body)
                if getattr(inner, "orelse", None):
                    yield _changed(program, tree, k, name, i, inner.orelse)
            if isinstance(inner, ast.Return) and isinstance(inner.value, (ast.Tuple, ast.List)) and len(inner.value.elts) > 1:
                for j in range(len(inner.value.elts)):
                    rest = [e for m, e in enumerate(inner.value.elts) if m != j]
                    yield _changed(program, tree, k, name, i, [ast.Return(rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load()))])
            if isinstance(inner, (ast.Assign, ast.AugAssign)):
                for part in ast.walk(inner.value):
                    if isinstance(part, (ast.Name, ast.BinOp, ast.Subscript, ast.Call)) and part is not inner.value:
                        other = copy.copy(inner)
                        other.value = part  # type: ignore[assignment]
                        yield _changed(program, tree, k, name, i, [other])


def _changed(program: Any, tree: ast.Module, k: int, name: str, i: int, new: list[ast.stmt]) -> Any:
    """The program with statement i of the k-th body replaced."""
    other = copy.deepcopy(tree)
    bodies = [(n, field) for n in ast.walk(other) for field in ("body", "orelse") if isinstance(getattr(n, field, None), list)]
    node, _ = bodies[k]
    lines = getattr(node, name)
    lines[i : i + 1] = copy.deepcopy(new)
    if not lines and name == "body":
        lines.append(ast.Pass())
    return replace(program, source=ast.unparse(ast.fix_missing_locations(other)) + "\n")
