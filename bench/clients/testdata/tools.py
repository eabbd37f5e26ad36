"""Calls the tools for agents through stand-ins of the frameworks' constructors, which take what the real ones take."""

import asyncio
import json
import os
import sys
import types

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "client", "python"))

job = json.load(sys.stdin)


class FunctionTool:
    """As in openai-agents: a dataclass whose on_invoke_tool takes a context and the arguments as JSON."""

    def __init__(self, name, description, params_json_schema, on_invoke_tool, strict_json_schema=True):
        self.name, self.description, self.params_json_schema = name, description, params_json_schema
        self.on_invoke_tool, self.strict_json_schema = on_invoke_tool, strict_json_schema


class StructuredTool:
    """As in langchain-core: arguments arrive as keywords."""

    @classmethod
    def from_function(cls, func=None, coroutine=None, name=None, description=None, return_direct=False, args_schema=None, infer_schema=True):
        tool = cls()
        tool.func, tool.name, tool.description, tool.args_schema = func, name, description, args_schema
        return tool


sys.modules["agents"] = types.SimpleNamespace(FunctionTool=FunctionTool)
sys.modules["langchain_core"] = types.SimpleNamespace()
sys.modules["langchain_core.tools"] = types.SimpleNamespace(StructuredTool=StructuredTool)

from railguard import Client  # noqa: E402
from railguard.tools import langchain, openai_agents  # noqa: E402


def walk(call, key):
    first = call("screen", {"amount": 25.1, "cpName": "Corner Shop", "idempotencyKey": key})
    txn = json.loads(first.split("\n", 1)[1])["txnId"]
    return [
        first,
        call("screen", {"amount": 25.1, "cpName": "Corner Shop", "idempotencyKey": key}),
        call("screen", {"amount": 250, "cpName": "Corner Shop", "idempotencyKey": key + "-2"}),
        call("confirm", {"txnId": txn, "redeem": True}),
        call("settle", {"txnId": txn, "railRef": "wire-1"}),
        call("release", {"txnId": txn, "reason": "not made"}),
        call("get_verdict", {"txnId": txn}),
        call("get_limits", {}),
    ]


def main():
    client = Client([job["url"]], job["key"])
    functions = {tool.name: tool for tool in openai_agents(client, job["token"])}
    structured = {tool.name: tool for tool in langchain(client, job["token"])}
    result = {
        "names": {"openai": list(functions), "langchain": list(structured)},
        "strict": [tool.strict_json_schema for tool in functions.values()],
        "schemas": {name: "token" in tool.params_json_schema["properties"] for name, tool in functions.items()},
        "told": {
            "openai": walk(lambda name, given: asyncio.run(functions[name].on_invoke_tool(None, json.dumps(given))), "openai-1"),
            "langchain": walk(lambda name, given: structured[name].func(**given), "langchain-1"),
        },
    }
    json.dump(result, sys.stdout)


main()
