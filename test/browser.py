"""A headless Chromium, driven by its DevTools protocol over a pipe: pages as files, with no network."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HINT = "no Chromium here: `apt-get install chromium-headless-shell`, or name one in TIERUP_BROWSER"


def found() -> str | None:
    """The browser that is to be used; None where there is none."""
    return os.environ.get("TIERUP_BROWSER") or next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """One page of a browser that runs for the time of a `with` block. `complaints`: what the page wrote to its console, and its errors."""

    def __init__(self, folder: Path, width: int = 1280, height: int = 900) -> None:
        program = found()
        assert program is not None, HINT
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()

        def move() -> None:
            """Chromium reads commands from 3 and writes to 4."""
            high = [fcntl.fcntl(each, fcntl.F_DUPFD, 10) for each in (theirs_in, theirs_out)]
            os.dup2(high[0], 3), os.dup2(high[1], 4)

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen([program, *flags], preexec_fn=move, close_fds=False, stderr=subprocess.DEVNULL)
        os.close(theirs_in), os.close(theirs_out)
        self._in, self._out = os.fdopen(ours_in, "rb"), os.fdopen(ours_out, "wb")
        self._number, self._session = 0, ""
        self.complaints: list[str] = []
        target = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Runtime", "Page", "Log"):
            self.ask(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._in.close(), self._out.close()
        self._process.terminate()
        self._process.wait(30)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """What a command of the protocol gives."""
        self._number += 1
        wanted: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            wanted["sessionId"] = self._session
        self._out.write(json.dumps(wanted).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _read(self) -> dict[str, Any]:
        """The next message; what the page complains about is kept."""
        text = bytearray()
        while (byte := self._in.read(1)) != b"\0":
            assert byte, "the browser is gone"
            text += byte
        message: dict[str, Any] = json.loads(text)
        if message.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.complaints.append(json.dumps(message["params"]))
        return message

    def open(self, path: Path) -> None:
        """Load a file, to its end."""
        self.ask("Page.navigate", url=path.resolve().as_uri())
        while self.run("document.readyState") != "complete":
            pass

    def run(self, script: str) -> Any:
        """What an expression gives in the page."""
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """A key goes down and up."""
        more = {"text": text} if text else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **more)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)

    def resize(self, width: int, height: int, *, is_phone: bool = False) -> None:
        """The window's size in pixels."""
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone)

    def prefer(self, scheme: str) -> None:
        """What the system asks pages for: light or dark."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path) -> None:
        """What the window shows, as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
