import { partsOfWarning, type WarningCures, warningSentence } from "../warnings.ts";

/** What the model of an ask can do: it writes cells, and no setting is its own. */
const CURES: WarningCures = {
  moreMatches: "narrow the pattern, or count it with count(pattern)",
  moreOutput: "print less",
  largeResult: "keep it in a variable and end the cell with a part of it",
  moreSubCalls: "budget() says how many are left",
  removeHelper: "removed with helpers.remove(NAME)",
  beginAnew: "end the cell with less",
  otherModel: "another one can be named in a call",
};

/** A warning behind its code, as the model of an ask reads it. */
export function warningForModel(warning: string): string {
  const { code, detail } = partsOfWarning(warning);
  const sentence = code === "state_restored" ? restored(detail) : warningSentence(warning, {}, CURES);
  return sentence === null || sentence === detail ? warning : `${code}: ${sentence}`;
}

/** @param detail the checkpoint, and `after 2 of 5 sub-calls`; it is from before the cell if no call was over */
function restored(detail: string): string {
  const [, done = "0", all = "0"] = / after (\d+) of (\d+) sub-calls$/.exec(detail) ?? [];
  const when = done === "0" ? "before this cell" : `when ${done} of ${all} sub-calls of this cell were answered`;
  return `what the cell made was lost with its sandbox; variables are as they were ${when}`;
}
