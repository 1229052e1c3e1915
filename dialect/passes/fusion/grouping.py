"""Which ops of a block go into one fusion group: the analysis behind `tierup-fuse-groups`.

Ops are nodes of a graph whose edges are data and order: what may raise, writes, draws random numbers or is unknown keeps its
order, so that a program raises the same exception however it is cut; where lists are written, so does what reads one. A group is one
node. An op joins a group when no path leads from the group through another node to the op: then everything else can stand before or
after the whole group.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import external_operands, maker
from tierup.dialect.ir.walking import Notes, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.fusion.nativeness import Nativeness, is_copied
from tierup.dialect.rewriting.regions import top_level

_NUMBERS = frozenset({"!torch.int", "!torch.float", "!torch.bool"})
SIZES = frozenset({"torch.aten.size.int", "torch.aten.numel", "torch.aten.dim"})  # numbers that a tensor's sizes give
# Ops that belong where their operands are made: a tensor whose size alone is asked for need not be made, and a list leaves no group.
_WITH_MAKER = SIZES | {"torch.prim.ListUnpack", "torch.aten.__getitem__.t"}


def is_boundary(type_: ir.Type) -> bool:
    """Whether a kernel takes and gives values of this type: tensors and numbers of one kind."""
    return torch_types.is_tensor(type_) or str(type_) in _NUMBERS


def weight(op: ir.Operation) -> int:
    """How much work an op is: 0 for views, scalars, lists and constants; control flow counts with what is in it."""
    if op.name in ("torch.prim.If", "torch.prim.Loop"):
        return 1 + sum(weight(inner) for inner in walk(op) if not len(inner.regions))
    row = row_of(op)
    return 0 if row is None or row.kind in (Kind.VIEW, Kind.SCALAR) else 1


@dataclass
class Plan:
    """What becomes of a block: its ops in an order that keeps all edges, members of one group side by side.

    `order` holds single ops and groups (lists of ops).
    """

    order: list[ir.Operation | list[ir.Operation]]
    groups: list[list[ir.Operation]]


@dataclass
class _Graph:
    ops: list[ir.Operation]  # without the terminator
    before: list[set[int]]  # the ops that each depends on, directly
    of: dict[ir.Operation, int] = field(default_factory=Notes)


def plan(block: ir.Block, inference: Inference, native: Nativeness, min_size: int) -> Plan | None:
    """The groups of a block; None when there are none."""
    graph = _graph(block, native)
    refused: set[int] = set()
    while True:
        groups = _grow(graph, native, refused)
        wrong = [i for group in groups for i in _wrong_at_boundary(graph, group, block)]
        if not wrong:
            groups = _worthwhile(graph, groups, block, native, min_size)
            wrong = [i for group in groups for i in _wrong_at_boundary(graph, group, block)]  # by what was pruned
        if not wrong:
            break
        refused.update(wrong)
    if not groups:
        return None
    return Plan(_schedule(graph, groups), [[graph.ops[i] for i in sorted(group)] for group in groups])


def _worthwhile(graph: _Graph, groups: list[list[int]], block: ir.Block, native: Nativeness, min_size: int) -> list[list[int]]:
    """The groups that are large enough, without what only stands at their edges; a whole function stays whole."""
    whole = len(groups) == 1 and all(is_copied(op) or native.is_declaration(op) or i in groups[0] for i, op in enumerate(graph.ops))
    if whole and block.owner.operation.name == "func.func":
        return [group for group in groups if any(weight(graph.ops[i]) for i in group)]
    groups = [_pruned(graph, group) for group in groups]
    return [group for group in groups if sum(weight(graph.ops[i]) for i in group) >= max(min_size, 1)]


def _graph(block: ir.Block, native: Nativeness) -> _Graph:
    ops = [view.operation for view in list(block.operations)[:-1]]
    graph = _Graph(ops, [], {op: i for i, op in enumerate(ops)})
    last_ordered: int | None = None
    is_ordered = native.order_of(ops)
    for i, op in enumerate(ops):
        before = {graph.of[d] for v in external_operands(op) if (d := _definer(v, block)) is not None}
        if is_ordered(op):
            if last_ordered is not None:
                before.add(last_ordered)
            last_ordered = i
        graph.before.append(before)
    return graph


def _definer(value: ir.Value, block: ir.Block) -> ir.Operation | None:
    op = maker(value)
    return op if op is not None and op.block == block else None


def _grow(graph: _Graph, native: Nativeness, refused: set[int]) -> list[list[int]]:
    """Groups of ops, by greedy growth in program order. Sets of nodes are bits of an int."""
    node_of: list[int] = []  # op -> node
    above: list[int] = []  # node -> the nodes it depends on, itself included
    groups: dict[int, list[int]] = {}
    for i, op in enumerate(graph.ops):
        direct = _nodes(node_of, (j for j in _through_copies(graph, i) if not is_copied(graph.ops[j])))
        upstream = 0
        for node in direct:
            upstream |= above[node]
        joins = not (is_copied(op) or native.is_declaration(op) or i in refused) and native.is_native(op)
        found = None
        if joins:
            stays = op.name in _WITH_MAKER
            makers = _makers(graph, i) if stays or native.has_edges else []
            for node in (*(_nodes(node_of, makers) & groups.keys() if stays else ()), *reversed(groups)):
                if any(above[other] >> node & 1 for other in direct if other != node):
                    continue
                if not any(native.separates(graph.ops[j], op) for j in makers if node_of[j] == node):
                    found = node
                    break
        if found is None:
            node = len(above)
            above.append(upstream | 1 << node)
            node_of.append(node)
            if joins:
                groups[node] = [i]
            continue
        node_of.append(found)
        groups[found].append(i)
        for node, reach in enumerate(above):
            if reach >> found & 1:
                above[node] = reach | upstream
    return list(groups.values())


def _makers(graph: _Graph, i: int) -> list[int]:
    """The ops of the block whose results op `i` reads, directly or from lists that are copied into groups."""
    op = graph.ops[i]
    found: dict[int, None] = {}
    stack = list(external_operands(op))
    while stack:
        owner = stack.pop().owner
        j = None if isinstance(owner, ir.Block) else graph.of.get(owner.operation)
        if j is not None and is_copied(graph.ops[j]):
            stack.extend(graph.ops[j].operands)
        elif j is not None:
            found[j] = None
    return list(found)


def _nodes(node_of: Sequence[int], ops: Iterable[int]) -> set[int]:
    return {node_of[i] for i in ops}


def _wrong_at_boundary(graph: _Graph, group: list[int], block: ir.Block) -> list[int]:
    """Members that take or give, across the group's boundary, what no kernel takes or gives: lists, strings."""
    members = {graph.ops[i] for i in group}
    wrong = []
    for i in group:
        op = graph.ops[i]
        takes = any(not is_boundary(v.type) and not _is_inside(v, members, block) for v in external_operands(op))
        gives = any(not is_boundary(r.type) and not all(top_level(u.owner.operation, block) in members for u in r.uses) for r in op.results)
        if takes or gives:
            wrong.append(i)
    return wrong


