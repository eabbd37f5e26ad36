"""Makes calls for the tests, one after the other, and tells what became of each."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "client", "python"))

from railguard import Client, RailguardError  # noqa: E402

client = Client([json.load(sys.stdin)], "k", attempts=1)
told = []
for method, path in (("GET", "/v1/a"), ("POST", "/v1/a"), ("GET", "/v1/a"), ("POST", "/v1/break"), ("GET", "/v1/a"), ("GET", "/v1/close"), ("GET", "/v1/a")):
    try:
        client.call(method, path, {} if method == "POST" else None)
        told.append("ok")
    except RailguardError as error:
        told.append(error.code + " " + error.outcome)
json.dump(told, sys.stdout)
