export { cancelUnwanted, collectUntil, type Seen } from "./collect-until.ts";
export { proofOfRequest } from "./proof.ts";
export { hasWaited, type ProviderWait, providerWait, waitsFor } from "./waits.ts";
