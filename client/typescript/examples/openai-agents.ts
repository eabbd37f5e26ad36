// Tools for OpenAI Agents. In place of the model that follows a script put your own: new Agent({ model: "…" }).

import { Agent, Runner, setTracingDisabled, Usage } from "@openai/agents";
import type { Model, ModelResponse } from "@openai/agents";
import { railguardTools } from "railguard/openai-agents";

import { client, decide, register, show } from "./script.js";

setTracingDisabled(true);
const told: Record<string, unknown>[] = [];
const model: Model = {
  async getResponse(): Promise<ModelResponse> {
    const call = decide(told);
    if (call === null) {
      return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content: [{ type: "output_text", text: "done" }] }] };
    }
    return { usage: new Usage(), output: [{ type: "function_call", callId: `call-${told.length}`, name: call.name, arguments: JSON.stringify(call.args), status: "completed" }] };
  },
  getStreamedResponse() {
    throw new Error("the example does not stream");
  },
};

const agent = new Agent({
  name: "buyer", instructions: "Pay the corner shop 25 dollars for our order.", model,
  tools: railguardTools(client, { token: await register("openai-agents") }),
});
const runner = new Runner();
runner.on("agent_tool_end", (_context, _agent, tool, result) => {
  told.push(show(tool.name, JSON.parse(String(result)) as Record<string, unknown>));
});
await runner.run(agent, "Go on.", { maxTurns: 20 });
