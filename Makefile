# Everything runs in .venv, which is made when it is not there. `make` alone says what there is.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST := $(BIN)/python -m pytest -q --tb=short -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart=0
LONG   := --hypothesis-profile=exhaustive -o faulthandler_timeout=0
.DEFAULT_GOAL := help
.PHONY: help demo test test-torch test-ptx test-distributed test-browser oracle numpy-tests bench bench-peers numpy-index gpu-bundle gpu-calls lint exhaustive coverage mutants soak soak-memory stress cache-storm clean
.DELETE_ON_ERROR:
# the tests start many interpreters: none compiles again what another has
unexport PYTHONDONTWRITEBYTECODE

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-16s %s\n", $$1, $$2 }' Makefile

# a stamp per set of packages: none is installed again before pyproject.toml changes. Of PyTorch's thousands of files tests import a part:
# Python compiles those (--no-compile)
$(VENV)/made:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("tierup needs Python 3.11 or newer, this is " + sys.version.split()[0] + ": make PYTHON=python3.12")'
	@echo "making $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/installed: $(VENV)/made pyproject.toml
	@echo "installing tierup and what it needs"
	@$(PIP) -e .
	@touch $@

$(VENV)/installed-%: $(VENV)/installed
	@echo "installing what '$*' needs"
	@$(PIP) --no-compile -e '.[$*]'
	@touch $@

demo: $(VENV)/installed  ## train a digit classifier and watch tierup make it fast, then with gradients by tierup
	@$(BIN)/python examples/digits.py
	@echo
	@$(BIN)/python examples/train_digits.py

test: $(VENV)/installed-test  ## the tests that need no PyTorch, lit tests included; of a test's many cases every second (TIERUP_SEED=1: the others)
	@$(PYTEST) --part -m "not torch"

test-torch: $(VENV)/installed-test $(VENV)/installed-test-torch  ## the tests that compare with PyTorch (installs it: large)
	@$(PYTEST) --part -m torch

test-distributed: $(VENV)/installed-test $(VENV)/installed-test-distributed  ## functions on clusters of real processes, a worker killed in the middle (installs Dask, Ray and joblib)
	@$(PYTEST) test/runtime/test_pickling.py test/lowering/test_shared_cache.py test/tools/test_dask.py test/tools/test_ray.py

test-browser: $(VENV)/installed-test  ## the page in headless Chromium: `apt-get install chromium-headless-shell`, or TIERUP_BROWSER=program; pictures of docs/
	@TIERUP_TEST_BROWSER=1 TIERUP_TEST_PICTURES=docs/pictures $(PYTEST) test/runtime/test_page.py

test-ptx: $(VENV)/installed-test  ## every program of the corpus as GPU kernels: assembled where ptxas is installed, and emulated
	@$(PYTEST) $(LONG) test/lowering/cuda test/runtime/cuda/test_forced_on_device.py

exhaustive: $(VENV)/installed-test $(VENV)/installed-test-torch  ## every test, PyTorch's too, with many more random examples: slow
	@$(PYTEST) $(LONG)

oracle: $(VENV)/installed-test $(VENV)/installed-test-torch  ## all of PyTorch's operator samples, and docs/torch-coverage.md of them (an hour or more)
	@$(BIN)/python test/oracle/oracle_table.py

numpy-tests: $(VENV)/installed-test  ## NumPy's own tests against its functions decorated (a quarter of an hour); the table is in docs/testing.md
	@$(BIN)/python test/oracle/numpy_own_tests.py

coverage: $(VENV)/installed-test $(VENV)/installed-test-torch $(VENV)/installed-coverage  ## the lines that no test runs, torch's tests included: slow; the few tests that count modules and files fail under it
	@rm -rf build/coverage && mkdir -p build/coverage
	-@$(BIN)/coverage run -m pytest -q --tb=no -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart=0
	@$(BIN)/coverage combine -q && $(BIN)/coverage report

mutants: $(VENV)/installed-test  ## break each pass in small ways; its tests must notice (docs/mutation-score.md; goes on where it stopped)
	@$(BIN)/python test/mutants/mutation_run.py

soak: $(VENV)/installed-test $(VENV)/installed-test-torch  ## random programs of all kinds for MINUTES (60), goes on where the last soak stopped (SEED: a fresh one)
	@$(BIN)/python test/stress/soak.py --minutes $(or $(MINUTES),60) $(if $(SEED),--fresh --seed $(SEED))

soak-memory: $(VENV)/installed  ## 10,000 specialisations of one function: memory must stay flat (half an hour)
	@$(BIN)/python test/stress/soak_memory.py

stress: $(VENV)/installed-test  ## ten minutes of many threads under injected faults (TIERUP_SEED chooses the seed)
	@$(BIN)/python test/stress/stress_run.py

cache-storm: $(VENV)/installed  ## 8 processes at a time on one cache, with kills and changed files, for SECONDS (60): no wrong result, no crash, nothing lost
	@$(BIN)/python test/stress/cache_storm.py --seconds $(or $(SECONDS),60)

bench: $(VENV)/installed  ## speed against NumPy, each figure with its bar
	@$(BIN)/python -m benchmarks

bench-peers: $(VENV)/installed-peers  ## speed beside Numba, JAX, onnxruntime and PyTorch, which it installs, one thread and all (half an hour; quiet machine)
	@$(BIN)/python -m benchmarks.peers --json build/peers.json --plot build/peers.svg

numpy-index: $(VENV)/installed  ## docs/numpy-coverage.md: which of NumPy's functions native code answers, found out by calls (half a minute)
	@$(BIN)/python -m tierup.tools.pages.numpydoc

gpu-bundle: $(VENV)/installed  ## the programs that tools/gpu/check.py checks and times on a GPU, compiled: gpu-check.tierup (docs/gpu.md)
	@$(BIN)/python -m tierup.tools.gpu.bundle

gpu-calls: $(VENV)/installed-test  ## the kernels of the emulated tests and the corpus with arguments and results, for tools/gpu/replay.py: gpu-calls.tierup (two minutes)
	@$(BIN)/python test/lowering/cuda/record_calls.py

lint: $(VENV)/installed-lint  ## style, and the types of all of tierup
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/mypy test/packaging/typed_use.py

clean:  ## remove .venv and everything generated
	@rm -rf $(VENV) build dist tierup.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
