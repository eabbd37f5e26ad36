// Payments over x402 that Railguard screens. docs/x402.md shows each line in its place.
export { payingAgent } from "./agent.js";
export { acceptCredentials, declaration, facilitatorAt } from "./server.js";
export { guardFacilitator } from "./guard.js";
