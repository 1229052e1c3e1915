"""Causes that lie in what calls bring: dtypes that drift, containers that grow, values from outside, layouts, many leaves, keywords."""

from __future__ import annotations

import dis
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.spelling import printable, short_time
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Artifact, Layout
from tierup.runtime.account.times import COMPILING, GRAPHS, LOADING, OVERHEAD, TIER0
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.arguments.trees import Leaf, Node, Tree, leaf_names
from tierup.runtime.functions.verdict.cause import Cause, Facts, listed

_MANY_LEAVES = 32
_FEW = 4  # calls of another dtype that are no drift yet
_OFTEN = 64  # calls
_OURS = re.compile(r"_\d+")  # what a part of a function is given that has no name in it: who names it says nothing
_MUCH = 0.15  # of a function's time


def kind_of(spec: ArgumentSpec) -> str:
    """`f64`, `a NumPy i64`, `int`: what of an argument no version leaves open."""
    if spec.kind is not ArgumentKind.ARRAY:
        return str(spec.kind.value)
    return spec.dtype if spec.sizes else f"np.{spec.dtype}"


def drifting_dtypes(facts: Facts) -> Iterator[Cause]:
    """Arguments that come in one dtype now and in another then."""
    calls: dict[str, Counter[str]] = {}
    by_kinds: dict[tuple[str, ...], int] = Counter()
    for executor, version, hits in facts.versions:
        kinds = tuple(map(kind_of, version.speculation.specs))
        by_kinds[kinds] += hits + 1
        for name, kind in zip(executor.program.names, kinds, strict=True):
            calls.setdefault(name, Counter())[kind] += hits + 1
    for executor in facts.executors:
        for event in executor.history.events:
            if event.reason is Reason.WRONG_DTYPE and event.guard:
                name = event.guard.partition(":")[0]
                calls.setdefault(name, Counter())[event.actual] += event.times
    drifting = {name: counts for name, counts in calls.items() if len(counts) > 1 and counts.total() - max(counts.values()) >= _FEW}
    if not drifting:
        return
    usual = max(by_kinds, key=by_kinds.__getitem__, default=())
    others = [version for _, version, _ in facts.versions if tuple(map(kind_of, version.speculation.specs)) != usual]
    misses = sum(e.history.reasons.get(("miss", Reason.WRONG_DTYPE), 0) for e in facts.executors)
    seconds = facts.beyond_first(others) + facts.of_graphs() + facts.seconds[TIER0] * (0.5 if misses else 0.0)
    said = "; ".join(f"`{name}` is {listed([f'{kind} in {n} calls' for kind, n in c.most_common()])}" for name, c in drifting.items())
    versions = len({tuple(map(kind_of, v.speculation.specs)) for _, v, _ in facts.versions})
    trees = [(name, tree) for parameters, _ in facts.variants for name, tree in parameters]
    of_lists = {path for name, tree in trees for path, leaf in leaf_names(tree, name) if leaf.kind == "numbers"}
    remedies = [_made(name, list(counts), in_list=name in of_lists) for name, counts in drifting.items()]
    made = f", which took {versions} versions" if versions > 1 else ""
    yield Cause(
        f"dtypes drift from call to call: {said}{made}",
        f"give each argument one dtype before the call: {listed(remedies)}",
        seconds, sum(sum(c.values()) for c in drifting.values()) // len(drifting), facts.line,
    )  # fmt: skip


def _made(name: str, kinds: list[str], *, in_list: bool) -> str:
    """How an argument gets the one kind that holds what all of these do. `in_list`: it is the numbers of a list."""
    if in_list:
        items = name.split("[", 1)[0]
        return f"{items} = [float(v) for v in {items}]" if items == name else f"numbers of one kind in `{items}`"
    if set(kinds) <= _NUMBERS.keys():
        return f"{name} = {max(kinds, key=list(_NUMBERS).index)}({name})"
    known = [dtypes.BY_NAME[plain].numpy for kind in kinds if (plain := kind.removeprefix("np.")) in dtypes.BY_NAME]
    held = np.result_type(*known, *(_NUMBERS[kind] for kind in kinds if kind in _NUMBERS))
    return f"{name} = np.asarray({name}, np.{held.name})"


_NUMBERS = {"bool": np.bool_, "int": np.int64, "float": np.float64}


