// Verifies messages of webhooks with others' code: v1 with the published package of Standard
// Webhooks, v1a with Node's Ed25519; and signs messages with the package.
import { createPublicKey, verify } from "node:crypto";

const { Webhook } = (await import(process.env.SDK)).default;
let input = "";
for await (const part of process.stdin) input += part;

const said = (check) => {
  try {
    return check();
  } catch (cause) {
    return cause.name;
  }
};
const spki = Buffer.from("302a300506032b6570032100", "hex"); // Before the 32 bytes of a key (RFC 8410).

function asymmetric(one) {
  const key = createPublicKey({ key: Buffer.concat([spki, Buffer.from(one.public.slice("whpk_".length), "base64")]), format: "der", type: "spki" });
  const content = Buffer.from(`${one.headers["webhook-id"]}.${one.headers["webhook-timestamp"]}.${one.body}`);
  const signatures = one.headers["webhook-signature"].split(" ").filter((text) => text.startsWith("v1a,"));
  return signatures.some((text) => verify(null, content, key, Buffer.from(text.slice("v1a,".length), "base64")));
}

const results = JSON.parse(input).map((one) => {
  const webhook = new Webhook(one.secret);
  return {
    shared: said(() => (webhook.verify(one.body, one.headers), "good")),
    public: said(() => (asymmetric(one) ? "good" : "bad")),
    signed: webhook.sign(one.headers["webhook-id"], new Date(Number(one.headers["webhook-timestamp"]) * 1000), one.body),
  };
});
process.stdout.write(JSON.stringify(results));
