"""A thin layer over llvmlite.ir that lets the dispatcher's code read like the C it would otherwise be written in."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from llvmlite import ir

from tierup.lowering.entry.layout import offset

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F64, PTR, VOID = ir.DoubleType(), ir.PointerType(), ir.VoidType()
NULL = ir.Constant(PTR, None)
YES, NO = I1(1), I1(0)

_FIELD_TYPES: dict[object, ir.Type] = {ctypes.c_int32: I32, ctypes.c_int64: I64, ctypes.c_void_p: PTR}


class Emitter:
    """Builds one function. Early exits (`return_if`) keep the code flat."""

    def __init__(
        self, module: ir.Module, name: str, result: ir.Type, parameters: Sequence[ir.Type],
        *, exported: bool = False, inline: bool = False, outline: bool = False, rare: bool = False,
    ) -> None:  # fmt: skip
        self.function = ir.Function(module, ir.FunctionType(result, parameters), name)
        if not exported:
            self.function.linkage = "internal"
        self.function.attributes.add("nounwind")
        if inline:
            self.function.attributes.add("alwaysinline")
        if outline or rare:
            self.function.attributes.add("noinline")
        if rare:  # LLVM spends no time on it
            self.function.attributes.add("optnone")
        self.module = module
        self.b = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.parameters = self.function.args

    def call(self, callee: ir.Value | Function, *args: ir.Value) -> ir.Value:
        """Call a function, or a pointer to one, and give its result."""
        return self.b.call(callee.of(self.module) if isinstance(callee, Function) else callee, args)

    def call_field(self, base: ir.Value, structure: type[ctypes.Structure], field: str, result: ir.Type, *args: ir.Value) -> ir.Value:
        """Call the function that a structure's field points to."""
        type_ = ir.FunctionType(result, [a.type for a in args]).as_pointer()
        return self.b.call(self.load(base, offset(structure, field), type_), args)

    # memory

    def at(self, base: ir.Value, offset_: int | ir.Value) -> ir.Value:
        """The address that lies `offset_` bytes behind another."""
        if isinstance(offset_, int):
            offset_ = I64(offset_)
        return self.b.gep(base, [offset_], source_etype=I8)

    def item(self, base: ir.Value, index: int | ir.Value, size: int = 8) -> ir.Value:
        """The address of element `index` of an array with elements of `size` bytes."""
        if isinstance(index, int):
            return self.at(base, index * size)
        return self.at(base, self.b.mul(index, I64(size)))

    def load(self, base: ir.Value, offset_: int | ir.Value = 0, type_: ir.Type = I64) -> ir.Value:
        """What lies `offset_` bytes behind an address."""
        return self.b.load(self.at(base, offset_), typ=type_)

    def store(self, value: ir.Value, base: ir.Value, offset_: int | ir.Value = 0) -> None:
        """Write a value `offset_` bytes behind an address."""
        self.b.store(value, self.at(base, offset_))

    def get(self, base: ir.Value, structure: type[ctypes.Structure], field: str) -> ir.Value:
        """The value of a ctypes structure's field."""
        type_ = next(f[1] for f in structure._fields_ if f[0] == field)
        return self.load(base, offset(structure, field), _FIELD_TYPES[type_])

    def put(self, value: ir.Value, base: ir.Value, structure: type[ctypes.Structure], field: str) -> None:
        """Write a ctypes structure's field."""
        self.store(value, base, offset(structure, field))

    def add_to(self, amount: int, base: ir.Value, offset_: int) -> None:
        """Add to the 64-bit integer that lies `offset_` bytes behind an address."""
        self.store(self.b.add(self.load(base, offset_), I64(amount)), base, offset_)

    def variable(self, type_: ir.Type, value: ir.Value) -> ir.Value:
        """A local variable in the entry block; read it with `load`."""
        with self.b.goto_entry_block():
            slot = self.b.alloca(type_)
        slot.type = PTR  # see external_data
        self.b.store(value, slot)
        return slot

    def stack(self, size: ir.Value) -> ir.Value:
        """`size` bytes until the function returns."""
        memory = self.b.alloca(I8, size=size)
        memory.align, memory.type = 16, PTR
        return memory

    # values

    def equal(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a == b, of integers or pointers."""
        return self.b.icmp_unsigned("==", a, b)

    def differ(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a != b, of integers or pointers."""
        return self.b.icmp_unsigned("!=", a, b)

    def less(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """a < b, of integers with a sign."""
        return self.b.icmp_signed("<", a, b)

    def is_null(self, pointer: ir.Value) -> ir.Value:
        """Whether a pointer is NULL."""
        return self.equal(pointer, NULL)

    def has_bits(self, value: ir.Value, bits: ir.Value) -> ir.Value:
        """Whether all of these bits are set in a value."""
        return self.equal(self.b.and_(value, bits), bits)

    # control flow

    @contextmanager
    def when(self, condition: ir.Value, likely: bool | None = None) -> Iterator[None]:
        """if (condition): the code made inside the `with`. `likely`: what LLVM is told; None: nothing."""
        with self.b.if_then(condition, likely=likely):
            yield

    def return_if(self, condition: ir.Value, value: ir.Value | Callable[[], ir.Value], likely: bool = False) -> None:
        """Leave the function when the condition holds; a callable builds the value on that path."""
        with self.b.if_then(condition, likely=likely):
            self.b.ret(value() if callable(value) else value)

    @contextmanager
    def loop(self, count: ir.Value, start: ir.Value | None = None) -> Iterator[ir.Value]:
        """for i in range(start, count); a body that ends in a return or a branch of its own is fine."""
        start = I64(0) if start is None else start
        before = self.b.block
        head = self.function.append_basic_block("loop")
        body = self.function.append_basic_block("body")
        after = self.function.append_basic_block("after")
        self.b.branch(head)
        self.b.position_at_end(head)
        i = self.b.phi(I64)
        i.add_incoming(start, before)
        self.b.cbranch(self.less(i, count), body, after)
        self.b.position_at_end(body)
        yield i
        if not self.b.block.is_terminated:
            i.add_incoming(self.b.add(i, I64(1)), self.b.block)
            self.b.branch(head)
        self.b.position_at_end(after)

    @contextmanager
    def cases(self, value: ir.Value) -> Iterator[Callable[..., None]]:
        """switch (value): `case(n, ...)` starts the code for these numbers; values without a case go on behind the switch."""
        after = self.function.append_basic_block("endswitch")
        switch = self.b.switch(value, after)

        def finish() -> None:
            if not self.b.block.is_terminated:
                self.b.branch(after)

        started = False

        def case(*numbers: int) -> None:
            nonlocal started
            if started:
                finish()
            started = True
            block = self.function.append_basic_block("case")
            for number in numbers:
                switch.add_case(ir.Constant(value.type, number), block)
            self.b.position_at_end(block)

        yield case
        finish()
        self.b.position_at_end(after)


class Function:
    """A function of generated code: it is put into a module where something in it first calls it."""

    def __init__(self, build: Callable[..., None], result: ir.Type, parameters: Sequence[ir.Type], name: str, **how: bool) -> None:
        self._build, self._result, self._parameters, self._name, self._how = build, result, parameters, name, how

    def of(self, module: ir.Module) -> ir.Function:
        """The function in a module."""
        known = module.globals.get(self._name)
        if known is None:
            f = Emitter(module, self._name, self._result, self._parameters, **self._how)
            known = f.function
            self._build(f, *f.parameters)
        return known


def function(result: ir.Type, *parameters: ir.Type, name: str = "", **how: bool) -> Callable[[Callable[..., None]], Function]:
    """What builds a function's code, as that function; `how`: as `Emitter` has it."""
    return lambda build: Function(build, result, parameters, name or build.__name__, **how)


def external(module: ir.Module, name: str, result: ir.Type, *parameters: ir.Type) -> ir.Function:
    """A C function, resolved by name when the object is linked."""
    known = module.globals.get(name)
    return known if known is not None else ir.Function(module, ir.FunctionType(result, parameters), name)


def external_data(module: ir.Module, name: str) -> ir.GlobalVariable:
    """The address of an object of another library (a type, None, ...)."""
    known = module.globals.get(name)
    if known is None:
        known = ir.GlobalVariable(module, I8, name)
        known.linkage = "external"
        known.type = PTR  # llvmlite types globals by their contents; here only addresses matter
    return known
