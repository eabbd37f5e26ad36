// Reads what a payer signed on an EVM network, and holds it to what was asked for.

const published = [
  "eip155:1/0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48/6/ETH",
  "eip155:8453/0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913/6/BASE",
];
const permit2Proxy = "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"; // Of the scheme exact.
const address = /^0x[0-9a-fA-F]{40}$/;
const amountMost = 1e9; // Beyond it a number is not exact.

/** Reads tokens that are worth a dollar, each as NETWORK/ADDRESS/DECIMALS/CHAIN, as --x402-assets has them. */
export function readAssets(texts = published) {
  const assets = new Map();
  for (const text of texts) {
    const [network, token, decimals, chain, more] = text.split("/");
    if (more !== undefined || !network?.startsWith("eip155:") || !address.test(token) || !/^(0|[1-9][0-9]?)$/.test(decimals) || !chain) {
      throw new TypeError(`${text} is no asset: it must be NETWORK/ADDRESS/DECIMALS/CHAIN of an EVM network`);
    }
    assets.set(`${network}/${token.toLowerCase()}`, { chain, decimals: Number(decimals) });
  }
  return assets;
}

/** Returns who pays whom what by a payment, and its nonce. It throws if that is not what was asked for. */
export function readPayment(payment, wanted, assets) {
  const asset = assets.get(`${wanted.network}/${String(wanted.asset).toLowerCase()}`);
  if (!asset) throw new Error("the network or the asset is not one that is screened");
  if (wanted.scheme !== "exact" || !address.test(wanted.payTo)) throw new Error("only the scheme exact is screened, to an address");
  const { payload } = payment;
  const members = Object.keys(payload).sort().join();
  const signed = members === "permit2Authorization,signature" ? readPermit2(payload.permit2Authorization, wanted) : members === "authorization,signature" ? readAuthorization(payload.authorization, wanted) : undefined;
  if (!signed) throw new Error("the payload is neither an authorization nor one of Permit2");
  const { from, to, value, nonce } = signed;
  if (!address.test(from) || !same(to, wanted.payTo) || value !== wanted.amount) throw new Error("what was signed is not what was asked for");
  return { payer: from, nonce, chain: asset.chain, amount: dollars(value, asset.decimals) };
}

function readAuthorization({ from, to, value, nonce }) {
  if (!/^0x[0-9a-fA-F]{64}$/.test(nonce)) throw new Error("the nonce is none");
  return { from, to, value, nonce: nonce.toLowerCase() };
}

function readPermit2({ from, permitted, spender, nonce, witness }, { asset }) {
  if (!/^(0|[1-9][0-9]{0,77})$/.test(nonce)) throw new Error("the nonce is none");
  if (!same(spender, permit2Proxy) || !same(permitted.token, asset)) throw new Error("what was signed is not what was asked for");
  return { from, to: witness.to, value: permitted.amount, nonce };
}

const same = (one, other) => typeof one === "string" && typeof other === "string" && one.toLowerCase() === other.toLowerCase();

function dollars(units, decimals) {
  if (!/^(0|[1-9][0-9]{0,17})$/.test(units)) throw new Error("the amount is none");
  const text = units.padStart(decimals + 1, "0");
  const amount = Number(decimals ? `${text.slice(0, -decimals)}.${text.slice(-decimals)}` : text);
  if (amount > amountMost) throw new Error("the amount is too large");
  return amount;
}
