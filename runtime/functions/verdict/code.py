"""Causes that lie in the program, in what was made of it, or in how it is called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tierup.dialect import optable
from tierup.dialect.base.spelling import short_time
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.times import COMPILING, GRAPHS, LOADING, OVERHEAD, PYTHON, START_UP, TIER0, WAITING
from tierup.runtime.compiling.regions import ALONE
from tierup.runtime.functions.verdict.cause import Cause, Facts, listed

_TINY = 3e-6  # seconds of a call that does too little
_OFTEN = 500  # calls
_ROUNDS = 8  # written out
_SHARE = 1 / 16  # of calls: these decide what calls take
# what to do where a check raises: by the op, or by what is raised
_CHECKS = {
    "prim.RaiseException": "test for it before the call, or give a result that says so (a bool, np.nan), and raise outside",
    "IndexError": "look at the index before the call, or let the function take it: np.clip",
    "ZeroDivisionError": "look at the divisor before the call, or let the function take it: np.where around the division, or arrays",
    "": "look at the values before the call, or let the function take them: np.clip an index, np.where around what is undefined",
}


def decorated_again(facts: Facts) -> Iterator[Cause]:
    """A function that is made anew, again and again, at one line."""
    if facts.place is None or facts.place.made < 4:
        return
    total = facts.place.total()
    seconds = sum(total.by_part.values())
    yield Cause(
        f"`{facts.name}` was decorated {facts.place.made} times at the same line, and each time begins anew: {short_time(seconds)} for all",
        "decorate it once, at the top of the module, and pass what it reads from around it as arguments",
        seconds * (1 - 1 / facts.place.made), facts.place.made, facts.line,
    )  # fmt: skip


def ops_in_tier0(facts: Facts) -> Iterator[Cause]:
    """Ops without native code, in a loop or not; where there are none of them, those that have some and stand alone."""
    seen: dict[tuple[str, str], int] = {}
    rounds = 0.0
    for executor in facts.parts:
        for split in executor.splits:
            for op, line in split.code.left:
                seen[op, line] = seen.get((op, line), 0) + split.hits
            for region in split.regions:
                rounds = max(rounds, region.calls() / max(1, split.hits))
        for (reason, _, line), op in executor.refusals.items():
            if reason is Reason.NO_LOWERING and op:
                seen.setdefault((op, line), executor.calls())
    to_blame = {at: calls for at, calls in seen.items() if not at[0].endswith(ALONE)} or seen
    for (said, line), calls in to_blame.items():
        op = said.removesuffix(ALONE)
        why = "has no native code" if op == said else ALONE.strip(" ()")
        row = optable.lookup(op)
        nearest = "" if row is None else row.nearest
        name = facts.named(op)
        loop = f" in a loop of some {rounds:.0f} rounds a call" if rounds > 1.5 else ""
        move = ", or take it out of the loop" if loop else ""
        yield Cause(
            f"`{name}`{loop} {why}, so tier 0 runs it, with native code around it",
            (f"use {nearest}{move}" if nearest else f"write it with functions that have native code (docs/numpy-coverage.md){move}"),
            (facts.seconds[TIER0] + facts.seconds[OVERHEAD]) / len(to_blame), calls, line or facts.line,
        )  # fmt: skip


def written_out_loops(facts: Facts) -> Iterator[Cause]:
    """Loops of which the graph has every round."""
    loops: dict[str, int] = {}
    for _, variant in facts.variants:
        for line, rounds in variant.built.written_out:
            loops[line] = max(loops.get(line, 0), rounds)
    leaves = max((len(executor.program.names) for executor in facts.executors), default=0)
    if not loops or max(loops.values()) < _ROUNDS or max(loops.values()) <= leaves:
        return  # where there are as many leaves as rounds, these are what it runs over
    line, rounds = max(reversed(loops.items()), key=lambda item: item[1])
    many = f", and {len(loops) - 1} more" if len(loops) > 1 else ""
    yield Cause(
        f"a loop is written out, all {rounds} rounds of it{many}: the graph has the body {rounds} times, and compiles for as long",
        "loop over an array or a range(n), with what differs from round to round in an array (`w = np.array([...])`, then `w[i]`)",
        facts.seconds[GRAPHS] + facts.seconds[COMPILING] + facts.seconds[LOADING], facts.graphs, line,
    )  # fmt: skip


def failing_checks(facts: Facts) -> Iterator[Cause]:
    """Checks of native code that fail call after call."""
    found: dict[tuple[str, str], list[float]] = {}
    said: dict[tuple[str, str], str] = {}
    for executor in facts.parts:
        for key, (count, seconds, message) in executor.history.failed_checks.items():
            total = found.setdefault(key, [0, 0.0])
            total[0], total[1], said[key] = total[0] + count, total[1] + seconds, message
    for (op, line), (count, seconds) in found.items():
        if count < 4:
            continue
        share = (facts.seconds[TIER0] + facts.seconds[OVERHEAD]) * count / max(1, facts.entries)
        checked = facts.named(op) or "an index" * said[op, line].startswith("IndexError")
        what = f"the check of {checked}" if checked else "a check"
        yield Cause(
            f"{what} failed in {count:.0f} calls, each of which tier 0 ran again to raise: {said[op, line]}",
            _CHECKS.get(op) or _CHECKS.get(said[op, line].partition(":")[0]) or _CHECKS[""],
            max(seconds, share), int(count), line or facts.line,
        )  # fmt: skip


def too_little_work(facts: Facts) -> Iterator[Cause]:
    """Very many calls that each do next to nothing."""
    native = sum(times.native.seconds for times in facts.times)
    calls = facts.stats.hits + facts.stats.python
    if facts.in_parts and facts.left:
        return  # calls of regions are none of the user's
    quick = facts.python_is_quicker[0] if facts.python_is_quicker else native / max(1, facts.stats.hits)
    if calls < _OFTEN or quick > _TINY:
        return
    yield Cause(
        f"each of {calls} calls has too little work for a call: {short_time(max(quick, 1e-9))}, which is the call itself for the most part",
        "put the loop around it into the function, or into another one that is decorated: one call then does the work of many",
        native + facts.seconds[PYTHON], calls, facts.caller or facts.line,
    )  # fmt: skip


def slower_than_tier0(facts: Facts) -> Iterator[Cause]:
    """What was made of the function takes longer than Python does."""
    if facts.python_is_quicker is not None:
        python, ours = facts.python_is_quicker
        stats = facts.stats
        missed = stats.misses + stats.interpreted
        if facts.left or python < _TINY:
            return  # `left_to_python`, `too_little_work`
        calls = stats.calls - stats.python
        if stats.raised + missed > calls * _SHARE:
            yield Cause(
                f"of {calls} calls {stats.raised} raised and {missed} fitted no version, which tier 0 answered: {short_time(ours)} a call; "
                f"Python takes {short_time(python)}, and answers since",
                "bring arguments to few kinds (one dtype, one size), and look at what raises before the call",
                facts.seconds[PYTHON] + facts.seconds[TIER0], stats.calls, facts.line,
            )  # fmt: skip
            return
        yield Cause(
            f"native code and tier 0 take {short_time(ours)} a call, Python {short_time(python)}: NumPy's own functions are quicker here, "
            "and Python answers",
            "leave this function undecorated, or give it more to do between NumPy's functions; weigh=False has native code answer",
            facts.seconds[PYTHON] + facts.seconds[TIER0], facts.stats.calls, facts.line,
        )  # fmt: skip
        return
    for executor, version, hits in facts.versions:
        took, before = facts.seconds_of_call(version), executor.history.seconds_in_tier0
        if took is not None and before and hits > 8 and took > 1.2 * before and took > 1e-5:
            yield Cause(
                f"the version for {version.guards[:60]} takes {short_time(took)} a call, and tier 0 took {short_time(before)}",
                "leave this function undecorated where NumPy's functions do most of the work, or decorate a part of it",
                (took - before) * hits, hits, facts.line,
            )  # fmt: skip


def versions_in_turn(facts: Facts) -> Iterator[Cause]:
    """More kinds of arguments than the limits on versions allow."""
    limits = (Reason.DEPTH_EXHAUSTED, Reason.EVICTED)
    away: Counter[Reason] = Counter()
    made = 0
    for executor in facts.parts:
        away.update({reason: count for reason, count in executor.history.turned_away.items() if reason in limits})
        made += executor.history.counts["compiles"]
    calls = sum(away.values())
    if calls < 4:
        return
    options = facts.executors[0].options
    strategy = ", ".join(f"{count} {kind}" for kind, count in options.fusion_strategy)
    what = sorted({e.reason.sentence for x in facts.executors for e in x.history.events if e.reason and e.guard and e.expected})
    dynamic = "" if any(kind == "dynamic" for kind, _ in options.fusion_strategy) else ' with a ("dynamic", 10) entry'
    yield Cause(
        f"{calls} calls came with more kinds of arguments than the limits on versions allow ({made} were made; "
        f"fusion_strategy: {strategy}, max_versions: {options.max_versions})" + (f": {listed(what, 2)}" if what else ""),
        f"raise max_versions and fusion_strategy{dynamic}, or bring arguments to fewer kinds (pad sizes, one dtype)",
        facts.seconds[TIER0] + facts.seconds[OVERHEAD] + facts.seconds[PYTHON], calls, facts.line,
    )  # fmt: skip


def left_to_python(facts: Facts) -> Iterator[Cause]:
    """Statements, or calls, that no graph has."""
    if not facts.left:
        return
    what = dict.fromkeys(each.what.removesuffix(" is not translated") for each in facts.left)
    remedies = {each.remedy: each.line.rpartition(":")[2] for each in reversed(facts.left) if each.remedy}
    remedy = "; ".join(f"line {line}: {text}" if line and len(what) > 1 else text for text, line in list(reversed(remedies.items()))[:3])
    around = "put what is around it into a function of its own that is decorated" if facts.left[0].line else ""
    yield Cause(
        f"Python runs what is not translated: {listed(list(what), 3)}",
        "; or ".join(filter(None, (remedy, around))),
        facts.seconds[PYTHON] + facts.seconds[OVERHEAD], facts.in_parts,
        facts.left[0].line or facts.line,
    )  # fmt: skip


def stays_in_tier0(facts: Facts) -> Iterator[Cause]:
    """Calls for which options, or the program, let no native code be made."""
    for executor in facts.executors:
        answered = {why: count for (what, why), count in executor.history.reasons.items() if what == "interpreted" and why in _OPTIONS}
        for why, count in answered.items():
            yield Cause(
                f"tier 0 answered {count} calls: {why.sentence}", _OPTIONS[why], facts.seconds[TIER0], count, facts.line
            )
        for reason, detail, line in executor.refusals:
            if reason in _REFUSED and not executor.versions and not executor.splits:
                yield Cause(
                    f"no native code is made of it, and tier 0 answers: {reason.sentence}" + (f" [{detail}]" if detail else ""),
                    _REFUSED[reason], facts.seconds[TIER0], executor.calls(), line or facts.line,
                )  # fmt: skip
        large = executor.history.reasons.get(("handed over", Reason.INT_TOO_LARGE), 0)
        if large >= _FEW and not facts.left:
            yield Cause(
                f"{large} calls had ints of more than 64 bits, which native code has not, and tier 0 answered",
                "keep them below 2**63, or compute with floats", facts.seconds[TIER0], large, facts.line,
            )  # fmt: skip


_FEW = 4  # calls
_OPTIONS = {
    Reason.OPTIMIZE_OFF: "leave optimize=False out",
    Reason.PROFILE_OFF: "leave profile=False out",
    Reason.DEPTH_EXHAUSTED: "leave bailout_depth=0, or the fusion_strategy that allows no version, out",
    Reason.ARGUMENT_UNSUPPORTED: "pass plain NumPy arrays and numbers",
}
_REFUSED = {
    Reason.TYPE_UNKNOWN: "give what is named there one dtype and one rank on every path",
    Reason.MUTATION: "write to an array that the function makes itself, and return it",
    Reason.ACTS: "print, or change lists, dicts and modules, outside the function, and return what that takes",
    Reason.LOOP_WRITES: "take that op out of the loop, or the writes to parts of an array",
    Reason.VIEW_RESULT: "return a copy there, `x.copy()`",
    Reason.STRIDES: "bring arrays in rows, np.ascontiguousarray(x)",
    Reason.PROGRAM_RAISES: "call it with types for which it does not raise",
    Reason.GROUP_TOO_SMALL: "leave it undecorated, or put more into it",
    Reason.COMPILE_FAILED: "report it, with the reproducer; leave this function undecorated until then",
}


_FIRST = {
    START_UP: "import modules", GRAPHS: "build graphs", COMPILING: "compile", LOADING: "load code", WAITING: "wait for the compiler",
    TIER0: "run in tier 0",
}  # fmt: skip


def first_calls(facts: Facts) -> Iterator[Cause]:
    """What every program pays once in a process, or once on a machine."""
    stats = facts.stats
    is_left = stats.hits and not (stats.misses or stats.interpreted or stats.raised or facts.left or facts.in_parts)  # tier 0, after them
    seconds = facts.once + (facts.seconds[TIER0] if is_left else 0.0)
    if seconds < 0.2 * facts.total:
        return
    parts = [f"{does} ({short_time(facts.seconds[part])})" for part, does in _FIRST.items() if facts.seconds[part] > 0.05 * seconds]
    calls = "its one call" if facts.stats.calls == 1 else "its calls" if facts.in_parts else f"all {facts.stats.calls} calls"
    versions = [version for executor in facts.executors for version in executor.versions]
    what = f"they {listed(parts)}"
    if versions and all(version.compiled.from_disk for version in versions):
        what, remedy = f"they load what was compiled before: {what}", "nothing: a process does so once"
    else:
        remedy = "nothing for the next run, which finds the code on disk; compile='background', or compile_budget=seconds, lets calls go "
        remedy += "on meanwhile"
    yield Cause(
        f"{what}; besides, {calls} took {short_time(facts.total - seconds)}",
        remedy,
        seconds, facts.graphs + facts.stats.compiles, facts.line, once=True,
    )  # fmt: skip