def _is_inside(value: ir.Value, members: set[ir.Operation], block: ir.Block) -> bool:
    """Whether a member makes the value, or an op that is copied into the group."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False
    op = owner.operation
    if is_copied(op):
        return all(is_boundary(v.type) or _is_inside(v, members, block) for v in op.operands)
    return op in members


def _pruned(graph: _Graph, group: list[int]) -> list[int]:
    """The group without views and scalars that no other member needs: tier 0 makes those as well, views as views. But a tensor that
    is used for its sizes alone does not leave the group: they do."""
    kept = set(group)
    for i in reversed(group):
        if weight(graph.ops[i]) == 0 and not any(i in _through_copies(graph, j) for j in kept):
            kept.discard(i)
    left_out = sorted(set(group) - kept)
    asking = kept | {i for i in left_out if graph.ops[i].name in SIZES}
    late: set[int] = set()  # left out, and after the group: what needs one cannot be in it
    for i in left_out:
        needs = _through_copies(graph, i)
        if i in asking and not needs & late and any(_uses_are_in(graph, j, kept, asking) for j in _makers(graph, i)):
            kept.add(i)
        elif needs & (kept | late):
            late.add(i)
    return sorted(kept)


def _uses_are_in(graph: _Graph, j: int, kept: set[int], asking: set[int]) -> bool:
    """Whether op `j` is kept, and all that it makes is read by kept ops, or asked for its size."""
    block = graph.ops[j].block
    users = (top_level(use.owner.operation, block) for r in graph.ops[j].results for use in r.uses)
    return j in kept and all(user is not None and graph.of.get(user) in asking for user in users)


def _through_copies(graph: _Graph, i: int) -> set[int]:
    """The ops that op `i` depends on, directly or through ops that are copied into groups."""
    found: set[int] = set()
    stack = list(graph.before[i])
    while stack:
        j = stack.pop()
        if j not in found:
            found.add(j)
            if is_copied(graph.ops[j]):
                stack.extend(graph.before[j])
    return found


def _schedule(graph: _Graph, groups: list[list[int]]) -> list[ir.Operation | list[ir.Operation]]:
    """All nodes in dependence order, otherwise in program order; a group counts as where its last member stands."""
    node_of = list(range(len(graph.ops)))
    rank = {i: i for i in node_of}
    members: dict[int, list[int]] = {}
    for group in groups:
        members[group[0]] = group
        rank[group[0]] = group[-1]
        for i in group:
            node_of[i] = group[0]
    waits: dict[int, set[int]] = {node: set() for node in node_of}
    for i, before in enumerate(graph.before):
        if node_of[i] in members:  # what it copies may stand anywhere, and may even copy what it makes
            before = {j for j in _through_copies(graph, i) if not is_copied(graph.ops[j])}
        waits[node_of[i]] |= _nodes(node_of, before) - {node_of[i]}
    users: dict[int, list[int]] = {}
    for node, others in waits.items():
        for other in others:
            users.setdefault(other, []).append(node)
    ready = [(rank[node], node) for node, others in waits.items() if not others]
    heapq.heapify(ready)
    order: list[ir.Operation | list[ir.Operation]] = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append([graph.ops[i] for i in members[node]] if node in members else graph.ops[node])
        for user in users.get(node, ()):
            waits[user].discard(node)
            if not waits[user]:
                heapq.heappush(ready, (rank[user], user))
    assert len(order) == len(waits), "groups form a cycle"
    return order
