// Checks permits with a published library that knows none: npm jose, and what it leaves to its
// caller.
const { createLocalJWKSet, decodeProtectedHeader, jwtVerify } = await import(process.env.SDK);
let input = "";
for await (const part of process.stdin) input += part;
const { jwks, cases } = JSON.parse(input);
const keys = createLocalJWKSet(jwks);

async function good(one) {
  const { payload: p } = await jwtVerify(one.permit, keys, {
    issuer: one.issuer, audience: one.audience, typ: "railguard-permit+jwt", algorithms: ["ES256"], requiredClaims: ["exp", "iat", "jti"], currentDate: new Date(one.now * 1000),
  });
  if (!/^(sandbox-)?pm-v[0-9]+$/.test(decodeProtectedHeader(one.permit).kid)) return false; // The credentials' keys stand in the same set.
  return p.verdict === "PROCEED" && p.exp - p.iat <= 300 && p.iat <= one.now + 60 && p.pay_hash === one.payHash && p.lists.age <= p.lists.maxAge;
}

const told = [];
for (const one of cases) told.push(await good(one).catch(() => false));
process.stdout.write(JSON.stringify(told));
