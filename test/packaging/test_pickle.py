"""Who unpickles runs what was pickled: no module does, but the two that speak with a child of their own through a pipe that nobody else has,
and the one that says what is in a user's pickle of a function, which that user unpickles."""

from __future__ import annotations

import ast

from sources import trees

RUN_WHAT_THEY_READ = {"pickle", "_pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "multiprocessing.connection", "multiprocessing.managers",
                      "multiprocessing.pool", "multiprocessing.shared_memory", "concurrent.futures.process"}  # fmt: skip
ALLOWED = {
    ("lowering/service/worker.py", "pickle"),  # between a process and the worker that it started: subprocess' pipes
    ("tools/reduce/judge.py", "pickle"),  # from a fork to its parent: os.pipe
    ("runtime/functions/portable/pickling.py", "pickle"),  # a pickle within a pickle: who reads the one has chosen to
    ("runtime/functions/portable/pickling.py", "cloudpickle"),
}


def test_no_module_imports_what_runs_what_it_reads() -> None:
    found = set()
    for name, tree in trees("|".join(sorted({name.partition(".")[0] for name in RUN_WHAT_THEY_READ}))):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {(name, alias.name) for alias in node.names if alias.name in RUN_WHAT_THEY_READ}
            elif isinstance(node, ast.ImportFrom) and node.module:
                modules = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                found |= {(name, module) for module in modules & RUN_WHAT_THEY_READ}
            elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_module", "importlib.import_module", "__import__"):
                found |= {(name, ast.literal_eval(a)) for a in node.args[:1] if isinstance(a, ast.Constant) and a.value in RUN_WHAT_THEY_READ}
    assert found == ALLOWED


def test_files_of_arrays_are_read_without_pickle() -> None:
    for name, tree in trees(r"(np|numpy|torch)\.load\("):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load", "torch.load"):  # torch.jit.load makes no Python objects
                said = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                assert said.get("allow_pickle") == "False" or said.get("weights_only") == "True", f"{name}:{node.lineno}"
