"""Functions in pickles: how one comes to another process, by Python's pickle and by those who pickle functions by value.

* A function that its module knows by a name is pickled by that name, as Python's functions are. In a script's own module, `__main__`,
  pickle does that too (`multiprocessing` imports the script in the processes that it spawns), but cloudpickle, and so joblib, Dask and
  Ray, takes functions by value, since their processes run another script. Which of them is at work no object is told. But a Python
  function that `__main__` knows they take differently: one that is the function's attribute goes in its place (`known_in_main`).
* Any other (closures, lambdas, those of notebooks) is pickled by value: what cloudpickle makes of its Python function, and of the helpers
  that go with it, with the text of the files that they stand in, since programs are made of source. `Portable.remade` says of what a
  function is made again.
* Options and the profile go along; the code of its versions by the option `pickle_code`, as entries of the cache.

Equal pickles are one function in a process, where nothing that it holds can change: its calls are looked up once. Others are made anew each
time, as cloudpickle makes functions.
"""

from __future__ import annotations

import dis
import hashlib
import io
import linecache
import logging
import pickle
import sys
import types
import weakref
import zlib
from collections import ChainMap
from collections.abc import Callable, Iterator
from functools import cache, partial
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tierup.dialect.base import forking
from tierup.lowering.artifacts import cache as artifacts
from tierup.lowering.artifacts.places import placed
from tierup.lowering.objects import store
from tierup.runtime.base.recent import Recent
from tierup.runtime.code import plans
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.programs import starts

if TYPE_CHECKING:
    from tierup.lowering.objects.keys import Key
    from tierup.runtime.arguments.trees import CallShape
    from tierup.runtime.base.options import Options
    from tierup.runtime.functions.graphs.variant import Variant

_log = logging.getLogger("tierup.pickle")
_MOST = 64  # functions that are kept to be given for an equal pickle
_NAMELESS = "<dynamic-code>"  # what cloudpickle calls the file of all code
_PROTOCOL = 5
_FIXED = (type(None), type(...), bool, int, float, complex, str, bytes, range, np.generic, np.dtype, np.ufunc, CodeType,
          types.ModuleType, types.BuiltinFunctionType, FunctionType)  # fmt: skip
_EMPTY = types.CellType()
_SCRIPTS = ("__main__", "__mp_main__")
_REBINDS = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


class Pickled(Protocol):
    """What is asked of a function here. `remade`: what makes an empty one, what fills it, and of what."""

    __name__: str
    remade: tuple[Callable[[], Any], Callable[..., None], Any] | None

    @property
    def known_in_main(self) -> Any:
        """What `known_in_main` made of it."""

    @property
    def options(self) -> Options:
        """Those in force now."""

    @property
    def own_options(self) -> dict[str, Any]:
        """Those that it was made with."""

    @property
    def shapes(self) -> list[tuple[CallShape, Variant]]:
        """Its graphs, and the structure of the calls of each."""

    def profile(self) -> str:
        """What its calls looked like."""


def reduced(function: Pickled, protocol: int = _PROTOCOL) -> Any:
    """What `__reduce_ex__` gives. Raises PicklingError."""
    module, name = _found(function)
    if name:  # an attribute of what is being pickled has no name before protocol 4
        return name if module != "__main__" or protocol < 4 else (_called, (function.known_in_main,))
    if function.remade is not None and _is_in_main(target := function.remade[2]):
        return _of_main, (*function.remade[:2], target, function.own_options, _packed_or_none(function))
    return _unpacked, _packed(function)


def _found(function: Pickled) -> tuple[str, str]:
    """The module that knows a function, and by which name; ("", "") where its own does not."""
    module = sys.modules.get(str(getattr(function, "__module__", None)))
    if module is None:
        return "", ""
    name = str(getattr(function, "__qualname__", function.__name__))
    if _attribute(module, name) is function:
        return module.__name__, name
    others = {} if module.__name__ == "__main__" else dict(vars(module))  # what a script does as a script is not done where it is imported
    return next(((module.__name__, other) for other, value in others.items() if value is function), ("", ""))


