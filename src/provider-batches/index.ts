export {
  cancelUnwanted,
  collectUntil,
  hasWaited,
  type ProviderWait,
  providerWait,
  type Seen,
  waitsFor,
} from "./collect-until.ts";
export { proofOfRequest } from "./proof.ts";
