"""Every op of the table on constants and special operands is after canonicalisation what it was: torch-mlir's folds are another semantics than
tier 0's, and hidden from. Operands are drawn by PyTorch's schemas; tier 0 of the op as it was is the oracle, whose own is eager PyTorch."""

from __future__ import annotations

import math
import random
import re
import zlib
from typing import Any

import numpy as np
import pytest
from graph_oracle import Runner, difference
from sampling import IS_EXHAUSTIVE, SEED, drawn

from tierup.dialect import optable
from tierup.dialect.ir import torch_types
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import InvalidIR, parse_module
from tierup.dialect.passes.registry import PassFailure, parse
from tierup.lowering.compiling.pipelines import SPECIALISE

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CANONICAL = ",".join(step for step in SPECIALISE.steps if re.search("hid|canonicalize|cse", step))
INTS = (0, 1, -1, 2, 3, 7, -7, 64, 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e308, math.inf, -math.inf, math.nan)
SHAPES = ((), (1,), (0,), (3,), (1, 3), (2, 3), (1, 1), (0, 3), (2, 1, 3), (1, 2, 2, 2))
DTYPES = {"f32": np.float32, "f64": np.float64, "si64": np.int64, "i1": np.bool_, "si32": np.int32, "ui8": np.uint8}
RESULTS = {"Tensor": "vtensor", "int": "int", "SymInt": "int", "float": "float", "bool": "bool", "number": "number", "str": "str"}
LISTS = {"List[Tensor]": "list<vtensor>", "List[int]": "list<int>", "List[SymInt]": "list<int>"}
CASES = 60 if IS_EXHAUSTIVE else 6


def _schemas() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = ".".join(filter(None, (schema.name.replace("::", "."), schema.overload_name)))
        found.setdefault(name, schema)
    plain = [row.name for row in optable.table().values() if not (row.random or row.acts or row.writes)]
    return {name: found[name] for name in plain if name in found}


SCHEMAS = _schemas()


class NoOperand(Exception):
    """No operand is drawn for a type."""