def _attribute(module: types.ModuleType, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _is_in_main(target: Any) -> bool:
    """Whether the script's module knows the Python function by its name."""
    function = getattr(target, "function", target)  # of gradients
    is_scripts = isinstance(function, FunctionType) and function.__module__ in _SCRIPTS
    return is_scripts and _attribute(sys.modules["__main__"], function.__qualname__) is function


# --- of the script's own module ------------------------------------------------------------------------------------------


class _ByValue:
    """What cloudpickle takes of a function in `__main__`, and pickle does not. Called, it gives the function."""

    def __init__(self, function: Pickled) -> None:
        self._function = weakref.ref(function)

    def __call__(self) -> Pickled | None:
        return self._function()

    def __reduce__(self) -> Any:
        function = self()
        assert function is not None  # it is being pickled
        return partial, (_unpacked, *_packed(function))


def known_in_main(function: Pickled) -> Callable[[], Any]:
    """A Python function that gives this one, and that `__main__` knows as its attribute."""
    function_by_value = _ByValue(function)

    def give() -> Any:
        return function_by_value()

    give.__module__ = "__main__"
    give.__qualname__ = f"{getattr(function, '__qualname__', function.__name__)}.known_in_main"
    return give


def _called(give: Callable[[], Any]) -> Any:
    return give()


def _of_main(empty: Any, fill: Any, target: Any, options: dict[str, Any], packed: tuple[Any, ...] | None) -> Any:
    """What is made of a Python function: here the same, where the script's module knows it, else the function that was pickled."""
    if packed is not None and not _is_in_main(target):
        return _unpacked(*packed)
    in_script = [each for each in list(vars(sys.modules["__main__"]).values()) if _is_remade(each) and each.remade is not None]
    found = next((each for each in in_script if each.remade[2] == target and each.own_options == options), None)
    return _kept((target, repr(options)), lambda: _filled(empty, fill, target, options)) if found is None else found


def _filled(empty: Any, fill: Any, target: Any, options: dict[str, Any]) -> Any:
    made = empty()
    fill(made, (target, options))
    return made


def _packed_or_none(function: Pickled) -> tuple[Any, ...] | None:
    """None where what it holds cannot be pickled by value: pickle, which takes it by name, needs none of that."""
    try:
        return _packed(function)
    except Exception as e:  # noqa: BLE001 - what objects of the user's own raise
        _log.debug("%r is pickled by name alone: %s", function, e)
        return None


# --- by value ------------------------------------------------------------------------------------------------------------


class _File(str):
    """The name of a file that code stands in."""


@cache
def _pickler() -> Any:
    """The class of what pickles functions by value. Raises PicklingError."""
    try:
        import cloudpickle  # here: who pickles functions by value has it, and programs that do not need none
    except ImportError as e:
        raise pickle.PicklingError(
            "a tierup function that is no attribute of a module is pickled by value, for which cloudpickle is missing: "
            "install it (pip install cloudpickle), or give the function a name in its module"
        ) from e

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # it has no types
        """As cloudpickle's, but code keeps the name of its file, and tierup functions are their parts."""

        def __init__(self, file: io.BytesIO) -> None:
            super().__init__(file, protocol=_PROTOCOL)
            self.files: dict[str, str] = {}
            self.is_fixed = True  # nothing that a function holds can change

        def persistent_id(self, obj: Any) -> str | None:
            if type(obj) is not _File:
                return None
            if obj not in self.files:
                self.files[str(obj)] = "".join(linecache.getlines(obj))
            return str(obj)

        def reducer_override(self, obj: Any) -> Any:
            if _is_remade(obj):
                return reduced(obj) if _found(obj)[0] not in ("", "__main__") else _parts(obj)
            made = super().reducer_override(obj)
            if isinstance(obj, FunctionType) and isinstance(made, tuple):
                self.is_fixed &= _is_fixed(obj, made[2])
            return made

    def code(of: CodeType) -> Any:
        make, parts = cloudpickle.Pickler.dispatch_table[CodeType](of)
        names = (_NAMELESS, of.co_filename)
        return make, tuple(_File(of.co_filename) if isinstance(part, str) and part in names else part for part in parts)

    Pickler.dispatch_table = ChainMap({CodeType: code}, cloudpickle.Pickler.dispatch_table)
    return Pickler


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, names: dict[str, str]) -> None:
        super().__init__(io.BytesIO(data))
        self._names = names

    def persistent_load(self, name: Any) -> str:
        return self._names[name]


