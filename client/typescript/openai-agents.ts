// Tools for OpenAI Agents (@openai/agents 0.20). The tools are of its form, and need nothing of it.

import type { Client } from "./src/client.ts";
import type { ObjectSchema } from "./src/schemas.ts";
import { makeTools } from "./src/tools.ts";
import type { ToolOptions } from "./src/tools.ts";

export type { ToolOptions } from "./src/tools.ts";

/** A function tool of @openai/agents. */
export interface AgentsTool {
  type: "function";
  name: string;
  description: string;
  parameters: ObjectSchema;
  strict: false;
  invoke(context: unknown, input: string, details?: { signal?: AbortSignal }): Promise<string>;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
}

/** The tools screen, confirm, settle, release, get_verdict and get_limits, for an Agent's `tools`. */
export function railguardTools(client: Client, options: ToolOptions = {}): AgentsTool[] {
  return makeTools(client, options).map(({ name, description, parameters, call }) => ({
    type: "function", name, description, parameters, strict: false,
    invoke: async (_context, input, details) => JSON.stringify(await call(read(input), details?.signal)),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }));
}

/** Reads the arguments; what is no JSON is refused as arguments that are no object. */
function read(input: string): unknown {
  try {
    return JSON.parse(input === "" ? "{}" : input);
  } catch {
    return undefined;
  }
}
