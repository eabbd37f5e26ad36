// Payments through the published x402 package: by Railguard as the facilitator, and by client/x402 before
// another one. It prints what became of each, a line a payment.
import { HTTPFacilitatorClient, x402ResourceServer } from "@x402/core/server";
import { guardFacilitator } from "railguard-x402";

import { facilitator as documented } from "./facilitator.mjs"; // As docs/x402.md has it.
import { network, pay, payment, scheme } from "./x402_payment.mjs";

const { RAILGUARD_URL: guard, RAILGUARD_KEY: key, CHAIN_URL: chain, DEAF_URL: deaf, BLOCKED: blocked } = process.env;

async function serverOf(client) {
  const server = new x402ResourceServer(client);
  server.register(network, scheme);
  await server.initialize();
  return server;
}

const listed = { to: "0x098B716B8Aaf21512996dC57EB0615e2383E2f96" };
const facilitator = await serverOf(documented);
console.log("facilitator", await pay(facilitator, payment()));
const twice = payment();
console.log("facilitator", await pay(facilitator, twice), await pay(facilitator, twice, false));
console.log("facilitator", await pay(facilitator, payment(listed)));
console.log("facilitator", await pay(facilitator, payment(listed), false));
console.log("facilitator", await pay(facilitator, payment({ credential: "" })));
console.log("facilitator", await pay(facilitator, payment({ credential: blocked })));
console.log("extensions", facilitator.getFacilitatorExtensions(2, network, "exact").includes("railguard"));

const guarded = (url) => serverOf(guardFacilitator(new HTTPFacilitatorClient({ url: chain }), { url, key }));
for (const [name, url] of [["guard", guard], ["guard without Railguard", deaf], ["guard at a wrong address", "http://127.0.0.1:1"], ["guard without an address", undefined]]) {
  const server = await guarded(url);
  const odd = payment();
  delete odd.payload.payload.authorization.nonce;
  const results = [];
  for (const p of [payment(), payment(listed), payment({ credential: "" }), payment({ credential: blocked }), odd]) results.push(await pay(server, p));
  console.log(name + ":", results.join("; "));
}
const server = await guarded(guard);
const again = payment();
console.log("guard, twice:", await pay(server, again), await pay(server, structuredClone(again)));

// What was signed is not what is wanted: one payment each.
const changes = {
  "another payee": (p) => (p.payload.payload.authorization.to = listed.to),
  "another amount": (p) => (p.payload.payload.authorization.value = "9999999"),
  "another asset": (p) => (p.requirements.asset = listed.to),
  "another network": (p) => (p.requirements.network = "eip155:137"),
  "another scheme": (p) => (p.requirements.scheme = "upto"),
  "a second authorization": (p) => (p.payload.payload.permit2Authorization = {}),
  "a payer that is no address": (p) => (p.payload.payload.authorization.from = "somebody"),
  "an amount that is none": (p) => (p.requirements.amount = p.payload.payload.authorization.value = "1e6"),
  "an amount beyond all": (p) => (p.requirements.amount = p.payload.payload.authorization.value = "9".repeat(18)),
  "no payload": (p) => delete p.payload.payload,
};
for (const [name, change] of Object.entries(changes)) {
  const p = payment();
  change(p);
  const { settle } = guardFacilitator(new HTTPFacilitatorClient({ url: chain }), { url: guard, key });
  console.log(`guard, ${name}:`, (await settle(p.payload, p.requirements)).errorReason);
}

// What answers, and not as Railguard does: one payment each.
for (const lie of process.env.LIES.split(",")) {
  console.log(`guard, ${lie}:`, await pay(await guarded(`${process.env.LIAR_URL}/${lie}`), payment()));
}
