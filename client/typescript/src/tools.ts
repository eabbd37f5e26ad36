// Tools for a model that pays: the names, arguments and sentences of Railguard's MCP server, over the client.

import type { Client } from "./client.ts";
import { RailguardError } from "./errors.ts";
import * as schemas from "./schemas.ts";
import type { ObjectSchema, Schema } from "./schemas.ts";
import { endedSentences, limitsSentence, sayConfirmation, sayFailure, sayLeave, sayState } from "./sentences.ts";
import { isObject } from "./strict.ts";
import { newKey } from "./transport.ts";
import type { Answer } from "./transport.ts";
import type { Confirmation, Payment, Transaction, Verdict } from "./types.ts";

export interface ToolOptions {
  /** The agent's credential. With it the model is not asked for one, and never sees it. */
  token?: string | (() => string | Promise<string>) | undefined;
  /** The user's credential, with supervised agents. */
  userToken?: string | (() => string | Promise<string>) | undefined;
  /** Signs what is sent with the agent's own key, as signProof does: request is what is signed. */
  prove?: ((request: object, of: { key: string; act: string }) => Promise<string>) | undefined;
  /** Gets the permits that the model may then ask for; it is not shown one. */
  onPermit?: ((permit: string, txnId: string) => void) | undefined;
}

/** What a tool tells: a sentence for the model, then the members of the answer, or why there is none. */
export interface Told {
  sentence: string;
  [member: string]: unknown;
}

/** One tool. call never rejects: what went wrong is told, and allows no payment. */
export interface RailguardTool {
  name: "screen" | "confirm" | "settle" | "release" | "get_verdict" | "get_limits";
  title: string;
  description: string;
  parameters: ObjectSchema;
  call(args: unknown, signal?: AbortSignal): Promise<Told>;
}

type Arguments = Record<string, unknown>;

/** Carries out a tool's call; a RailguardError is told. */
type Act = (args: Arguments, signal: AbortSignal | undefined) => Promise<Told>;

export function makeTools(client: Client, options: ToolOptions = {}): RailguardTool[] {
  const desk = new Desk(client, options);
  const { token, userToken, ...payment } = schemas.payment as Record<"token" | "userToken", Schema>;
  const credentials: Record<string, Schema> = {};
  if (options.token === undefined) Object.assign(credentials, { token });
  if (options.userToken === undefined) Object.assign(credentials, { userToken });
  const asked: Record<string, Schema> = options.onPermit ? { permit: schemas.permit } : {};
  const required = options.token === undefined ? ["token"] : [];
  const { txnId, ownKey } = schemas;
  return [
    makeTool(
      "screen", "Screen a payment", "Ask whether a payment may be made now, before making it. The payment is recorded and counts against the agent's limits when it may. Pay on PROCEED alone.",
      { ...credentials, ...payment, idempotencyKey: schemas.paymentKey, hold: schemas.hold, ...asked }, [...required, "amount", "idempotencyKey"], (args, signal) => desk.screen(args, signal),
    ),
    makeTool(
      "confirm", "Confirm a payment", "Judge a screened payment again, right before it is made: one that an officer approved, or one that was let through some time ago. Nothing is counted twice. Pay on PROCEED alone.",
      { txnId, idempotencyKey: ownKey, ...asked, redeem: schemas.redeem }, ["txnId"], (args, signal) => desk.confirm(args, signal),
    ),
    makeTool(
      "settle", "Say that a payment was made", "Say that a payment was made, by the amount that was allowed or more. Less is said by a settler, never by an agent.",
      { txnId, idempotencyKey: ownKey, amount: schemas.paidAmount, railRef: schemas.railRef }, ["txnId"], (args, signal) => desk.end("settle", args, signal),
    ),
    makeTool(
      "release", "Say that a payment was not made", "Say that a payment was not made, so that it counts no more. Where the policy leaves that to a settler, an agent is refused.",
      { txnId, idempotencyKey: ownKey, reason: schemas.reason }, ["txnId", "reason"], (args, signal) => desk.end("release", args, signal),
    ),
    makeTool(
      "get_verdict", "Read a verdict", "The verdict of an earlier payment, and the disposition of one that waits for review. It is no leave to pay: its sentence tells what became of the payment, and whether to confirm it first.",
      { txnId, waitSeconds: schemas.waitSeconds }, ["txnId"], (args, signal) => desk.tellVerdict(args, signal),
    ),
    makeTool(
      "get_limits", "Read the limits", "What the agent has spent today, what is held, and what its limits leave.",
      options.token === undefined ? { token } : {}, required, (args, signal) => desk.tellLimits(args, signal),
    ),
  ];
}

