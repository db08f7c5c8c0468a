"""A headless Chromium that a test drives, by its DevTools protocol over two pipes.

Needs nothing but the program itself.  Source: https://chromedevtools.github.io/devtools-protocol/,
"--remote-debugging-pipe": JSON messages that end with a zero byte, read from descriptor 3 and
written to descriptor 4.
"""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def program():
    """Path of the browser, or None."""
    for name in ["chromium", "chromium-browser", "google-chrome"]:
        path = shutil.which(name)
        if path:
            return path
    return None


class Page:
    """One page of one browser; close() ends the browser."""

    def __init__(self, width=1200, height=900, timeout_s=60):
        self.timeout_s = timeout_s
        self.folder = tempfile.TemporaryDirectory()
        to_child, self.write_end = os.pipe()
        self.read_end, from_child = os.pipe()
        arguments = [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--remote-debugging-pipe",
                     "--user-data-dir=" + self.folder.name, "about:blank"]

        def place_pipes():
            # Out of the way first: either end may sit on 3 or 4 itself.
            there, back = os.dup2(to_child, 60), os.dup2(from_child, 61)
            os.dup2(there, 3)
            os.dup2(back, 4)

        self.process = subprocess.Popen(arguments, preexec_fn=place_pipes, pass_fds=(3, 4),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer = b""
        self.next_id = 0
        self.events = []
        self.session = None
        targets = self.send("Target.getTargets")["targetInfos"]
        target = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Network", "Log"]:
            self.send(domain + ".enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def receive(self):
        deadline = time.monotonic() + self.timeout_s
        while b"\0" not in self.buffer:
            if not select.select([self.read_end], [], [], deadline - time.monotonic())[0]:
                raise TimeoutError("chromium did not answer")
            more = os.read(self.read_end, 1 << 20)
            if not more:
                raise EOFError("chromium ended")
            self.buffer += more
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, **parameters):
        self.next_id += 1
        message = {"id": self.next_id, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.next_id:
                if "error" in answer:
                    raise RuntimeError("%s: %s" % (method, answer["error"]["message"]))
                return answer["result"]
            self.events.append(answer)

    def open(self, path, dark=False):
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.send("Page.navigate", url="file://" + str(path))
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError("%s: %s" % (expression, result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key):
        """One key, as KeyboardEvent.key names it."""
        codes = {"Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
                 "Tab": 9, " ": 32}
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key,
                  windowsVirtualKeyCode=codes.get(key, ord(key[0])), **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key,
                  windowsVirtualKeyCode=codes.get(key, ord(key[0])))

    def complaints(self):
        """Errors that the page threw or logged, and every request but the page itself."""
        self.evaluate("0")  # takes in what is still on its way
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"]["text"])
            elif event["method"] == "Log.entryAdded" and parameters["entry"]["level"] == "error":
                found.append(parameters["entry"]["text"])
            elif event["method"] == "Network.requestWillBeSent" and \
                    parameters.get("type") != "Document":
                found.append("request of " + parameters["request"]["url"])
        return found

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
        except (EOFError, OSError, TimeoutError):
            pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
        self.folder.cleanup()
