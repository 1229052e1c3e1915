"""A method with several signatures, of which a call takes the first that its arguments fit: `torch.jit._overload_method`, as in nn.LSTM,
whose `forward` takes a tensor or a packed sequence. TorchScript has a method for each, named forward__0, forward__1 and so on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tierup.dialect.optable.kernels.torch_tensors import is_tensor
from tierup.frontend.torch.function import TorchFunction

_NUMBERS = {"IntType": (int,), "FloatType": (float, int), "BoolType": (bool,), "NumberType": (int, float), "StringType": (str,)}


def names_of(inside: Any, method: str) -> list[str]:
    """The methods that a call of `method` may mean, in the order in which they are tried; none where there is no such method."""
    if inside._has_method(method):
        return [method]
    found = [(name, name.removeprefix(f"{method}__")) for name in inside._method_names()]
    return sorted((name for name, rest in found if rest != name and rest.isdigit()), key=lambda name: int(name.rpartition("_")[2]))


class Overloads:
    """The functions of a method's signatures. All else that a function has (`explain()`, `stats()`, ...) is that of the one called last."""

    def __init__(self, functions: Sequence[TorchFunction], schemas: Sequence[Any]) -> None:
        self.functions, self._schemas = tuple(functions), tuple(schemas)
        self._last = self.functions[0]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of the first function that takes these arguments. Raises TypeError where none does."""
        for function, schema in zip(self.functions, self._schemas, strict=True):
            if _fit(schema, args, kwargs):
                self._last = function
                return function(*args, **kwargs)
        raise TypeError("no signature takes these arguments; there are " + "; ".join(map(str, self._schemas)))

    forward = __call__  # the name that a module's users may know it by

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._last, name)

    def __repr__(self) -> str:
        return f"<one of {len(self.functions)}, by the arguments: {self._last!r}>"


def _fit(schema: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    arguments = [a for a in schema.arguments if a.name != "self"]
    given = dict(zip((a.name for a in arguments), args, strict=False))
    if len(args) > len(arguments) or given.keys() & kwargs.keys() or kwargs.keys() - {a.name for a in arguments}:
        return False
    given |= kwargs
    return all(_is_of(given[a.name], a.type) if a.name in given else a.has_default_value() for a in arguments)


def _is_of(value: Any, type_: Any) -> bool:
    """Whether a value is of a TorchScript type, with all that is in it: a tuple of alike items is a list, too."""
    kind = type_.kind()
    if kind == "OptionalType":
        return value is None or _is_of(value, type_.getElementType())
    if kind == "TensorType":
        return is_tensor(value)
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and (kind == "BoolType" or not isinstance(value, bool))
    if kind == "TupleType":
        elements = list(type_.elements())
        return isinstance(value, tuple) and len(value) == len(elements) and all(map(_is_of, value, elements))
    if kind == "ListType":
        return isinstance(value, (list, tuple)) and all(_is_of(v, type_.getElementType()) for v in value)
    if kind == "DictType":
        return isinstance(value, dict) and all(_is_of(v, type_.getValueType()) for v in value.values())
    return bool(kind == "AnyType")
