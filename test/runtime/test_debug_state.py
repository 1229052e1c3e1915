"""`debug_state`: what there is of a function, at every stage of its life."""

import threading
import time

import numpy as np
import pytest

import tierup
from tierup.dialect.language.text import parse_module
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.functions.debug_state import Text


def scale(x):
    return x * 2 + x * 2


def ranks(x, w):
    y = np.tanh(x @ w) * 2
    z = np.argpartition(y, -1, axis=1)
    return np.exp(z) - 1


def broken(x):
    return lambda: x


def f32(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


X = f32(4)


def test_it_works_before_the_first_call():
    state = tierup.jit(scale).debug_state()
    assert (state.function, state.is_optimized, state.programs) == ("scale", False, ())
    assert state.stats.calls == 0
    parse_module(str(state.graph))
    assert "function: scale" in str(state)


def test_it_works_for_a_function_that_cannot_be_read():
    state = tierup.jit(broken).debug_state()
    with pytest.raises(tierup.UnsupportedSyntax):
        str(state.graph)
    assert "function: broken" in str(state)


def test_the_profile_is_there_after_the_first_call():
    f = tierup.jit(scale)
    f(X)
    (program,) = f.debug_state().programs
    (executor,) = program.executors
    assert (program.name, program.arguments, program.stats.profiled_runs) == ("scale", ("x",), 1)
    assert executor.log.seen == (("x: f32[rank 1] [4]", 1),)
    assert (executor.versions, executor.log.speculations, executor.depth) == ((), (), 12)
    assert dict(executor.options)["executor"] == "profiling"


def test_a_version_is_there_before_and_after_it_was_optimised():
    f = tierup.jit(scale)
    for x in (X, X, X, f32(6), f32(6)):
        f(x)
    (program,) = f.debug_state().programs
    (executor,) = program.executors
    first, second = executor.versions
    assert (first.guards, first.kind, first.hits, first.call) == ("x: f32[4]", "static", 2, 2)
    assert (second.guards, second.hits) == ("x: f32[6]", 1)
    assert (executor.depth, executor.log.speculations) == (10, ("x: f32[4]", "x: f32[6]"))
    before, after = str(first.before), str(first.after)
    assert "tierup.profile" in before
    assert "f32[4]" in before
    assert before.count("aten.mul") == 2 > after.count("aten.mul") == 1
    assert str(program.graph).count("aten.mul") == 2 > str(program.insensitive).count("aten.mul") == 1
    for text in (before, after, str(program.graph), str(program.insensitive)):
        parse_module(text)


def test_a_program_on_its_way_to_a_split_shows_its_instrumented_copy_and_what_it_saw():
    f, a = tierup.jit(ranks), f32(3, 3) / 9
    f(a, a)
    f(a, a)
    (recording,) = f.debug_state().programs[0].executors[0].recordings
    assert (recording.arguments, recording.runs) == ("x: f32[rank 2], w: f32[rank 2]", 1)
    assert '"tierup.profile"' in str(recording.instrumented)
    assert any("f32[3,3]" in fact for _, fact in recording.facts)


def test_a_split_shows_its_regions_as_programs_of_their_own():
    f, a = tierup.jit(ranks), f32(3, 3) / 9
    for _ in range(5):
        f(a, a)
    (split,) = f.debug_state().programs[0].executors[0].splits
    assert split.hits == 3
    assert any("tierup.argpartition" in op for op in split.left)
    assert [region.executors[0].versions[0].hits for region in split.regions] == [3, 3]
    assert "tierup.check" in str(split.guarded)
    assert str(split.regions[0].graph) in (region.program.graph for region in f.versions[0].regions)


def test_refusals_say_why():
    f, a = tierup.jit(ranks), f32(3, 3)
    f(a, a)
    f(a, a)
    (why,) = f.debug_state().programs[0].refusals
    assert "tierup.argpartition" in why


def test_the_simple_plan_is_there_where_it_runs():
    f = tierup.jit(scale, bailout_depth=0)
    f(X)
    (executor,) = f.debug_state().programs[0].executors
    assert executor.depth == 0
    assert str(executor.simple).count("aten.mul") == 1


def test_plans_of_the_specialising_executor_are_there_by_spec():
    f = tierup.jit(scale, executor="specializing")
    f(X)
    f(X.astype(np.float64))
    (executor,) = f.debug_state().programs[0].executors
    assert (executor.executor, executor.depth, executor.log) == ("specializing", None, None)
    assert [(plan.spec, plan.is_optimized, plan.versions[0].hits) for plan in executor.plans] == [
        ("x: f32[rank 1]", True, 1),
        ("x: f64[rank 1]", True, 1),
    ]
    assert str(executor.plans[0].after).count("aten.mul") == 1


def test_options_in_force_and_counters_are_there():
    f = tierup.jit(scale, max_versions=3)
    f(X)
    with tierup.options(num_profiled_runs=7):
        state = f.debug_state()
    assert (state.options.max_versions, state.options.num_profiled_runs) == (3, 7)
    assert dict(state.counters) == f.counters()


def test_each_choice_of_options_has_its_executor():
    f = tierup.jit(scale)
    f(X)
    with tierup.options(level=1):
        f(X)
    levels = [dict(executor.options)["level"] for executor in f.debug_state().programs[0].executors]
    assert sorted(levels) == [1, 2]


def test_assumptions_in_mid_program_show_what_was_instrumented():
    f = tierup.jit(scale, speculate="bailout")
    f(X)
    (executor,) = f.debug_state().programs[0].executors
    assert dict(executor.options)["speculate"] == "bailout"
    assert any("tierup.profile" in str(recording.instrumented) for recording in executor.recordings)


def branching(x):
    return np.exp(x) * 2 if np.sum(x) > 0 else np.tanh(x) - 1


def test_assumptions_in_mid_program_show_how_often_they_were_lost_and_what_went_on():
    f = tierup.jit(branching, speculate="bailout")
    for _ in range(3):
        f(X)
    (version,) = f.debug_state().programs[0].executors[0].versions
    (assumption,) = version.assumptions
    assert (assumption.lost, assumption.continuation) == (0, ())
    np.testing.assert_allclose(f(-X - 1), branching(-X - 1), rtol=1e-6)
    (assumption,) = f.debug_state().programs[0].executors[0].versions[0].assumptions
    assert assumption.lost == 1
    (rest,) = assumption.continuation
    assert "aten.tanh" in str(rest.graph)
    assert rest.stats.calls == 1


def test_what_was_released_is_said_to_be():
    f = tierup.jit(scale)
    for _ in range(3):
        f(X)
    f.release()
    (program,) = f.debug_state().programs
    assert program.is_released
    assert "was released" in str(program.graph)
    assert "was released" in str(program.insensitive)
    assert str(program.executors[0].versions[0].before).startswith("// ")


def test_a_state_stays_as_it_was_when_the_function_goes_on():
    f = tierup.jit(scale)
    f(X)
    state = f.debug_state()
    graph = f.graph
    for _ in range(3):
        f(X)
    f.reset()
    (program,) = state.programs
    assert (state.is_optimized, program.executors[0].versions) == (False, ())
    assert str(program.graph) == graph


def test_it_prints_as_a_tree_with_graphs_on_request():
    f = tierup.jit(scale)
    for _ in range(3):
        f(X)
    state = f.debug_state()
    short, long = str(state), state.to_text(graphs=True)
    assert "  name: scale" in short
    assert "      guards: x: f32[4]" in short
    assert "aten.mul" not in short
    assert long.count("func.func") >= 4


def test_a_text_is_made_once_and_only_when_it_is_asked_for():
    made = []
    text = Text(lambda: made.append(1) or "graph")
    assert repr(text) == "<text>"
    assert not made
    assert (str(text), str(text), len(made)) == ("graph", "graph", 1)
    assert repr(text) == "<text of 5 characters>"


def test_a_text_that_a_pass_refuses_says_why():
    def refuse():
        from tierup.dialect.speculation.reasons import Reason

        raise NotCompiled(Reason.PROGRAM_RAISES, "sizes do not fit")

    assert str(Text(refuse)) == "// sizes do not fit"


def test_taking_it_makes_no_text(monkeypatch):
    f = tierup.jit(scale)
    for _ in range(3):
        f(X)
    f.debug_state()  # what it imports is there now
    monkeypatch.setattr("tierup.dialect.language.text.parse_module", None)
    assert f.debug_state().programs[0].executors[0].versions


def test_it_is_consistent_while_other_threads_call_and_compile():
    f, stop, wrong = tierup.jit(scale, max_versions=2, fusion_strategy=[("static", 1000)], level=0, num_profiled_runs=0), threading.Event(), []

    def work():
        n = 2
        while not stop.is_set() and n < 14:
            f(f32(n))
            n += 1

    threads = [threading.Thread(target=work) for _ in range(2)]
    for t in threads:
        t.start()
    end = time.monotonic() + 20
    while any(t.is_alive() for t in threads) and time.monotonic() < end:
        for program in f.debug_state().programs:
            for executor in program.executors:
                known = set(executor.log.speculations)
                wrong += [v.guards for v in executor.versions if v.guards not in known]
                wrong += [len(executor.versions)] if len(executor.versions) > 2 else []
    stop.set()
    for t in threads:
        t.join()
    assert not wrong
