import * as ai from "@mariozechner/pi-ai";
import * as agent from "@mariozechner/pi-coding-agent";
import * as tui from "@mariozechner/pi-tui";
import { RlmError } from "../../runtime/index.ts";

// All values of Pi's packages come through here. A fork of Pi may lack some of them, and its loader gives undefined for
// these. Each is looked for when it is used, so that only what needs it fails.

const PACKAGES = { "pi-ai": ai, "pi-coding-agent": agent, "pi-tui": tui };
type Packages = typeof PACKAGES;

/** A function or class of a package of the host. @throws RlmError `host_incompatible` if the host lacks it */
export function fromHost<P extends keyof Packages, N extends keyof Packages[P] & string>(
  from: P,
  name: N,
): Packages[P][N] {
  const found = PACKAGES[from][name];
  if (typeof found === "function") return found;
  throw new RlmError("host_incompatible", `this host has no ${name} in its ${from}`, {
    suggestion: "Update the host, or use a Pi that docs/pi.md names.",
  });
}

/** True if the host has all of these. */
export function hostHas<P extends keyof Packages>(from: P, names: readonly (keyof Packages[P])[]): boolean {
  return names.every((name) => typeof PACKAGES[from][name] === "function");
}
