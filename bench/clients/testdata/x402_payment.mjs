// Payments over x402 as a resource server has them, with the credential of who pays.
export const token = process.env.TOKEN;
export const network = "eip155:8453";
export const scheme = { scheme: "exact", defaultAssetTransferMethod: "default", paymentFlows: { default: { supported: ["authorization"], default: "authorization" } } };
let nonces = 0;

export function payment({ to = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", credential = token, amount = "2500000" } = {}) {
  const requirements = {
    scheme: "exact", network, amount, asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", payTo: to, maxTimeoutSeconds: 60, extra: { name: "USDC", version: "2" },
  };
  const nonce = "0x" + (++nonces).toString(16).padStart(64, "0");
  const payload = {
    x402Version: 2, resource: { url: "https://shop.example.org/report" }, accepted: requirements,
    payload: { signature: "0x00", authorization: { from: "0x857b06519E91e3A54538791bDbb0E22373e36b66", to, value: amount, validAfter: "1", validBefore: "2", nonce } },
    extensions: credential ? { railguard: { info: { token: credential } } } : {},
  };
  return { requirements, payload };
}

export async function pay(server, { requirements, payload }, verify = true) {
  try {
    const verified = await server.verifyPayment(payload, requirements);
    if (!verified.isValid && verify) return `not valid: ${verified.invalidReason}`;
    const settled = await server.settlePayment(payload, requirements);
    return settled.success ? `settled ${settled.transaction.slice(-4)}` : `not settled: ${settled.errorReason}`;
  } catch (cause) {
    return `not settled: ${cause.errorReason ?? cause.name}`;
  }
}
