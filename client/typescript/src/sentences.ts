// What an answer means to whoever pays, in the words of Railguard's MCP server.
//
// Only a first-hand answer of screen or confirm says that a payment may be made. Everything else that a tool
// tells of a recorded payment is old: a record that is read, or an answer that is repeated for its key. Whoever
// pays on such an answer pays twice, or pays what was withdrawn meanwhile.

import type { RailguardError } from "./errors.ts";
import type { Confirmation, DryRun, Verdict } from "./types.ts";

const toConfirm = ": confirm first. An earlier verdict is no leave to pay: call confirm, and pay on its PROCEED alone.";
const notAgain = "): let through or paid: do not pay again.";
const noLeave = "): no leave any more: do not pay. Screen a payment that is to be made.";
const notKnown = "): not known whether it was paid: do not pay. It still counts against the limits.";

type Decided = Pick<DryRun, "verdict" | "rule" | "reason">;

const ruleOf = (told: Decided): string => (told.rule === null || told.rule === undefined ? "" : ` (${told.rule})`);

/** What a verdict means to the caller of the call that it answers. No other answer may use it: it allows paying. */
export const sayLeave = (told: Decided): string => (told.verdict === "PROCEED" ? "PROCEED: the payment may be made." : sayVerdict(told));

/** What a verdict without leave means. */
export function sayVerdict(told: Decided): string {
  switch (told.verdict) {
    case "PROCEED":
      return "PROCEED: screen would let the payment through now.";
    case "REVIEW":
      return `REVIEW${ruleOf(told)}: do not pay. An officer decides; ask get_verdict until its disposition is APPROVED, then call confirm. ${told.reason}`;
    case "BLOCK":
      return `BLOCK${ruleOf(told)}: do not pay, and do not ask again in other words. ${told.reason}`;
  }
  return `UNKNOWN${ruleOf(told)}: do not pay. The credential is missing or no good: get one from the agent's operator. ${told.reason}`;
}

/** What a confirmation means to its caller. */
export function sayConfirmation(told: Confirmation): string {
  if (told.verdict === "PROCEED" && told.payment.state === "redeemed") return "PROCEED: the payment may be made now, once: its leave is taken.";
  if (told.verdict === "REVIEW") {
    return `REVIEW${ruleOf(told)}: do not pay. It has no leave now, and no officer is asked: screen the payment anew. ${told.reason}`;
  }
  if (told.verdict === "BLOCK") {
    const back = told.payment.state === "released" ? "The payment was given back. " : "";
    return `BLOCK${ruleOf(told)}: do not pay, and do not ask again in other words. ${back}${told.reason}`;
  }
  return sayLeave(told);
}

/** What the caller may do now about a recorded payment. It never allows paying. A state that is not known here counts as not known. */
export function sayState(record: Verdict): string {
  const state = record.lateSettlement ? "settled" : (record.payment?.state ?? "");
  const name = record.verdict === "REVIEW" && record.disposition === "APPROVED" ? "REVIEW, APPROVED" : record.verdict;
  if (state === "" || state === "held") return sayWaiting(record, name);
  if (state === "redeemed" || state === "settled") return `${name} (${state}${notAgain}`;
  if (state === "released" || state === "expired") return `${name} (${state}${noLeave}`;
  return `${name} (${state}${notKnown}`;
}

/** What to do about a payment of which nothing was said yet. */
function sayWaiting(record: Verdict, name: string): string {
  const approved = name === "REVIEW, APPROVED";
  if (record.verdict === "PROCEED" || (approved && record.confirmable)) return name + toConfirm;
  if (approved) {
    const why = record.confirmableReason ?? "";
    if (["settled", "redeemed"].includes(why)) return `${name} (${why}${notAgain}`;
    if (["lapsed", "released", "agent_status", "listed", "blocked"].includes(why)) return `${name} (${why}${noLeave}`;
    return `${name} (${why}${notKnown}`;
  }
  if (record.verdict === "REVIEW" && record.disposition === "REJECTED") return "REVIEW, REJECTED: do not pay. " + record.reason;
  return sayVerdict(record);
}

/** What a settle or a release means, by the state that it leaves. */
export const endedSentences: Record<string, string> = {
  settled: "Settled: the payment is booked as paid. Do not pay again.",
  released: "Released: the payment was given back and has no leave any more. Do not pay; screen a payment that is to be made.",
};

export const limitsSentence = "What the agent may still pay today, in US dollars. It is no leave to pay: ask screen.";

const settlerSentence =
  "Nothing was changed (settler_required): only a settler gives back what counts of a payment, and an agent's key never is one. " +
  "The payment goes on counting until the operator's settler says what became of it. Do not pay again.";

const refusedStates: Record<string, string> = {
  permit_used: "Not confirmed (redeemed" + notAgain,
  approval_lapsed: "Not confirmed (lapsed" + noLeave,
  limit_reached: "Not confirmed (as often as it can be" + noLeave,
  waiting: "Not confirmed (waiting): no officer has approved it: do not pay. Ask get_verdict until its disposition is APPROVED.",
  rejected: "Not confirmed (rejected): an officer rejected it: do not pay.",
  not_allowed: "Not confirmed (not allowed): its verdict gave no leave: do not pay.",
  released: "Not confirmed (released" + noLeave,
};

/** Why a tool has no result. It never allows the payment, whatever went wrong. */
export function sayFailure(tool: string, failure: RailguardError): string {
  let text: string | undefined;
  if (tool === "confirm" && failure.status === 409) {
    text = refusedStates[failure.code === "invalid_transition" ? String(failure.body["state"] ?? "") : failure.code];
  } else if (tool === "settle" || tool === "release") {
    if (failure.code === "settler_required") text = settlerSentence;
    else if (failure.outcome === "none") text = `Nothing was changed: ${failure.code}: ${failure.message}. Do not pay again.`;
  }
  text ??= `No verdict: do not pay. ${failure.code}: ${failure.message}`;
  if (failure.outcome === "unknown") {
    text += " Whether the call was recorded is not known: repeat it with the same idempotencyKey, and do not pay meanwhile.";
  }
  return text;
}