class Drawn:
    """The operands of one op as text, and the arguments of the function that has it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.lines: list[str] = []
        self.arguments: list[tuple[str, Any]] = []
        self.tensors: list[tuple[str, str]] = []
        self.shape, self.dtype = chance.choice(SHAPES), chance.choice(list(DTYPES))

    def _line(self, text: str, type_: str) -> tuple[str, str]:
        self.lines.append(f"%v{len(self.lines)} = {text}")
        return f"%v{len(self.lines) - 1}", type_

    def _argument(self, type_: str, value: Any) -> tuple[str, str]:
        self.arguments.append((type_, value))
        return f"%a{len(self.arguments) - 1}", type_

    def number(self, kind: str, small: bool) -> tuple[str, str]:
        value: Any = self.chance.random() < 0.5 if kind == "bool" else self.chance.choice(INTS[:6] if small else INTS if kind == "int" else FLOATS)
        if self.chance.random() < 0.3:
            return self._argument(f"!torch.{kind}", value)
        text = str(value).lower() if kind != "float" else f"0x{np.float64(value).view(np.uint64):016X}"
        return self._line(f"torch.constant.{kind} {text}", f"!torch.{kind}")

    def tensor(self) -> tuple[str, str]:
        if self.tensors and self.chance.random() < 0.3:
            return self.chance.choice(self.tensors)
        shape = self.shape if self.chance.random() < 0.75 else self.chance.choice(SHAPES)
        name = self.dtype if self.chance.random() < 0.7 else self.chance.choice(list(DTYPES))
        of, size = np.dtype(DTYPES[name]), math.prod(shape)
        low, high = (0, 1) if of.kind in "fb" else (np.iinfo(of).min, np.iinfo(of).max)
        values = FLOATS if of.kind == "f" else (0, 1, 2, low, high)
        with np.errstate(over="ignore"):
            array = np.array([self.chance.choice(values) for _ in range(size)]).astype(of).reshape(shape)
        if size and self.chance.random() < 0.25:
            array = np.full(shape, array.flat[0])
            text = str(array.flat[0].item()).lower() if of.kind != "f" else f"0x{array.flat[0].tobytes()[::-1].hex().upper()}"
            sizes = ",".join(map(str, shape))
            kind = f"!torch.vtensor<[{sizes}],{name}>"
            made = self._line(f"torch.vtensor.literal(dense<{text}> : tensor<{''.join(f'{n}x' for n in shape)}{name}>) : {kind}", kind)
        else:
            known = self.chance.random() < 0.6
            made = self._argument(f"!torch.vtensor<[{','.join(str(n) if known else '?' for n in shape)}],{name}>", array)
        self.tensors.append(made)
        return made

    def operand(self, type_: Any, name: str, small: bool) -> tuple[str, str]:
        text = type_.annotation_str
        if text.startswith("Optional[") and self.chance.random() < 0.6 or name in ("layout", "memory_format", "device", "pin_memory"):
            return self._line("torch.constant.none", "!torch.none")
        text = re.sub(r"^Optional\[(.*)\]$", r"\1", text)
        if name == "dtype" and text == "int":
            return self._line(f"torch.constant.int {self.chance.choice((6, 7, 4, 3, 11, 0))}", "!torch.int")
        if text == "Tensor":
            return self.tensor()
        if text in ("int", "SymInt", "float", "bool", "number"):
            kinds = {"SymInt": ("int",), "number": ("int", "float")}.get(text, (text,))
            return self.number(self.chance.choice(kinds), small)
        if text in LISTS:
            items = [self.tensor() if text == "List[Tensor]" else self.number("int", True) for _ in range(self.chance.randrange(4))]
            of = LISTS[text].partition("<")[2][:-1]
            if text == "List[Tensor]":
                items = [self._line(f"torch.tensor_static_info_cast {n} : {t} to !torch.vtensor", "!torch.vtensor") for n, t in items]
            names, types = (", ".join(part) for part in zip(*items, strict=True)) if items else ("", "")
            return self._line(f"torch.prim.ListConstruct {names} : ({types}) -> !torch.list<{of}>", f"!torch.list<{of}>")
        raise NoOperand(text)


def _program(name: str, chance: random.Random) -> tuple[str, list[Any]]:
    schema, drawn = SCHEMAS[name], Drawn(chance)
    operands = [drawn.operand(a.type, a.name, small=optable.table()[name].kind.name != "SCALAR") for a in schema.arguments]
    kinds = [r.type.annotation_str for r in schema.returns]
    if not all(kind in RESULTS or kind in LISTS for kind in kinds):
        raise NoOperand(str(kinds))
    results = ", ".join(f"!torch.{RESULTS.get(kind) or LISTS[kind]}" for kind in kinds)
    spelled, attributes = torch_types.spelled(thread_context(), name)
    marks = ", ".join(f"{key} = {value}" for key, value in attributes.items())
    given = ", ".join(n for n, _ in operands), ", ".join(t for _, t in operands)
    body = "\n  ".join([*drawn.lines, f'%r:{len(kinds)} = "{spelled}"({given[0]}) {{{marks}}} : ({given[1]}) -> ({results})'])
    arguments = ", ".join(f"%a{i}: {t}" for i, (t, _) in enumerate(drawn.arguments))
    returned = ", ".join(f"%r#{i}" for i in range(len(kinds)))
    return f"func.func @f({arguments}) -> ({results}) {{\n  {body}\n  return {returned} : {results}\n}}", [v for _, v in drawn.arguments]


@pytest.mark.parametrize("family", drawn("families of ops", sorted({name.partition(".")[2][:2] for name in SCHEMAS}), 4))
def test_canonicalisation_changes_no_value_dtype_or_exception_of_an_op(family: str) -> None:
    for name in (name for name in SCHEMAS if name.partition(".")[2][:2] == family):
        chance = random.Random(zlib.crc32(f"{SEED} {name}".encode()))
        for _ in range(CASES):
            try:
                text, arguments = _program(name, chance)
                module = parse_module(text)
                parse("func.func(tierup-infer-types)").run(module)
            except (NoOperand, InvalidIR, PassFailure):
                continue  # for which types no run succeeds
            typed = str(module)
            want = Runner(parse_module(typed)).call(arguments)
            try:
                parse(CANONICAL).run(module)
            except PassFailure as e:
                assert want.error is not None, f"{e}\n{typed}\ncalled with {arguments}"  # what cannot run need not compile
                continue
            found = difference(Runner(module).call(arguments), want, sharing=False)
            assert not found, f"called with {arguments}: {found}\n{typed}\nbecame\n{module}"
