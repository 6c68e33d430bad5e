import { RlmError } from "../../runtime/index.ts";

/** What this is refused with. */
export function refusalOf(run: () => unknown): RlmError {
  try {
    run();
  } catch (error) {
    if (error instanceof RlmError) return error;
    throw error;
  }
  throw new Error("it was not refused");
}