def changing_keys(facts: Facts) -> Iterator[Cause]:
    """Dicts that have other keys in each call."""
    keys: dict[str, set[tuple[Any, ...]]] = {}
    for parameters, _ in facts.variants:
        for name, tree in parameters:
            for path, node in _containers(name, tree):
                if node.kind == "dict":
                    keys.setdefault(path, set()).add(tuple(node.keys))
    name, found = max(keys.items(), key=lambda item: len(item[1]), default=("", set()))
    if len(found) < _FEW or len({len(each) for each in found}) > 2:
        return  # `growing_containers`
    yield Cause(
        f"the dict `{name}` has other keys from call to call, and each set of keys makes a graph: {facts.graphs} graphs",
        f"pass the values as an array, `np.array(list({name}.values()))`, or a dict whose keys stay alike",
        facts.of_structures(), facts.stats.calls, facts.line,
    )  # fmt: skip


def growing_containers(facts: Facts) -> Iterator[Cause]:
    """Lists, tuples and dicts that have another length in each call."""
    grown = {key: found for key, found in _lengths(facts).items() if len(found) > 2}
    if not grown:
        return
    (name, kind), found = max(grown.items(), key=lambda item: len(item[1]))
    items = f"list({name}.values())" if kind == "dict" else name
    yield Cause(
        f"the {kind} `{name}` has another length from call to call, {min(found)} to {max(found)}, and each makes a graph: "
        f"{facts.graphs} graphs",
        f"pass one array in its place, `np.array({items})`, or rows of an array that is made once and filled (`{name}[:n]`)",
        facts.of_structures(), facts.stats.calls, facts.line,
    )  # fmt: skip


def changing_ranks(facts: Facts) -> Iterator[Cause]:
    """Arrays that have another rank in each call."""
    ranks: dict[str, set[int]] = {}
    for parameters, _ in facts.variants:
        for name, tree in parameters:
            for path, leaf in leaf_names(tree, name):
                if leaf.kind == "array" and leaf.ndim is not None:
                    ranks.setdefault(path, set()).add(leaf.ndim)
    name, found = max(ranks.items(), key=lambda item: len(item[1]), default=("", set()))
    if len(found) < _FEW:
        return
    yield Cause(
        f"`{name}` has another number of dimensions from call to call, {min(found)} to {max(found)}, and each makes a graph with versions "
        f"of its own: {facts.graphs} graphs",
        f"give it one number of dimensions before the call: {name}.reshape(-1, {name}.shape[-1]), or add dimensions of size 1",
        facts.of_graphs() + facts.beyond_first([v for _, v, _ in facts.versions]), facts.stats.calls, facts.line,
    )  # fmt: skip


def _lengths(facts: Facts) -> dict[tuple[str, str], set[int]]:
    """By path and kind, the lengths of containers that calls brought."""
    lengths: dict[tuple[str, str], set[int]] = {}
    for parameters, _ in facts.variants:
        for name, tree in parameters:
            for path, node in _containers(name, tree):
                lengths.setdefault((path, node.kind), set()).add(len(node.items))
    return lengths


def differing_lengths(facts: Facts) -> str:
    """`len(history), 1 to 60`: in what graphs differ, where that is how long containers are."""
    found = {name: lengths for (name, _), lengths in _lengths(facts).items() if len(lengths) > 2}
    return ", ".join(f"len({name}), {min(lengths)} to {max(lengths)}" for name, lengths in list(found.items())[:3])


def _containers(name: str, tree: Tree) -> Iterator[tuple[str, Node]]:
    if isinstance(tree, Leaf) or tree.kind in ("complex", "whole"):
        return
    yield name, tree
    for i, item in enumerate(tree.items):
        yield from _containers(f"{name}[{tree.keys[i] if tree.kind == 'dict' else i!r}]", item)


def changing_settings(facts: Facts) -> Iterator[Cause]:
    """Strings, types and the like, given by keyword or as defaults, that differ from call to call: each value has a graph of its own."""
    values: dict[str, dict[str, int]] = {}
    for parameters, variant in facts.variants:
        for name, tree in parameters:
            if isinstance(tree, Leaf) and tree.is_static:
                value = "None" if tree.kind == "none" else getattr(tree.value, "__name__", repr(tree.value))
                known = values.setdefault(name, {})
                known[value] = known.get(value, 0) + variant.executor.calls()
        for constant in variant.built.constants:
            if constant.access.root == "argument" and constant.kind == "value":
                known = values.setdefault(str(constant.access), {})
                known[repr(constant.value)] = known.get(repr(constant.value), 0) + variant.executor.calls()
    changing = {name: found for name, found in values.items() if len(found) > 1 and not _OURS.fullmatch(name)}
    if not changing:
        return
    name, found = max(changing.items(), key=lambda item: len(item[1]))
    through_python = facts.seconds[OVERHEAD] * min(1.0, facts.entries / max(1, facts.stats.calls))
    yield Cause(
        f"`{name}` has {len(found)} values from call to call ({listed(list(found))}), and each makes a graph with versions of its own",
        f"make a function for each value (`functools.partial` around a `def`, decorated after that), or pass `{name}` as a number",
        facts.of_graphs() + facts.beyond_first([v for _, v, _ in facts.versions]) + through_python, sum(found.values()), facts.line,
    )  # fmt: skip


