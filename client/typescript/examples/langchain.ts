// Tools for LangChain. In place of the script a model decides: model.bindTools(tools), or createAgent({ model, tools }).

import { AIMessage } from "@langchain/core/messages";
import type { ToolMessage } from "@langchain/core/messages";
import { railguardTools } from "railguard/langchain";

import { client, decide, register, show } from "./script.js";

const tools = railguardTools(client, { token: await register("langchain") });
const told: Record<string, unknown>[] = [];
for (let call = decide(told); call !== null; call = decide(told)) {
  const message = new AIMessage({ content: "", tool_calls: [{ id: `call-${told.length}`, type: "tool_call", ...call }] });
  for (const asked of message.tool_calls ?? []) {
    const tool = tools.find((one) => one.name === asked.name)!;
    const answer = (await tool.invoke({ ...asked, id: asked.id ?? "", type: "tool_call" })) as ToolMessage;
    told.push(show(asked.name, JSON.parse(String(answer.content)) as Record<string, unknown>));
  }
}
