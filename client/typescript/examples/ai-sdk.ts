// Tools for the Vercel AI SDK. In place of the model that follows a script put your own, such as openai("…").

import { generateText, isStepCount } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { railguardTools } from "railguard/ai-sdk";

import { client, decide, register, show } from "./script.js";

const told: Record<string, unknown>[] = [];
const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 1, text: 1, reasoning: undefined },
};
const model = new MockLanguageModelV4({
  doGenerate: async () => {
    const call = decide(told);
    if (call === null) return { content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] };
    return {
      content: [{ type: "tool-call", toolCallId: `call-${told.length}`, toolName: call.name, input: JSON.stringify(call.args) }],
      finishReason: { unified: "tool-calls", raw: undefined }, usage, warnings: [],
    };
  },
});

await generateText({
  model,
  prompt: "Pay the corner shop 25 dollars for our order.",
  tools: railguardTools(client, { token: await register("ai-sdk") }),
  stopWhen: isStepCount(20),
  onStepFinish: ({ toolResults }) => {
    for (const result of toolResults) told.push(show(result.toolName, result.output as Record<string, unknown>));
  },
});
