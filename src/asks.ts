import type { Asks } from "./session/index.ts";

/** What drives asks, for the hosts of sessions. It is loaded with the first ask. */
export async function loadAsks(): Promise<Asks> {
  return (await import("./ask/index.ts")).asks;
}
