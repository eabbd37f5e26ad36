// The arguments of the tools, in the words of Railguard's MCP server.

/** A JSON Schema. */
export type Schema = { readonly [member: string]: unknown };

export interface ObjectSchema {
  type: "object";
  properties: Record<string, Schema>;
  required: string[];
  additionalProperties: false;
}

/** A payment's arguments, which are those of a screening call. */
export const payment: Record<string, Schema> = {
  token: { type: "string", description: "The agent's credential, as its operator was given it." },
  userToken: { type: "string", description: "The user's credential, with supervised agents." },
  amount: { type: "number", minimum: 0, maximum: 1000000000000, description: "US dollars." },
  chain: { type: "string", description: "ETH, BASE, SOL, ACH, WIRE or SWIFT." },
  rail: { type: "string", description: "USDC, ACH, WIRE, SWIFT or IBAN." },
  cpWallet: { type: "string", description: "The counterparty's wallet." },
  payerWallet: { type: "string", description: "The wallet that pays: your own." },
  wallets: { type: "array", maxItems: 8, description: "Further wallets of the payment.", items: { type: "object", properties: { role: { type: "string", enum: ["payer", "payee", "intermediary", "fee"] }, address: { type: "string" } }, required: ["role", "address"], additionalProperties: false } },
  cpName: { type: "string", description: "The counterparty's name." },
  cpType: { type: "string", description: "individual, business or exchange." },
  cpCountry: { type: "string", description: "The counterparty's country, by name or code. Tell it where you know it: an embargoed one blocks." },
  cpRegion: { type: "string", description: "The counterparty's region, by name or ISO 3166-2 code." },
  cpAddress: { type: "string", description: "The counterparty's postal address." },
  cpDateOfBirth: { type: "string", description: "The counterparty's date of birth: 1962-11-23, or the year." },
  cpIdentifiers: { type: "array", maxItems: 8, description: "Numbers and addresses by which the counterparty is known: its bank account, website, tax number.", items: { type: "object", properties: { type: { type: "string", enum: ["bic", "iban", "lei", "tax_id", "registration", "national_id", "passport", "imo", "mmsi", "aircraft_tail", "email", "website", "phone", "duns", "account"] }, value: { type: "string" }, country: { type: "string" } }, required: ["type", "value"], additionalProperties: false } },
  originCountry: { type: "string", description: "From which country the payment was asked for, by name or code." },
  memo: { type: "string", maxLength: 512, description: "The text that travels with the payment, as the payee will read it." },
  protocol: { type: "string", description: "Protocol or platform of the payment." },
  model: { type: "string", description: "The agent's language model." },
  travelRuleRef: { type: "string" },
  paymentRef: { type: "string", maxLength: 128, description: "What is paid, such as an invoice's number: used by one payment in 30 days." },
};

export const permit: Schema = {
  type: "object",
  properties: { ttlSeconds: { type: "integer", minimum: 60, maximum: 300 }, aud: { type: "string", minLength: 1, maxLength: 256 } },
  additionalProperties: false,
  description: "Ask for a permit: proof for whoever is paid. It comes in the result's _meta, for the program that pays and not for you.",
};

export const hold: Schema = {
  type: "object", properties: { ttlSeconds: { type: "integer", minimum: 30, maximum: 604800 } }, required: ["ttlSeconds"], additionalProperties: false,
  description: "Hold the amount until the payment is settled or released.",
};

export const txnId: Schema = { type: "string", description: "As screen returned it." };

/** The key of a screening call, and of the tools that do not need one: whatever they do to a payment, they do once. */
export const paymentKey: Schema = { type: "string", minLength: 1, maxLength: 255, description: "Required without a proof. Of your own making, one for each payment; the same when a call is repeated." };
export const ownKey: Schema = { type: "string", minLength: 1, maxLength: 255, description: "Of your own making; the same when a call is repeated." };
export const waitSeconds: Schema = { type: "integer", minimum: 0, maximum: 30, description: "Of a REVIEW: wait so long for its disposition." };
export const redeem: Schema = { type: "boolean", description: "Take the leave at once: no other call gets it, and you make the payment now." };
export const paidAmount: Schema = { type: "number", minimum: 0, maximum: 1000000000000, description: "What was paid, in US dollars; without it, the amount that was screened." };
export const railRef: Schema = { type: "string", maxLength: 256, description: "What the rail calls the payment: a transaction hash, a bank's reference." };
export const reason: Schema = { type: "string", minLength: 1, description: "Why it was not made." };
