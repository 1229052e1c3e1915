"""From `func.func`s over the torch dialect to the graph that the emitter prints. Needs MLIR.

Constants become text at their uses; identities and inlined regions vanish; ops of the table become calls of their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tierup.dialect import optable
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import INDEX
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import kernel_of
from tierup.dialect.optable.written import COPIES, INPLACE, WRITE
from tierup.dialect.passes import diagnostics
from tierup.runtime.base.errors import Origin, UnsupportedOp
from tierup.runtime.interpreter.graph import Body, Function, Global, Let, Piece, Var, call, nodes

Handler = Callable[["Reader", ir.Operation, "list[Piece]"], None]  # of one kind of op: see structural.py
_SUPPORT = "tierup.runtime.interpreter.support"
_SPECULATION = "tierup.runtime.interpreter.speculation"
_TERMINATORS = frozenset({"func.return", "torch.prim.If.yield", "torch.prim.Loop.condition", "tierup.yield"})
_DECLARATIONS = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape"})  # name sizes; nothing to do in a run


def support(function: str) -> Global:
    """A function of support.py."""
    return Global(f"{_SUPPORT}:{function}", function)


def _hint(kernel: str) -> str:
    """What a kernel is called in the source that is made: cumsum for "scans:cumsum.tier0"."""
    return kernel.partition(":")[2].partition(".")[0] or kernel.rpartition(".")[2]


class Reader:
    """Reads the functions that an entry reaches. `record`: keep profile ops as statements. `sites`: what stands for functions.
    `fail`: guards ask whether they must fail. `polls`: loops ask whether to go on. `handlers`: of the ops that are no rows of the table,
    by name."""

    def __init__(
        self,
        functions: Mapping[str, ir.Operation],
        handlers: Mapping[str, Handler],
        *,
        record: bool,
        sites: Mapping[str, object],
        fail: bool = False,
        polls: bool = False,
    ) -> None:
        self.record = record
        self.fail = fail
        hooks = ("record", record), ("fail", fail), ("poll", polls)
        self.hooks: list[Piece] = [name for name, wanted in hooks if wanted]  # parameters of every function
        self.sites = sites
        self.functions: dict[str, Function] = {}  # those read, in the order they were met
        self.constants: dict[str, object] = {}
        self.env: dict[ir.Value, Piece] = {}
        self._declared, self._handlers = functions, handlers
        self._memory: dict[ir.Type, bool] = {}
        self._body = Body([])
        self._name = ""  # of the function that is read
        self._guards = 0  # so far in it
        self._sizes: Var | None = None  # what its guards have bound symbols to, when one has symbols

    def program(self, entry: str) -> dict[str, Function]:
        """The entry and all it calls. Raises UnsupportedOp for an op that cannot be run."""
        pending = [entry]
        while pending:
            name = pending.pop(0)
            if name not in self.functions:
                self.functions[name] = self._function(name)
                pending += [n.callee for n in nodes(self.functions[name].body) if isinstance(n, Let) and n.callee is not None]
        return self.functions

    def _function(self, name: str) -> Function:
        func = self._declared[name]
        if len(func.regions[0].blocks) != 1:
            raise UnsupportedOp(f"function @{name} has {'several blocks' if len(func.regions[0].blocks) else 'no body'}")
        block = func.regions[0].blocks[0]
        self._name, self._guards, self._sizes = name, 0, None
        hints = argument_names(func)
        for argument, hint in zip(block.arguments, hints, strict=True):
            self.env[argument] = Var(hint, self.holds_memory(argument.type))
        body = self.body(block, [self.env[a] for a in block.arguments])  # type: ignore[misc]  # Vars, just made
        if self._sizes is not None:
            shapes = symbols.bound_shapes(block)  # the caller promised them: they bind symbols before any guard does
            facts = tuple(Profiled(sizes=tuple(d if isinstance(d, int) else str(d) for d in shape)) for shape in shapes.values())
            bound = call(Global(f"{_SPECULATION}:bound", "bound"), [self.constant("facts", facts), *(self.env[v] for v in shapes)])
            body.nodes.insert(0, Let(Origin("func.func"), [self._sizes], bound))
        return Function(name, body)

    def site(self, op: ir.Operation) -> str:
        """The name of a guard or a bailout in the program: `main:2` is the bailout of index 2, `main:guard0` the first guard."""
        if op.name in ("tierup.bailout", "tierup.forced"):
            return f"{self._name}:{ir.IntegerAttr(op.attributes['index']).value}"
        self._guards += 1
        return f"{self._name}:guard{self._guards - 1}"

    def sizes(self) -> Var:
        """What symbols stand for in this call of the function: they are the same in all its guards."""
        if self._sizes is None:
            self._sizes = Var("sizes")
        return self._sizes

    def body(self, block: ir.Block, arguments: list[Var]) -> Body:
        """A block as a body of its own; its arguments must be in `env`."""
        outer, self._body = self._body, Body(arguments)
        self._body.yields = self.inline(block)
        body, self._body = self._body, outer
        return body

    def inline(self, block: ir.Block) -> list[Piece]:
        """Append a block's ops to the current body; what its terminator gives."""
        for view in block.operations:
            op = view.operation
            if op.name in _DECLARATIONS:
                continue
            operands = [self._operand(op, v) for v in op.operands]
            handler = self._handlers.get(op.name)
            if handler is not None:
                handler(self, op, operands)
            elif op.name in _TERMINATORS:
                return operands
            else:
                self.row(op, operands, op.name)
        return []

    def _operand(self, op: ir.Operation, value: ir.Value) -> Piece:
        if value not in self.env:  # the one op that defines a value without computing it
            raise UnsupportedOp(f"{op.name} reads a torch.symbolic_int, which has no value in a run (at {self.origin(op)})")
        return self.env[value]

    def row(self, op: ir.Operation, operands: list[Piece], name: str) -> None:
        """A call of the kernel of the op table's row `name`."""
        row = optable.lookup(name)
        if row is None:
            raise UnsupportedOp(f"no kernel for {name} (at {self.origin(op)})")
        node = self.let(op, call(self.kernel(row, op), operands))
        first = operands[0] if operands else None
        if row.aliasing is not Aliasing.FRESH and first is not None:
            node.shares = [first]
        elif row.kind in (Kind.SCALAR, Kind.OTHER):  # lists and tuples pass on what they hold
            node.shares = operands
        if row.writes or row.of_memory:  # what fails says which argument it is
            node.writes = first
        if row.acts and first is not None:
            node.stores = first

    def kernel(self, row: Op, op: ir.Operation) -> Global:
        """The row's function under the promotion that the op carries."""
        path = kernel_of(op, row)
        if INPLACE in op.attributes:
            path = WRITE if row.writes else COPIES[ir.StringAttr(op.attributes[INPLACE]).value]
        return Global(kernels.place(path), _hint(path))

    def let(self, op: ir.Operation, expression: Piece, *, shares: list[Piece] | None = None) -> Let:
        """Append `results = expression`."""
        node = Let(self.origin(op), self.define(op), expression, shares or [])
        self._body.nodes.append(node)
        return node

    def run(self, op: ir.Operation, expression: Piece) -> Let:
        """Append a statement that defines nothing."""
        node = Let(self.origin(op), [], expression)
        self._body.nodes.append(node)
        return node

    def bind(self, op: ir.Operation, expression: Piece) -> Piece:
        """Append `name = expression` with a name that is no result of the op's; text stays text."""
        if isinstance(expression, str):
            return expression
        var = Var()
        self._body.nodes.append(Let(self.origin(op), [var], expression))
        return var

    def unpack(self, op: ir.Operation, expression: Piece, shares: list[Piece]) -> None:
        """Append `a, b = expression`: the op's results are the items of a list or tuple."""
        self.let(op, expression if len(op.results) > 1 else call(support("only"), [expression]), shares=shares)

    def define(self, op: ir.Operation) -> list[Var]:
        """New variables for an op's results."""
        hint = name_in(op.location)
        found = [Var(hint, self.holds_memory(r.type)) for r in op.results]
        self.env.update(zip(op.results, found, strict=True))
        return found

    def append(self, node: object) -> None:
        """Append a statement to the body that is being read."""
        self._body.nodes.append(node)  # type: ignore[arg-type]  # a Node: the handlers build them

    def callee(self, op: ir.Operation, name: str) -> str:
        """A function's name, checked to exist."""
        if name not in self._declared:
            raise UnsupportedOp(f"no function @{name} (at {self.origin(op)})")
        return name

    def constant(self, hint: str, value: object) -> Global:
        """A name for an object that the source cannot spell."""
        name = f"{hint}{len(self.constants)}"
        self.constants[name] = value
        return Global(name, name)

    def single_block(self, op: ir.Operation, region: ir.Region) -> ir.Block:
        """The block of a region. Raises UnsupportedOp when there is not exactly one."""
        if len(region.blocks) != 1:
            raise UnsupportedOp(f"{op.name} with {len(region.blocks)} blocks in a region (at {self.origin(op)})")
        return region.blocks[0]

    def origin(self, op: ir.Operation) -> Origin:
        """An op's name, and where the user wrote it."""
        place = diagnostics.place_of(op.location)
        name = f"torch.{torch_name(op)}" if op.name == "torch.operator" else op.name
        index = tuple(ir.DenseI64ArrayAttr(op.attributes[INDEX])) if INDEX in op.attributes else ()
        return Origin(name, place.file, place.line, place.column, index=index)

    def holds_memory(self, type_: ir.Type) -> bool:
        """Whether a value of this type can hold a tensor."""
        if type_ not in self._memory:
            text = str(type_)
            self._memory[type_] = "tensor" in text or text in ("!torch.any", "!torch.t")
        return self._memory[type_]


def argument_names(func: ir.Operation) -> list[str]:
    """The user's names of a function's arguments; `arg<n>` where they are not known."""
    block = func.regions[0].blocks[0]
    attributes = list(ir.ArrayAttr(func.attributes["arg_attrs"])) if "arg_attrs" in func.attributes else []
    names = []
    for i, _ in enumerate(block.arguments):
        given = ir.DictAttr(attributes[i]) if attributes else {}
        names.append(ir.StringAttr(given["tierup.name"]).value if "tierup.name" in given else f"arg{i}")
    return names


def argument_bound(func: ir.Operation, index: int) -> ir.Type | None:
    """What `torch.type_bound` says an argument is at least, None without it."""
    if "arg_attrs" not in func.attributes:
        return None
    given = ir.DictAttr(ir.ArrayAttr(func.attributes["arg_attrs"])[index])
    return ir.TypeAttr(given["torch.type_bound"]).value if "torch.type_bound" in given else None


def name_in(location: ir.Location) -> str:
    """The name in a location like `loc("y"("file.py":3:4))`, "" without one."""
    return location.name_str if isinstance(location, ir.NameLoc) else ""
