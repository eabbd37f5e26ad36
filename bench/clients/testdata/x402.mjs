// Payments through the published x402 package: by Railguard as the facilitator, and by the
// hook of docs/x402.md before another one. It prints what became of each, a line a payment.
const { RAILGUARD_URL: guard, RAILGUARD_KEY: key, CHAIN_URL: chain, DEAF_URL: deaf, SDK: sdk, HOOK: hook, TOKEN: token, BLOCKED: blocked } = process.env;
const { HTTPFacilitatorClient, x402ResourceServer } = await import(sdk);
const { railguard } = await import(hook);

const network = "eip155:8453";
const scheme = { scheme: "exact", defaultAssetTransferMethod: "default", paymentFlows: { default: { supported: ["authorization"], default: "authorization" } } };
let nonces = 0;

function payment({ to = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", credential = token, amount = "2500000" } = {}) {
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

async function pay(server, { requirements, payload }, verify = true) {
  try {
    const verified = await server.verifyPayment(payload, requirements);
    if (!verified.isValid && verify) return `not valid: ${verified.invalidReason}`;
    const settled = await server.settlePayment(payload, requirements);
    return settled.success ? `settled ${settled.transaction.slice(-4)}` : `not settled: ${settled.errorReason}`;
  } catch (cause) {
    return `not settled: ${cause.errorReason ?? cause.name}`;
  }
}

async function serverOf(url, headers) {
  const server = new x402ResourceServer(new HTTPFacilitatorClient({ url, createAuthHeaders: async () => ({ verify: headers, settle: headers, supported: headers }) }));
  server.register(network, scheme);
  await server.initialize();
  return server;
}

const listed = { to: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" };
const mine = { authorization: `Bearer ${key}` };
const facilitator = await serverOf(`${guard}/x402`, mine);
console.log("facilitator", await pay(facilitator, payment()));
const twice = payment();
console.log("facilitator", await pay(facilitator, twice), await pay(facilitator, twice, false));
console.log("facilitator", await pay(facilitator, payment(listed)));
console.log("facilitator", await pay(facilitator, payment(listed), false));
console.log("facilitator", await pay(facilitator, payment({ credential: "" })));
console.log("facilitator", await pay(facilitator, payment({ credential: blocked })));
console.log("extensions", facilitator.getFacilitatorExtensions(2, network, "exact").includes("railguard"));

for (const [name, url] of [["hook", guard], ["hook without Railguard", deaf], ["hook to a wrong address", "http://127.0.0.1:1"], ["hook without an address", undefined]]) {
  const server = await serverOf(chain, {});
  const rail = railguard({ url, key });
  server.onBeforeSettle(rail.beforeSettle).onAfterSettle(rail.afterSettle);
  const results = [];
  for (const p of [payment(), payment(listed), payment({ credential: "" }), payment({ credential: blocked })]) results.push(await pay(server, p));
  const odd = payment();
  delete odd.payload.payload.authorization.nonce;
  results.push(await pay(server, odd));
  console.log(name + ":", results.join("; "));
}
