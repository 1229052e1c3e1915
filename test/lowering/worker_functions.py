"""What the tests of `lowering/service/service.py` ask a worker to do; it imports this module by name."""

import os
import signal
import sys
import time


def echo(*values):
    return values


def surroundings():
    import tierup

    return {
        "pid": os.getpid(),
        "path": sys.path,
        "tierup": tierup.__file__,
        "nice": os.nice(0),
        "sigint": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
        "modules": [name for name in sys.modules if "mlir" in name or "llvm" in name],
    }


def say(text):
    print(text, flush=True)
    return text


def abort(text):
    print(text, file=sys.stderr, flush=True)
    os.abort()


def end(code):
    os._exit(code)


def sleep(seconds):
    time.sleep(seconds)


def first_time(asked):
    """Makes the file and does not end; where it is there, says so."""
    try:
        open(asked, "x").close()
    except FileExistsError:
        return "not the first time"
    time.sleep(600)


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)


def fail(text):
    raise LookupError(text)


def fail_strangely():
    class Local(Exception):
        pass

    raise Local("strange")


def unpicklable():
    return lambda: None


def grow(count):
    global kept
    kept = bytearray(os.urandom(1)) * count


preloads = 0


def preload(is_asked):
    global preloads
    preloads += 1


def preloaded():
    return preloads


def doze(is_asked):
    time.sleep(600)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(path):
    if os.path.exists(path):
        return "survived"
    with open(path, "w"):
        os._exit(1)
