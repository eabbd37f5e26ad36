// For a resource server that keeps its own facilitator: Railguard is asked before each settlement.
import { readAssets, readPayment } from "./signed.js";

const patience = 2500; // Milliseconds for a question to Railguard.
const bookings = 5; // How often a report is tried.
const holdBeyond = 300; // Seconds that a hold lasts longer than the payment's own time.

/** Reasons of a failed settlement after which the payment may still be made. */
const notDefinite = new Set(["settlement_pending", "unexpected_settle_error", "unexpected_error", "invalid_transaction_state"]);

/**
 * Returns a facilitator that settles what Railguard lets through, and nothing else:
 * new x402ResourceServer(guardFacilitator(facilitator, { url, key })). What is not let through is a failed
 * settlement, and no error: a client that meets an error tries another facilitator.
 */
export function guardFacilitator(facilitator, { url, key, settlerKey = key, assets, timeoutMs = patience, log = console.error }) {
  const known = readAssets(assets);
  const pending = new WeakSet(); // Payments that this process sent on, and whose outcome is open.
  const ask = (path, body, as, headers = {}) =>
    fetch(url.replace(/\/+$/, "") + path, {
      method: "POST",
      redirect: "error",
      signal: AbortSignal.timeout(timeoutMs),
      headers: { authorization: `Bearer ${as}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const report = async (txnId, verb, body, as) => {
    for (let attempt = 0; attempt < bookings; attempt++) {
      try {
        const answer = await ask(`/v1/transactions/${encodeURIComponent(txnId)}/${verb}`, body, as);
        if (answer.status === 200) return true;
        if (answer.status < 500 && answer.status !== 429) return false;
      } catch {} // It is tried again.
      await new Promise((later) => setTimeout(later, 200 * 2 ** attempt));
    }
    return false;
  };
  return {
    verify: (payment, wanted) => facilitator.verify(payment, wanted),
    getSupported: () => facilitator.getSupported(),
    async settle(payment, wanted) {
      const refuse = (errorReason, errorMessage) => ({ success: false, errorReason, errorMessage, transaction: "", network: wanted.network });
      let leave;
      let read;
      try {
        read = readPayment(payment, wanted, known);
        leave = await judge(payment, wanted, read, ask, key);
      } catch (cause) {
        return refuse(read ? "railguard_unavailable" : "railguard_refused", String(cause));
      }
      if (leave.reason) return refuse(leave.reason, leave.message);
      if (leave.replayed && !pending.has(payment)) return refuse("duplicate_settlement", "this payment came before: sign another one");
      pending.add(payment);
      const result = await facilitator.settle(payment, wanted); // If it throws, the outcome is not known and the hold stays.
      if (result.success === true) {
        pending.delete(payment);
        if (!(await report(leave.txnId, "settle", { railRef: result.transaction }, key))) log(`railguard: ${leave.txnId} was paid by ${result.transaction} and is not settled: settle it by hand`);
      } else if (!leave.replayed && result.success === false && result.errorReason && !notDefinite.has(result.errorReason) && !result.transaction) {
        pending.delete(payment);
        if (!(await report(leave.txnId, "release", { reason: `x402: ${result.errorReason}` }, settlerKey))) log(`railguard: ${leave.txnId} was not paid and its hold stays: a settler must release it`);
      }
      return result;
    },
  };
}

/** Asks Railguard about a payment: with a reason it may not be made. */
async function judge(payment, wanted, { payer, nonce, chain, amount }, ask, key) {
  const { token = "", userToken } = payment.extensions?.railguard?.info ?? {};
  if (token === "") return { reason: "railguard_credential_missing", message: "the payment has no extensions.railguard.info.token" };
  const name = `hook:${wanted.network}:${wanted.asset.toLowerCase()}:${payer.toLowerCase()}:${nonce}`;
  const body = {
    token, userToken, amount, chain, rail: "USDC", cpWallet: wanted.payTo, payerWallet: payer, protocol: "x402",
    paymentRef: `hook:${wanted.network}:${nonce}`, hold: { ttlSeconds: wanted.maxTimeoutSeconds + holdBeyond },
  };
  const answer = await ask("/v1/screen", body, key, { "idempotency-key": name });
  const verdict = await answer.json();
  if (answer.status !== 200) return { reason: "railguard_unavailable", message: String(verdict.code) };
  if (verdict.verdict !== "PROCEED") return { reason: `railguard_${String(verdict.verdict).toLowerCase()}`, message: `${verdict.rule} ${verdict.txnId}` };
  return { txnId: verdict.txnId, replayed: answer.headers.get("idempotent-replayed") === "true" };
}