def _parts(function: Pickled) -> Any:
    """A function as what it is made of: an empty one first, since its own globals may hold it."""
    if function.remade is None:
        raise pickle.PicklingError(f"{function!r} cannot be pickled by value: give it a name in its module")
    empty, fill, target = function.remade
    return empty, (), (target, function.own_options), None, None, fill


def _packed(function: Pickled) -> tuple[Any, ...]:
    """A function by value: what `_unpacked` takes. Raises PicklingError, and what pickling what it holds raises."""
    kind, file = _pickler(), io.BytesIO()
    pickler = kind(file)
    pickler.dump(function)
    texts = {name: zlib.compress(text.encode("utf-8", "surrogateescape")) for name, text in pickler.files.items()}
    return file.getvalue(), texts, pickler.is_fixed, function.profile(), tuple(_code(function)) if function.options.pickle_code else ()


_lock = forking.lock()
_there: Recent[object, Any] = Recent()  # functions that came, the last used last


def _kept(key: object, make: Callable[[], Any]) -> Any:
    """The function that came by this key, made where it is not among the last ones."""
    with _lock:
        if (found := _there.use(key)) is not None:
            return found
    made = make()  # imports, and unpickles: under no lock
    with _lock:
        made = _there.get(key, made)
        _there.keep(key, made, _MOST)
    return made


def _unpacked(data: bytes, texts: dict[str, bytes], is_fixed: bool, profile: str, code: tuple[Any, ...], *_: object) -> Any:
    """The function that `_packed` made this of."""
    def made() -> Any:
        for name, payload, description in code:
            if store.read(name) is None:
                store.write(name, payload, description)
        names = {name: _placed_file(name, zlib.decompress(text).decode("utf-8", "surrogateescape")) for name, text in texts.items()}
        function = _Unpickler(data, names).load()
        function.expect(profile)
        return function

    return _kept(hashlib.sha256(data + b"".join(texts.values())).digest(), made) if is_fixed else made()


def _placed_file(name: str, text: str) -> str:
    """The name of a file with this text: its own, where no other file has it here."""
    there = "".join(linecache.getlines(name))
    if not text or there == text:
        return name
    if there:
        name = f"<{name} of another process, {hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    return name


def _is_fixed(function: FunctionType, state: tuple[Any, ...]) -> bool:
    """Whether nothing that a function holds, given as cloudpickle takes it, can change, but what is pickled with it as a function."""
    attributes, slots = state
    cells = [cell.cell_contents for cell in slots["__closure__"] or () if cell != _EMPTY]
    defaults = *(slots["__defaults__"] or ()), *(slots["__kwdefaults__"] or {}).values()
    own = [value for name, value in attributes.items() if not name.startswith("__tierup_")]  # what was made of it here
    held = (*own, *slots["__globals__"].values(), *cells, *defaults)
    return all(map(_cannot_change, held)) and not any(map(_rebinds, _codes(function.__code__)))


def _cannot_change(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_cannot_change, value))
    if isinstance(value, type):  # one of a script, or that a function makes, is pickled by value
        return value.__module__ not in _SCRIPTS and "<locals>" not in value.__qualname__
    return isinstance(value, _FIXED) or _is_remade(value)


def _is_remade(value: Any) -> bool:
    """Whether it is a tierup function that `_parts` takes apart."""
    return getattr(type(value), "is_remade", False) is True


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _rebinds(code: CodeType) -> bool:
    """Whether it sets names of what is around it."""
    return any(i.opname in _REBINDS and (i.opname.endswith("GLOBAL") or i.argval in code.co_freevars) for i in dis.get_instructions(code))


def _code(function: Pickled) -> Iterator[tuple[str, bytes, bytes]]:
    """The entries of the cache that lead to the code of its versions."""
    for key in _keys(function):
        payload = store.read(key.name)
        if payload is not None:
            yield key.name, payload, key.description()


def _keys(function: Pickled) -> Iterator[Key]:
    options = function.options
    if options.backend != "cpu":
        return
    for _, variant in function.shapes:
        program = variant.built.program
        try:
            where = placed(program.graph)
            yield starts.key(program, options)
        except (NotCompiled, OSError):  # it was released
            continue
        for version in variant.executor.versions_under(options):
            yield plans.key_of(where, program.entry, version.record.arguments)
            yield artifacts.key(version.compiled.request)