function makeTool(name: RailguardTool["name"], title: string, description: string, takes: Record<string, Schema>, required: string[], act: Act): RailguardTool {
  const parameters: ObjectSchema = { type: "object", properties: takes, required, additionalProperties: false };
  return {
    name, title, description, parameters,
    async call(args, signal) {
      try {
        return await act(readArguments(args, parameters), signal);
      } catch (error) {
        return tellFailure(name, error);
      }
    },
  };
}

/** Checks the names of the arguments. The API checks the values. */
function readArguments(args: unknown, { properties, required }: ObjectSchema): Arguments {
  if (!isObject(args)) throw refusal("invalid_json", "", "arguments must be an object");
  for (const name of Object.keys(args)) {
    if (!Object.hasOwn(properties, name)) throw refusal("unknown_field", name, `there is no argument "${name}"`);
  }
  const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined && value !== null));
  for (const name of required) {
    if (!Object.hasOwn(given, name)) throw refusal("missing_field", name, name + " is required");
  }
  if (Object.hasOwn(given, "amount")) given["amount"] = readAmount(given["amount"]);
  return given;
}

/** A model's number, in the digits that it has. */
function readAmount(amount: unknown): string {
  if (typeof amount !== "number" || !Number.isFinite(amount)) throw refusal("invalid_amount", "amount", "amount must be a number");
  return String(amount);
}

function readText(args: Arguments, name: string): string {
  const value = args[name];
  if (typeof value !== "string" || value === "") throw refusal("invalid_field", name, name + " must be a string");
  return value;
}

/** The failure of a call that was not sent. */
function refusal(code: string, param: string, message: string): RailguardError {
  const failure = new RailguardError(400, code, message, "none");
  failure.param = param;
  return failure;
}

function tellFailure(tool: string, error: unknown): Told {
  const failure = error instanceof RailguardError ? error : new RailguardError(0, "internal_error", "the program that pays could not ask", "unknown", { cause: error });
  const told: Told = { sentence: sayFailure(tool, failure), code: failure.code, message: failure.message, outcome: failure.outcome };
  if (failure.param) told["param"] = failure.param;
  if (failure.retryAfterMs > 0) told["retryAfterSeconds"] = failure.retryAfterMs / 1000;
  for (const name of ["state", "redeemedAt"]) if (failure.body[name] !== undefined) told[name] = failure.body[name];
  return told;
}

// The members of answers that a model is shown. None of them is behind the tipping-off wall, even where the
// key may see more.
const shown = [
  "verdict", "txnId", "rule", "reason", "agentId", "agentName", "operatorLegalName", "credentialStatus", "screenedAt", "confirmedAt", "hold", "permitExpiresAt",
  "payment", "lateSettlement", "approval", "payBy", "confirmable", "confirmableReason", "ruleSet", "policyVersion", "listVersion", "index", "warnings",
];
const endings = [
  "txnId", "state", "amount", "countedUSDC", "railRef", "reason", "late", "overLimit", "notAllowed", "forwarded", "unpermitted", "eventId", "time", "unchanged",
];

function passMembers(answer: object, names: string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(answer).filter(([name]) => names.includes(name)));
}

/** The members of a record that may be shown. An escalation looks like a review that nobody has decided. */
function passRecord(record: Verdict): Record<string, unknown> {
  const out = passMembers(record, shown);
  if (record.verdict === "REVIEW") out["disposition"] = ["APPROVED", "REJECTED"].includes(record.disposition ?? "") ? record.disposition : null;
  return out;
}

const idPattern = /^[a-z]{3}_[0-9A-Za-z]{1,64}$/;
const waitMarginMs = 5000;

/** Makes the calls of the tools. */
class Desk {
  #client: Client;
  #options: ToolOptions;

  constructor(client: Client, options: ToolOptions) {
    this.#client = client;
    this.#options = options;
  }

  async screen(args: Arguments, signal: AbortSignal | undefined): Promise<Told> {
    const key = readText(args, "idempotencyKey");
    const { idempotencyKey: _, ...said } = args;
    const body = await this.#signed({ ...(await this.#credentials(said)), ...said }, key, "screen");
    const answer = await this.#client.answer<Verdict>("POST", "/v1/screen", body, { key, signal });
    return this.#firstHand(answer, sayLeave, signal);
  }

