import { remedy } from "../../../runtime/index.ts";
import { RlmError } from "../../index.ts";
import { failureFields } from "./failure.ts";
import type { Output } from "./terminal.ts";

/** What cannot be read of what a command is about; null: all is whole. @param lines one for each row or stretch of rows */
export function damageError(
  lines: readonly string[],
  { rest = "Only what can be read is shown", cure = DROP_SESSION } = {},
): RlmError | null {
  if (lines.length === 0) return null;
  const told = lines.slice(0, SHOWN);
  const more = lines.length - told.length;
  const problem = `${told.join("; ")}${more > 0 ? `; ${more} more` : ""}. ${rest}`;
  return new RlmError("store_corrupt", problem, {
    suggestion: `To see all that is damaged ${remedy("verify")}; ${cure}.`,
  });
}

/** Names on stderr the sessions that a command passes over, because it cannot read them. */
export function passedOver(stderr: Output): (row: { readonly problem: string }) => void {
  return ({ problem }) =>
    stderr.write(`${problem}: it is passed over; belay doctor tells all that is damaged\n`, "yellow");
}

const DROP_SESSION = `${remedy("removeSession")} that is`;
const SHOWN = 10;

/** How such a command ended, for programs. */
export const outcomeOf = (damage: RlmError | null) => (damage ? failureFields(damage) : { success: true });
