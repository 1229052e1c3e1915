"""Numbers from outside that change from graph to graph: which of them a function reads at every call, as hidden inputs.

A number is a constant of the graph at first, since what is known makes better code. When a graph would be the third that differs from
others in nothing but numbers, those that two of them were wrong about become inputs. PyTorch's dynamo does so after one change
(`automatic_dynamic_shapes`); here a number that has two values, a flag say, keeps a graph for each. A number that the graph cannot be
built without (an axis, the length of a tuple) stays a constant, and the user is told once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tierup.runtime.arguments.hidden import Access, same_value
from tierup.runtime.base.once import Once, warn
from tierup.runtime.executors.executor import Executor
from tierup.runtime.functions.graphs.variant import Built, Numbers, Variant

_GRAPHS_BEFORE_READING = 2
_MANY_GRAPHS = 8  # of one call structure: then changes of anything else outside are told


class ChangingNumbers:
    """Those of one function. `read`: what graphs take as inputs; `fixed`: what was tried, and why it must be known."""

    def __init__(self) -> None:
        self.read: Numbers = frozenset()
        self.fixed: dict[Access, str] = {}
        self._new: Numbers = frozenset()

    def take_new(self) -> Numbers:
        """Those that are read since the last time that it was asked for: graphs with one of them as a constant are out of date."""
        new, self._new = self._new, frozenset()
        return new

    def made_outdated(self, built: Built, read: Numbers) -> bool:
        """Whether another thread has found since `read` were the numbers to be read that a constant of a graph changes."""
        return self.read != read and any(c.kind == "value" and c.access in self.read for c in built.constants)

    def will_drop(self, built: Built) -> bool:
        """Whether a graph has a constant that is known to change, and is still there."""
        return any(c.kind == "value" and c.access in self._new for c in built.constants)

    def build(self, build: Callable[[Numbers], Built], known: Sequence[Variant], arguments: Mapping[str, object]) -> Built:
        """A graph for a call that none of the `known` ones of its structure is right for. Raises what `build` raises."""
        made: Built | None = None
        for access in self._changed(known, arguments):
            try:
                made = build(self.read | {access})
            except Exception as e:  # noqa: BLE001 - whatever it was: where it is the program's, the graph with a constant raises it
                self.fixed[access] = str(e)
            else:
                self.read |= {access}
                self._new |= {access}
        if made is not None:
            return made
        try:
            return build(self.read)
        except Exception:
            if not self.read:
                raise
            return build(frozenset())  # calls of another structure may need to know what those before did not

    def _changed(self, known: Sequence[Variant], arguments: Mapping[str, object]) -> list[Access]:
        """The numbers to be read from now on."""
        wrong: Counter[Access] = Counter()
        for variant in known:
            lost = [c for c in variant.built.constants if not c.holds(arguments)]
            if lost and variant.hidden_values(arguments) is not None and all(c.is_number(arguments) for c in lost):
                wrong.update({c.access for c in lost})
        often = [access for access, times in wrong.items() if times >= _GRAPHS_BEFORE_READING]
        return [access for access in often if access not in self.read and access not in self.fixed]

    def warn_of_graphs(self, function: str, once: Once, others: Sequence[Variant], arguments: Mapping[str, object]) -> None:
        """Say once that what changes outside makes graph after graph. `others`: the graphs that a new one of their structure joins."""
        if len(others) < _GRAPHS_BEFORE_READING:
            return
        lost = [{c.access: c.kind for c in v.built.constants if not c.holds(arguments)} for v in others]
        changed = [access for access in lost[-1] if all(access in of_other for of_other in lost)]
        fixed = [access for access in changed if access in self.fixed]
        if not changed or len(others) < (_GRAPHS_BEFORE_READING if fixed else _MANY_GRAPHS) or not once.first("graphs"):
            return
        names = ", ".join(sorted({f"`{access}`" for access in changed}))
        are_dtypes = all(lost[-1][access] in ("dtype", "index dtype") for access in changed)
        what = f"reads {names} from outside, which changed {len(others)} times"
        if are_dtypes:
            what = f"gets {names} in {len(others) + 1} dtypes or more"
        why = "".join(sorted({f" `{access}` has to be known when a graph is made: {self.fixed[access]}." for access in fixed}))
        warn(
            f"{function} (at {others[-1].built.program.place}) {what}: "
            f"each makes a graph, with versions of its own, which takes milliseconds.{why} See explain()."
        )


def told_apart(variants: Sequence[Variant]) -> dict[Executor, str]:
    """The constants in which graphs of one call structure differ, for people."""
    values = [{c.access: c.value for c in v.built.constants if c.kind == "value"} for v in variants]
    names = [a for a in values[0] if any(a not in others or not same_value(others[a], values[0][a]) for others in values)] if values else []
    found = {v.executor: ", ".join(f"{a} = {of[a]!r}" for a in names if a in of) for v, of in zip(variants, values, strict=True)}
    return {executor: text for executor, text in found.items() if text}
