"""Verifies for the tests, with a clock of its own, by several threads, against a server that holds its answers."""

import json
import os
import sys
import threading
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "client", "python"))

from railguard import Client, RailguardError, TokenError, Verifier  # noqa: E402

job = json.load(sys.stdin)
KEYS, LIST = "/v1/.well-known/jwks.json", "/status-lists/1"


def post(path):
    urllib.request.urlopen(urllib.request.Request(job["url"] + path, b"", method="POST")).read()


class Keeper:
    """A Verifier whose clock stands still, and whose client would wait for an hour."""

    def __init__(self):
        self.now = job["from"] + 1
        self.verifier = Verifier(Client([job["url"]], "", attempts=1, attempt_timeout=3600, deadline=3600), "did:kya:railguard", now=lambda: self.now)

    def verify(self, token, timeout=0.05):
        try:
            return self.verifier.verify(token, timeout=timeout)["sub"]
        except TokenError as error:
            return error.code
        except RailguardError as error:
            return error.code

    def five(self, token):
        told = []
        threads = [threading.Thread(target=lambda: told.append(self.verify(token))) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return told


def main():
    result = {"ends": [], "keys": []}
    fresh = Keeper()
    fresh.verify(job["good"], None)
    known = Keeper()
    known.verify(job["good"], None)
    waiting = Keeper()
    waiting.verify(job["bare"], None)
    post("/hold" + LIST)
    result["lists"] = waiting.five(job["good"])
    for second in (60, 61, 119, 120):
        known.now = job["from"] + second
        result["ends"].append(known.verify(job["good"]))
    post("/hold" + KEYS)
    known.now = job["from"] + 61
    result["keys"] = known.five(job["stranger"])
    for second in (1801, 3600, 3601):
        known.now = job["from"] + second
        result["keys"].append(known.verify(job["bare"]))
    post("/serve" + LIST)
    post("/revoke" + LIST)
    fresh.now = job["from"] + 61
    while fresh.verify(job["good"], None) == "agt_test":
        pass
    result["revoked"] = fresh.verify(job["good"], None)
    json.dump(result, sys.stdout)
    sys.stdout.flush()
    os._exit(0)  # Its threads still wait for the server.


main()