  async confirm(args: Arguments, signal: AbortSignal | undefined): Promise<Told> {
    const { id, key, said } = this.#aboutPayment(args);
    let body: object = said;
    if (this.#options.prove) body = await this.#signed({ ...(await this.#credentials(said)), ...said }, key, "confirm:" + id);
    const answer = await this.#client.answer<Confirmation>("POST", `/v1/transactions/${id}/confirm`, body, { key, signal });
    return this.#firstHand(answer, sayConfirmation, signal);
  }

  async end(verb: "settle" | "release", args: Arguments, signal: AbortSignal | undefined): Promise<Told> {
    const { id, key, said } = this.#aboutPayment(args);
    const told = await this.#client.call<Transaction>("POST", `/v1/transactions/${id}/${verb}`, said, { key, signal });
    const sentence = endedSentences[told.state];
    if (sentence === undefined) throw badAnswer();
    return { sentence, ...passMembers(told, endings) };
  }

  async tellVerdict(args: Arguments, signal: AbortSignal | undefined): Promise<Told> {
    const wait = args["waitSeconds"] ?? 0;
    if (typeof wait !== "number" || !Number.isInteger(wait) || wait < 0 || wait > 30) {
      throw refusal("invalid_field", "waitSeconds", "waitSeconds must be a whole number from 0 to 30");
    }
    const record = await this.#record(readID(args), signal, wait);
    return { sentence: sayState(record), ...passRecord(record) };
  }

  /** Makes a dry run without an amount first, to learn whether the credential is valid and whose it is. */
  async tellLimits(args: Arguments, signal: AbortSignal | undefined): Promise<Told> {
    const body = await this.#signed({ token: await this.#token(args), amount: "0" }, newKey(), "dry_run");
    const whose = await this.#client.dryRun(body as Payment, { signal });
    if (whose.verdict === "UNKNOWN" || !whose.agentId) throw refusal("invalid_field", "token", "the credential is no good: " + whose.reason);
    const limits = await this.#client.limits(whose.agentId, { signal });
    return { sentence: limitsSentence, ...limits };
  }

  /**
   * Tells the answer to a call that may give leave. The answer to a repeated call gives none: the payment may
   * have been made since. It tells the payment's state.
   */
  async #firstHand<T extends Verdict | Confirmation>(answer: Answer<T>, says: (told: T) => string, signal: AbortSignal | undefined): Promise<Told> {
    const { data, replayed } = answer;
    if (typeof data.verdict !== "string") throw badAnswer();
    let told: Told;
    if (replayed) {
      const record = await this.#record(data.txnId, signal).catch((error: unknown) => {
        if (error instanceof RailguardError) error.outcome = "unknown"; // The call itself was recorded.
        throw error;
      });
      told = { sentence: sayState(record), ...passRecord(record), replayed: true };
      if (data.permitExpiresAt !== undefined) told["permitExpiresAt"] = data.permitExpiresAt;
    } else {
      told = { sentence: says(data), ...passMembers(data, shown) };
    }
    if (data.permit !== undefined) this.#options.onPermit?.(data.permit, data.txnId);
    return told;
  }

  async #record(id: string, signal: AbortSignal | undefined, wait = 0): Promise<Verdict> {
    const path = `/v1/audit/${encodeURIComponent(id)}` + (wait > 0 ? "?wait=" + wait : "");
    const longer = wait * 1000 + waitMarginMs;
    const record = await this.#client.call<Verdict>("GET", path, undefined, wait > 0 ? { signal, attemptTimeoutMs: longer, deadlineMs: longer + waitMarginMs } : { signal });
    if (typeof record.verdict !== "string") throw badAnswer();
    return record;
  }

  #aboutPayment(args: Arguments): { id: string; key: string; said: Arguments } {
    const id = readID(args);
    const { txnId: _, idempotencyKey, ...said } = args;
    return { id, key: idempotencyKey === undefined ? newKey() : readText(args, "idempotencyKey"), said };
  }

  async #token(args: Arguments): Promise<string> {
    return this.#options.token === undefined ? readText(args, "token") : give(this.#options.token);
  }

  async #credentials(args: Arguments): Promise<{ token: string; userToken?: string }> {
    const { userToken } = this.#options;
    const token = await this.#token(args);
    return userToken === undefined ? { token } : { token, userToken: await give(userToken) };
  }

  async #signed(body: object, key: string, act: string): Promise<object> {
    return this.#options.prove ? { ...body, proof: await this.#options.prove(body, { key, act }) } : body;
  }
}

function give(credential: string | (() => string | Promise<string>)): string | Promise<string> {
  return typeof credential === "string" ? credential : credential();
}

function readID(args: Arguments): string {
  const id = readText(args, "txnId");
  if (!idPattern.test(id)) throw refusal("not_found", "txnId", "no such transaction");
  return id;
}

function badAnswer(): RailguardError {
  return new RailguardError(200, "bad_answer", "the service did not answer as it should", "unknown");
}
