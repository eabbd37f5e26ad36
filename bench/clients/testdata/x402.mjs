// Payments through the published x402 package: by Railguard as the facilitator, and by the
// hook of docs/x402.md before another one. It prints what became of each, a line a payment.
import { network, pay, payment, scheme } from "./x402_payment.mjs";

const { RAILGUARD_URL: guard, RAILGUARD_KEY: key, CHAIN_URL: chain, DEAF_URL: deaf, SDK: sdk, HOOK: hook, DOCUMENTED: documented, BLOCKED: blocked } = process.env;
const { HTTPFacilitatorClient, x402ResourceServer } = await import(sdk);
const { railguard } = await import(hook);

async function serverOf(client) {
  const server = new x402ResourceServer(client);
  server.register(network, scheme);
  await server.initialize();
  return server;
}

const listed = { to: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" };
const facilitator = await serverOf((await import(documented)).facilitator); // As docs/x402.md has it.
console.log("facilitator", await pay(facilitator, payment()));
const twice = payment();
console.log("facilitator", await pay(facilitator, twice), await pay(facilitator, twice, false));
console.log("facilitator", await pay(facilitator, payment(listed)));
console.log("facilitator", await pay(facilitator, payment(listed), false));
console.log("facilitator", await pay(facilitator, payment({ credential: "" })));
console.log("facilitator", await pay(facilitator, payment({ credential: blocked })));
console.log("extensions", facilitator.getFacilitatorExtensions(2, network, "exact").includes("railguard"));

for (const [name, url] of [["hook", guard], ["hook without Railguard", deaf], ["hook to a wrong address", "http://127.0.0.1:1"], ["hook without an address", undefined]]) {
  const server = await serverOf(new HTTPFacilitatorClient({ url: chain }));
  const rail = railguard({ url, key });
  server.onBeforeSettle(rail.beforeSettle).onAfterSettle(rail.afterSettle);
  const results = [];
  for (const p of [payment(), payment(listed), payment({ credential: "" }), payment({ credential: blocked })]) results.push(await pay(server, p));
  const odd = payment();
  delete odd.payload.payload.authorization.nonce;
  results.push(await pay(server, odd));
  console.log(name + ":", results.join("; "));
}

// What answers, and not as Railguard does: one payment each.
for (const lie of process.env.LIES.split(",")) {
  const server = await serverOf(new HTTPFacilitatorClient({ url: chain }));
  const rail = railguard({ url: `${process.env.LIAR_URL}/${lie}`, key });
  server.onBeforeSettle(rail.beforeSettle).onAfterSettle(rail.afterSettle);
  console.log(`hook, ${lie}:`, await pay(server, payment()));
}
