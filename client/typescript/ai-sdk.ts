// Tools for the Vercel AI SDK (ai 7). The tools are of its form, and need nothing of it.

import type { Client } from "./src/client.ts";
import type { ObjectSchema } from "./src/schemas.ts";
import { isObject } from "./src/strict.ts";
import { makeTools } from "./src/tools.ts";
import type { RailguardTool, Told, ToolOptions } from "./src/tools.ts";

export type { Told, ToolOptions } from "./src/tools.ts";

type Input = Record<string, unknown>;

/** A schema as standardschema.dev has it, with its JSON Schema. */
interface InputSchema {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: "railguard";
    readonly types?: { readonly input: unknown; readonly output: Input };
    validate(value: unknown): { value: Input } | { issues: { message: string }[] };
    readonly jsonSchema: { input(): Record<string, unknown>; output(): Record<string, unknown> };
  };
}

/** A tool of the AI SDK. */
export interface SdkTool {
  title: string;
  description: string;
  inputSchema: InputSchema;
  execute(input: Input, options: { abortSignal?: AbortSignal | undefined }): Promise<Told>;
}

/** The tools screen, confirm, settle, release, get_verdict and get_limits, for the `tools` of generateText and its like. */
export function railguardTools(client: Client, options: ToolOptions = {}): Record<RailguardTool["name"], SdkTool> {
  const tools = makeTools(client, options).map(({ name, title, description, parameters, call }): [string, SdkTool] => [
    name, { title, description, inputSchema: schemaOf(parameters), execute: (input, { abortSignal }) => call(input, abortSignal) },
  ]);
  return Object.fromEntries(tools) as Record<RailguardTool["name"], SdkTool>;
}

/** The tool itself refuses what its arguments may not be, so that the model is told in its words. */
function schemaOf(parameters: ObjectSchema): InputSchema {
  return {
    "~standard": {
      version: 1, vendor: "railguard",
      validate: (value) => (isObject(value) ? { value } : { issues: [{ message: "arguments must be an object" }] }),
      jsonSchema: { input: () => ({ ...parameters }), output: () => ({ ...parameters }) },
    },
  };
}
