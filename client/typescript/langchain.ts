// Tools for LangChain (@langchain/core 1).

import { tool } from "@langchain/core/tools";
import type { DynamicStructuredTool } from "@langchain/core/tools";

import type { Client } from "./src/client.ts";
import { makeTools } from "./src/tools.ts";
import type { ToolOptions } from "./src/tools.ts";

export type { ToolOptions } from "./src/tools.ts";

/** The tools screen, confirm, settle, release, get_verdict and get_limits, for bindTools, createAgent or a ToolNode. */
export function railguardTools(client: Client, options: ToolOptions = {}): DynamicStructuredTool[] {
  return makeTools(client, options).map(({ name, description, parameters, call }) =>
    tool(async (args: unknown, runtime: { signal?: AbortSignal }) => JSON.stringify(await call(args, runtime?.signal)), {
      name, description, schema: parameters as object,
    }) as unknown as DynamicStructuredTool);
}