def changing_values(facts: Facts) -> Iterator[Cause]:
    """Globals and other values from outside that change."""
    names = {str(access): access for access in (*facts.read, *facts.fixed)}
    apart: dict[str, set[str]] = {}
    for _, variant in facts.variants:
        for constant in variant.built.constants:
            if constant.kind in ("value", "identity") and constant.access.root != "argument":
                apart.setdefault(str(constant.access), set()).add(repr(constant.value)[:40])
                if len(apart[str(constant.access)]) > 1:
                    names[str(constant.access)] = constant.access
    misses: Counter[str] = Counter()
    for executor in facts.executors:
        for event in executor.history.events:
            if event.reason in (Reason.WRONG_VALUE, Reason.CONSTANT_CHANGED) and event.guard.partition(":")[0] in names:
                misses[event.guard.partition(":")[0]] += event.times
    if not names or facts.graphs <= 1:
        return
    missed = sum(e.history.reasons.get(("miss", Reason.WRONG_VALUE), 0) for e in facts.executors)
    line = next((found for access in sorted(names.values(), key=lambda a: -misses[str(a)]) if (found := line_of(access))), facts.line)
    said = listed([f"`{name}`" for name in sorted(names, key=lambda n: -misses[n])])
    decides = [name for name in names if misses[name]] + [str(a) for a in facts.fixed]
    remedy = f"pass {'it as an argument' if len(names) == 1 else 'them as arguments'}"
    if decides:
        remedy = (
            f"keep {listed([f'`{n}`' for n in dict.fromkeys(decides)])} fixed, since shapes or axes hang on it: a function for each value "
            f"(functools.cache around a `def` that is decorated), and pass others as arguments"
        )
    yield Cause(
        f"{said}, read from outside, changed between calls: {facts.graphs} graphs were made"
        + (f" and {missed} calls missed" if missed else ""),
        remedy,
        facts.of_graphs() + facts.beyond_first([v for _, v, _ in facts.versions])
        + facts.seconds[TIER0] * missed / max(1, missed + facts.stats.profiled_runs + facts.stats.interpreted),
        missed or facts.graphs, line,
    )  # fmt: skip


