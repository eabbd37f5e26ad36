"""Tools for agents: openai_agents(client, token) and langchain(client, token).

They are the tools of the service's MCP (POST /mcp), which has to be on (--mcp), with the same names, words and
rules, and give a model the same sentences. tools.json has their definitions. client has the API key of an agent's
program: role screener, never settler. A framework is imported only by the function that makes its tools.
"""

import json
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from ..client import Client
from ..transport import RailguardError

NAMES = ("screen", "confirm", "settle", "release", "get_verdict", "get_limits")
_UNKNOWN = "Whether the call was recorded is not known: repeat it with the same idempotencyKey, and do not pay meanwhile."


class Tool(NamedTuple):
    """One tool: run takes its arguments, and returns what the model reads."""

    name: str
    description: str
    schema: Dict[str, Any]
    run: Callable[[Mapping[str, Any]], str]


def definitions(client: Client, token: Optional[str] = None, names: Sequence[str] = NAMES) -> List[Tool]:
    """The tools, for a framework that is not here.

    token is the agent's credential. Where it is told, the model neither sees nor gives it. names picks some of NAMES.
    """
    with open(os.path.join(os.path.dirname(__file__), "tools.json"), encoding="utf-8") as file:
        known = {one["name"]: one for one in json.load(file)}
    return [_tool(client, known[name], token) for name in names]


def _tool(client: Client, told: Dict[str, Any], token: Optional[str]) -> Tool:
    schema: Dict[str, Any] = told["inputSchema"]
    fills = token is not None and "token" in schema["properties"]
    if fills:
        schema["properties"].pop("token")
        schema["required"] = [name for name in schema.get("required", []) if name != "token"]

    def run(arguments: Mapping[str, Any]) -> str:
        given = dict(arguments)
        if fills:
            given["token"] = token
        return call(client, told["name"], given)

    return Tool(told["name"], told["description"], schema, run)


def call(client: Client, name: str, arguments: Mapping[str, Any]) -> str:
    """Call a tool; the sentence and the members of its result, or why there is none. It never raises: a model reads it.

    Floats are written as they are read back, so that a model's 0.1 stays 0.1.
    """
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    speaking = client.sending(headers={"Accept": "application/json, text/event-stream"})
    try:
        body = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode("utf-8")
        # A repeated call does nothing twice: screen has a key, and what the others do they do once.
        answer = speaking.message("/mcp", body)
        content = answer["result"]["content"]
        texts = [part["text"] for part in content if part.get("type") == "text"]
        return "\n".join(texts)
    except RailguardError as error:
        text = "No verdict: do not pay. %s: %s" % (error.code, error.message)
        return text + " " + _UNKNOWN if error.outcome == "unknown" else text
    except (KeyError, TypeError, ValueError) as error:
        return "No verdict: do not pay. bad_answer: %s. %s" % (type(error).__name__, _UNKNOWN)


def _plain(value: Any) -> Any:
    raise TypeError("%s is no argument of a tool" % type(value).__name__)


def openai_agents(client: Client, token: Optional[str] = None, names: Sequence[str] = NAMES) -> List[Any]:
    """FunctionTool objects of the package openai-agents (module agents)."""
    import asyncio

    from agents import FunctionTool  # type: ignore[import]

    def made(tool: Tool) -> Any:
        async def invoke(_context: Any, arguments: str) -> str:
            try:
                given = json.loads(arguments or "{}")
                if not isinstance(given, dict):
                    raise ValueError("arguments are an object")
            except ValueError as error:
                return "No verdict: do not pay. invalid_json: %s" % error
            return await asyncio.get_running_loop().run_in_executor(None, tool.run, given)

        return FunctionTool(name=tool.name, description=tool.description, params_json_schema=tool.schema, on_invoke_tool=invoke, strict_json_schema=False)

    return [made(tool) for tool in definitions(client, token, names)]


def langchain(client: Client, token: Optional[str] = None, names: Sequence[str] = NAMES) -> List[Any]:
    """StructuredTool objects of the package langchain-core."""
    from langchain_core.tools import StructuredTool  # type: ignore[import]

    def made(tool: Tool) -> Any:
        def run(**arguments: Any) -> str:
            return tool.run({name: value for name, value in arguments.items() if value is not None})

        return StructuredTool.from_function(func=run, name=tool.name, description=tool.description, args_schema=tool.schema)

    return [made(tool) for tool in definitions(client, token, names)]
