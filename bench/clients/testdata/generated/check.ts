import type { components, paths } from "./api";

// It compiles only if the document's types are what the API says.
const call: components["schemas"]["ScreeningCall"] = { token: "t", amount: 131072.07, cpName: "Corner Bakery", hold: { ttlSeconds: 60 } };
type Screened = paths["/v1/screen"]["post"]["responses"][200]["content"]["application/json"];
export function isLeave(answer: Screened): boolean {
  const id: string = answer.txnId;
  return answer.verdict === "PROCEED" && id !== "" && call.amount > 0;
}
// @ts-expect-error: an amount is a number.
export const wrong: components["schemas"]["ScreeningCall"] = { token: "t", amount: "131072.07" };
// @ts-expect-error: there is no such verdict.
export const never = (answer: Screened) => answer.verdict === "MAYBE";
