"""`make stress`: ten minutes of threads under faults, each phase told. `stress_run.py [minutes]`; TIERUP_SEED gives the seed, else the time does."""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    seed = int(os.environ.get("TIERUP_SEED", int(time.time())))
    with tempfile.TemporaryDirectory(prefix="tierup-stress-") as folder:
        os.environ["TIERUP_CACHE_DIR"] = folder  # code of other runs would take the compiler out of it
        from stress import run  # here: tierup must find the folder

        warnings.simplefilter("ignore")  # functions run out of versions on purpose
        calls = run(60 * minutes, seed, tell=lambda line: print(line, flush=True))
    print(f"seed {seed}: {calls} calls, all right")


if __name__ == "__main__":
    main()
