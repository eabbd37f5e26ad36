// Calls Railguard, without dependencies: fetch and WebCrypto of the platform. Node 20 and later, Deno, Bun and
// browsers run the package; Node from 22.18 on, Deno and Bun run these sources as they stand.
//
// Every call that changes something carries an Idempotency-Key, fails over between addresses and is made again
// by what X-Railguard-Outcome says. Money is a decimal string, never a number: the members `amount` and those
// that end in `USDC`.

export { Client } from "./src/client.ts";
export { PermitError, RailguardError, StatusError, TokenError, WebhookError } from "./src/errors.ts";
export { parseUSD } from "./src/money.ts";
export { NotSent, UnfinishedPayment } from "./src/pay.ts";
export { FirstUses, PermitKeys, verifyPermit } from "./src/permit.ts";
export { signProof } from "./src/proof.ts";
export { buildPay, payHash } from "./src/statement.ts";
export { Verifier, verifyStatus } from "./src/status.ts";
export { verifyToken } from "./src/token.ts";
export { newKey } from "./src/transport.ts";
export { verifyWebhook } from "./src/webhook.ts";

export type * from "./src/casework.ts";
export type { PermitReason } from "./src/errors.ts";
export type * from "./src/events.ts";
export type { End, Journal, Step } from "./src/journal.ts";
export type * from "./src/keys.ts";
export type { Lists, Page, Query } from "./src/pages.ts";
export type { Check, Checked, Paid, PayOptions, Resumed, ResumeOptions, Send, Sent } from "./src/pay.ts";
export type { FirstUse, PermitCheck, PermitClaims } from "./src/permit.ts";
export type { ProofOf } from "./src/proof.ts";
export type { Paying, PayStatement } from "./src/statement.ts";
export type { Patience } from "./src/status.ts";
export type { Decided, StreamOptions } from "./src/stream.ts";
export type { Answer, CallOptions, Head, How, Options } from "./src/transport.ts";
export type * from "./src/types.ts";
