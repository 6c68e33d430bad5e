import type { Json } from "../../runtime/index.ts";

/** True if the session says that an exec has begun and not ended. */
export function isRunning(facts: Json): boolean {
  return typeof facts === "object" && facts !== null && Reflect.get(facts, "status") === "running";
}