def line_of(access: Access) -> str:
    """Where a function reads a name from outside; "" where that is not known."""
    code: Any = getattr(access.function, "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    line = code.co_firstlineno
    for instruction in dis.get_instructions(code):
        if instruction.positions is not None and instruction.positions.lineno is not None:
            line = instruction.positions.lineno
        if instruction.argval == access.name and instruction.opname.startswith("LOAD"):
            return printable(f"{code.co_filename}:{line}")
    return ""


def strided_layouts(facts: Facts) -> Iterator[Cause]:
    """Arrays with gaps, in another order than those beside them, or read across by loops."""
    found: dict[str, int] = {}
    seconds, calls, each, turned = 0.0, 0, [], True
    for executor, version, hits in facts.versions:
        specs = version.speculation.specs
        artifact = version.compiled.artifact
        if not hits or not isinstance(artifact, Artifact):  # of a GPU
            continue
        hows = [_odd(i, specs, artifact) for i in range(len(specs))]
        odd = {name: how for name, how in zip(executor.program.names, hows, strict=True) if how}
        if not odd:
            continue
        took = facts.seconds_of_call(version)
        for name, how in odd.items():
            found[f"`{name}` {how}"] = found.get(f"`{name}` {how}", 0) + hits
            turned = turned and how == _ACROSS
        calls += hits
        if took is not None:
            seconds += took * hits
            each.append(f"{short_time(took)} a call" + _against(facts, version, took))
    if not found:
        return
    names = list(dict.fromkeys(text.split("`")[1] for text in found))
    yield Cause(
        f"native code steps over memory: {listed([f'{text} in {n} calls' for text, n in found.items()])}"
        + (f"; it takes {listed(each, 3)}" if each else ""),
        f"let inner loops and sums run over the last index of {listed(names)}, whose elements are neighbours, or pass its transpose in rows"
        if turned
        else f"lay it out in rows before the loop: {listed([f'{name} = np.ascontiguousarray({name})' for name in names])}",
        seconds, calls, facts.line,
    )  # fmt: skip


_ACROSS = "is read down its columns, each element far from the one before,"


def _odd(argument: int, specs: tuple[ArgumentSpec, ...], kernel: Artifact) -> str:
    """How an argument lies, or is read, that makes code step over memory; "" where none does."""
    layout = specs[argument].layout
    if layout is Layout.STRIDED:
        return "has gaps (a slice with a step, a column)"
    if layout is not Layout.COLUMNS:
        return _ACROSS * (argument in kernel.reads_across)
    if any(s.layout is Layout.CONTIGUOUS and len(s.sizes) > 1 for s in specs):
        return "is in Fortran order beside rows"
    return "is in Fortran order, which costs more than rows here," * (argument in kernel.reads_across + kernel.turns)


def _against(facts: Facts, version: Any, took: float) -> str:
    """What an array without gaps takes, where calls had some."""
    mine = _elements(version)
    for _, other, _ in facts.versions:
        theirs, plain = facts.seconds_of_call(other), _elements(other)
        is_rows = other is not version and all(s.layout is Layout.CONTIGUOUS for s in other.speculation.specs)
        if is_rows and theirs is not None and mine and plain:
            return f", {took / mine / (theirs / plain):.1f} times what rows take an element"
    return ""


def _elements(version: Any) -> int:
    count = 0
    for spec in version.speculation.specs:
        of_array = 1
        for size in spec.sizes:
            of_array *= size if isinstance(size, int) else 0
        count += of_array if spec.sizes else 0
    return count


def many_leaves(facts: Facts) -> Iterator[Cause]:
    """Calls that bring very many arrays or numbers."""
    if differing_lengths(facts):
        return  # that is why
    executor = max(facts.executors, key=lambda e: len(e.program.names), default=None)
    count = 0 if executor is None else len(executor.program.names)
    if executor is not None and count >= _MANY_LEAVES:
        roots = Counter(name.partition("[")[0] for name in executor.program.names)
        name, most = roots.most_common(1)[0]
        if most < _MANY_LEAVES // 2:
            return  # as of PyTorch's graphs, to which each parameter is an argument: there is nothing to put together
        items = _of_one_kind(name, executor.program.names)
        parts = (GRAPHS, COMPILING, LOADING, OVERHEAD)
        yield Cause(
            f"each call brings {count} arrays and numbers, of which `{name}` has {most}: each is checked, taken apart and compiled for",
            f"put arrays of one shape into one array, `np.array({items})`, and pass that",
            sum(facts.seconds[part] for part in parts), executor.calls(), facts.line,
        )  # fmt: skip


def _of_one_kind(root: str, names: Sequence[str]) -> str:
    """The expression of those items of a container that belong together: `list(params.values())`, `[each['w'] for each in params]`."""
    path = next(name for name in names if name.startswith(f"{root}["))[len(root) :]
    first, _, rest = path[1:].partition("]")
    items = f"{root}.values()" if first.startswith("'") else root
    return f"[each{rest} for each in {items}]" if rest else f"list({items})" if items != root else root


WAYS = {
    "KEYWORDS": ("keyword arguments that only Python puts in their places", "pass them by position"),
    "COUNT": ("defaults that Python fills in", "pass all arguments by position"),
    "STRUCTURE": ("containers whose keys or lengths differ", "pass their items as arguments, or containers that stay alike"),
    "CONSTANT": ("strings, flags or objects that change", "make a function for each value, or pass it as a number"),
    "HIDDEN": ("values from outside that are not there every time", "pass them as arguments"),
    "TENSORS": ("PyTorch's tensors that Python takes apart", "detach them, or pass NumPy's arrays"),
}


def costly_calls(facts: Facts) -> Iterator[Cause]:
    """Calls that Python binds: keywords, defaults, objects."""
    own = facts.seconds[OVERHEAD]
    entries = facts.entries
    if entries < _OFTEN or own < _MUCH * facts.recurring:
        return
    cause, count = max(facts.slow.items(), key=lambda item: item[1], default=("", 0))
    what, remedy = WAYS.get(cause, ("", ""))
    if not what or count < entries // 4:
        static = [name for parameters, _ in facts.variants for name, tree in parameters if _has_objects(tree)]
        if not static:
            return
        what, remedy = f"`{static[0]}`, a string or an object, which Python looks at in each call", "pass arrays and numbers"
        count = entries
    yield Cause(
        f"{count} calls go through Python before native code, {short_time(own / entries)} each: {what}", remedy, own, count, facts.line
    )


def _has_objects(tree: Tree) -> bool:
    if isinstance(tree, Node):
        return any(map(_has_objects, tree.items))
    return tree.is_static and tree.kind != "none"
