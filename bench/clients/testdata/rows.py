"""Walks lists for the tests."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "client", "python"))

from railguard import Client, RailguardError  # noqa: E402


def loop(client):
    try:
        return str(list(client.rows("/v1/fleets")))
    except RailguardError as error:
        return error.code


client = Client([json.load(sys.stdin)], "k")
result = {
    "agents": [row["agentId"] for row in client.sending(min_index=7).rows("/v1/agents", status="ACTIVE")],
    "events": [row["id"] for row in client.rows("/v1/events")],
    "loop": loop(client),
}
answer = client.call("GET", "/v1/agents")
result["head"] = [answer.etag, str(answer.index), answer.request_id]
json.dump(result, sys.stdout)
