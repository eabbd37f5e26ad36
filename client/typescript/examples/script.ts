// What a model would decide, written down, so that the examples run without one. It also tells where the
// sandbox is: RAILGUARD_URL and RAILGUARD_KEY, as `railguard dev --sandbox` prints them.

import { Client, newKey } from "railguard";

declare const process: { env: Record<string, string | undefined> };

export const client = new Client({ addresses: [process.env["RAILGUARD_URL"] ?? "http://127.0.0.1:8080"], key: process.env["RAILGUARD_KEY"] ?? "" });

/** The agent whose money the model spends. Its credential is given to the tools, and never to the model. */
export async function register(agentName: string): Promise<string> {
  const agent = await client.register({ agentName, agentType: "supervised", operatorLegalName: "Acme Robotics Inc", purpose: "buys goods" });
  return agent.token;
}

export interface Call {
  name: string;
  args: Record<string, unknown>;
}

const order = newKey();

/** The next tool that the model calls, by what the tools have told; null: it is done. */
export function decide(told: Record<string, unknown>[]): Call | null {
  const txnId = told[0]?.["txnId"];
  const calls: Call[] = [
    { name: "screen", args: { amount: 25, cpName: "Corner Shop", idempotencyKey: order, hold: { ttlSeconds: 600 } } },
    { name: "settle", args: { txnId, railRef: "wire-1" } }, // Here a program moves the money first.
    { name: "screen", args: { amount: 25, cpName: "Corner Shop", idempotencyKey: order, hold: { ttlSeconds: 600 } } },
    { name: "screen", args: { amount: 5, cpName: "SANDBOX R7", idempotencyKey: order + "-2" } },
    { name: "get_verdict", args: { txnId } },
    { name: "get_limits", args: {} },
    { name: "release", args: { txnId, reason: "the goods did not come" } },
    { name: "confirm", args: { txnId } },
  ];
  return calls[told.length] ?? null;
}

/** Prints what a tool told, and returns it. */
export function show(name: string, told: Record<string, unknown>): Record<string, unknown> {
  console.log(`${name}: ${String(told["sentence"])}`);
  return told;
}
