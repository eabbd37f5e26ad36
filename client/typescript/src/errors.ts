// Why something failed, each kind with a code.

import type { Outcome } from "./types.ts";

/** Why a call failed. `code` is the service's, or unreachable, no_answer or bad_answer. */
export class RailguardError extends Error {
  status: number; // 0 without an answer.
  code: string;
  param = "";
  details: { param?: string; message: string }[] = [];
  requestId = "";
  txnId = "";
  /** "unknown": make the call again with idempotencyKey, or do not pay. */
  outcome: Outcome;
  retryAfterMs = 0;
  attempts = 1;
  idempotencyKey = "";
  body: Record<string, unknown> = {};

  constructor(status: number, code: string, message: string, outcome: Outcome, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "RailguardError";
    this.status = status;
    this.code = code;
    this.outcome = outcome;
  }
}

/** Why a token is not good: malformed, unknown_key, bad_signature, wrong_issuer, expired, not_yet_valid. */
export class TokenError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.name = "TokenError";
    this.code = code;
  }
}

/**
 * Why a credential's status does not let it pass: revoked or suspended; no_status,
 * wrong_list or out_of_range; status_unknown (the list cannot be had: the only one that
 * may pass by itself).
 */
export class StatusError extends TokenError {}

/** Why a message of a webhook is not good: bad_secret, malformed, too_old, bad_signature. */
export class WebhookError extends Error {
  code: string;
  constructor(code: string) {
    super(code);
    this.name = "WebhookError";
    this.code = code;
  }
}

export type PermitReason =
  | "malformed" | "algorithm" | "type" | "key" | "signature" | "issuer" | "audience"
  | "expired" | "early" | "lifetime" | "verdict" | "payment" | "list" | "used";

/** Why a permit is not good: the first reason that holds. */
export class PermitError extends Error {
  code: PermitReason;
  constructor(code: PermitReason) {
    super(code);
    this.name = "PermitError";
    this.code = code;
  }
}
