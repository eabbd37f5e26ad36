// Pays over x402 with the published packages: a client with a wallet, and a shop. It reads one order a line
// and prints what became of it.
import { createServer } from "node:http";
import { createInterface } from "node:readline";

import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from "@x402/core/http";
import { HTTPFacilitatorClient, x402HTTPResourceServer, x402ResourceServer } from "@x402/core/server";
import { ExactEvmScheme } from "@x402/evm/exact/client";
import { ExactEvmScheme as ExactEvmPrices } from "@x402/evm/exact/server";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/client";
import { wrapFetchWithPayment } from "@x402/fetch";
import { acceptCredentials, declaration, facilitatorAt, guardFacilitator, payingAgent } from "railguard-x402";
import { facilitatorOfV1, sendToken } from "railguard-x402/v1";
import { hashTypedData, verifyTypedData } from "viem";
import { privateKeyToAccount } from "viem/accounts";

const network = "eip155:8453";
const asset = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const domain = { name: "USD Coin", version: "2" };
const wallet = privateKeyToAccount(`0x${"17".repeat(32)}`);

/** Opens a shop with one route, and returns its address. */
async function openShop({ guard, key, behind, price, payTo, permit2, accept, declared, during }) {
  const facilitator = behind
    ? guardFacilitator(new HTTPFacilitatorClient({ url: behind }), { url: guard, key })
    : new HTTPFacilitatorClient(facilitatorAt({ url: guard, key }));
  const server = new x402ResourceServer(facilitator).register(network, new ExactEvmPrices());
  if (accept) acceptCredentials(server);
  const units = { amount: price, asset, extra: permit2 ? { ...domain, assetTransferMethod: "permit2" } : domain };
  const shop = new x402HTTPResourceServer(server, {
    "GET /report": { accepts: { scheme: "exact", network, payTo, price: units, maxTimeoutSeconds: 60 }, description: "a report", ...(declared && { extensions: declaration }) },
  });
  await shop.initialize();
  const http = createServer(async (request, response) => {
    const answer = (status, headers, body) => response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body ?? {}));
    const url = `http://${request.headers.host}${request.url}`;
    const adapter = {
      getHeader: (name) => request.headers[name.toLowerCase()], getMethod: () => request.method, getPath: () => request.url,
      getUrl: () => "https://shop.example.org/report", getAcceptHeader: () => "application/json", getUserAgent: () => "a test",
    };
    const context = { adapter, path: new URL(url).pathname, method: request.method };
    try {
      const verified = await shop.processHTTPRequest(context);
      if (verified.type === "payment-error") return answer(verified.response.status, verified.response.headers, verified.response.body);
      if (during) await fetch(during, { method: "POST" }); // What happens between verify and settle.
      const settled = await shop.processSettlement(verified.paymentPayload, verified.paymentRequirements, verified.declaredExtensions, { request: context });
      if (!settled.success) return answer(settled.response.status, settled.response.headers, settled.response.body);
      return answer(200, settled.headers, "the report");
    } catch (cause) {
      return answer(502, {}, String(cause));
    }
  });
  await new Promise((open) => http.listen(0, "127.0.0.1", open));
  return { http, url: `http://127.0.0.1:${http.address().port}/report` };
}

async function pay(order) {
  const client = new x402Client();
  const { payer, agent, header, jwk, audience } = order;
  client.register(network, new ExactEvmScheme(payer ? { address: payer, signTypedData: wallet.signTypedData } : wallet));
  if (agent) {
    const key = jwk && (await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]));
    client.registerExtension(payingAgent({ ...agent, ...(key && { key, audience }) }));
  }
  const { http, url } = await openShop(order);
  try {
    const response = await wrapFetchWithPayment(fetch, client)(url, { headers: header ? { "X-Railguard-Token": header } : {} });
    const [asked, paid] = ["payment-required", "payment-response"].map((name) => response.headers.get(name));
    const required = asked ? decodePaymentRequiredHeader(asked) : {};
    const settled = paid ? decodePaymentResponseHeader(paid) : {};
    return {
      status: response.status, body: await response.text(), error: required.error ?? settled.errorReason ?? "", transaction: settled.transaction ?? "",
      hint: required.extensions?.railguard?.hint ?? "", message: settled.errorMessage ?? "",
    };
  } finally {
    http.close();
  }
}

/** Tells whether what a facilitator was sent is signed by the wallet. */
async function check({ sent }) {
  const { payload } = JSON.parse(sent).paymentPayload;
  const { authorization: message } = payload;
  const types = {
    TransferWithAuthorization: [
      { name: "from", type: "address" }, { name: "to", type: "address" }, { name: "value", type: "uint256" },
      { name: "validAfter", type: "uint256" }, { name: "validBefore", type: "uint256" }, { name: "nonce", type: "bytes32" },
    ],
  };
  const signed = { domain: { ...domain, chainId: 8453, verifyingContract: asset }, types, primaryType: "TransferWithAuthorization", message };
  return { good: await verifyTypedData({ ...signed, address: wallet.address, signature: payload.signature }), digest: hashTypedData(signed) };
}

/** Pays as the packages of version 1 do: they send what a header holds, and drop the payment's extensions. */
async function payV1({ guard, key, token, payTo, price }) {
  const terms = { scheme: "exact", network: "base", maxAmountRequired: price, asset, payTo, maxTimeoutSeconds: 60, extra: domain, resource: "https://shop.example.org/report", description: "", mimeType: "" };
  const rail = facilitatorOfV1({ url: guard, key });
  const shop = createServer((request, response) => {
    rail.remember(request, response, async () => {
      const { x402Version, scheme, network, payload } = JSON.parse(atob(request.headers["x-payment"])); // As their schema reads it.
      const headers = { "content-type": "application/json", ...(await rail.createAuthHeaders()).settle };
      const body = JSON.stringify({ x402Version, paymentPayload: { x402Version, scheme, network, payload }, paymentRequirements: terms });
      const settled = await (await fetch(`${rail.url}/settle`, { method: "POST", headers, body })).json();
      response.writeHead(settled.success ? 200 : 402).end(JSON.stringify(settled));
    });
  });
  await new Promise((open) => shop.listen(0, "127.0.0.1", open));
  try {
    const client = new x402Client().registerV1("base", new ExactEvmSchemeV1(wallet));
    const payment = await client.createPaymentPayload({ x402Version: 1, accepts: [terms] });
    const response = await sendToken(fetch, token)(`http://127.0.0.1:${shop.address().port}/`, { headers: { "X-PAYMENT": btoa(JSON.stringify(payment)) } });
    const settled = await response.json();
    return { status: response.status, error: settled.errorReason ?? "", transaction: settled.transaction };
  } finally {
    shop.close();
  }
}

const deeds = { pay, check, payV1 };
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  console.log(JSON.stringify(await deeds[order.do](order).catch((cause) => ({ failed: String(cause.stack) }))));
}
