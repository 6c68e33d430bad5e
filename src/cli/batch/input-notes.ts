import { amount, thousands } from "../../platform/figures.ts";
import { type Choice, choiceText, hasChoice, type ReadJobs, type Spool } from "../../runs/index.ts";
import { quoted } from "../flags/usage.ts";
import { withFlag } from "../render/loaded.ts";
import type { Terminal } from "../render/terminal.ts";
import { warningText } from "../render/warnings.ts";

const LEFT_OUT_SHOWN = 10;

/**
 * Prints on stderr how inputs were read: what was decoded, left out, chosen, or is a text in place
 * of a number.
 */
export function noteInputs(read: ReadJobs, choice: Choice, { stderr }: Terminal): void {
  const { notes, skipped, ignored, spool } = read;
  const leftOut = skipped.map(({ path, reason }) => `${path} (${withFlag(reason)})`);
  if (ignored > 0) leftOut.unshift(`${amount(ignored, "file or folder", "files and folders")} that .gitignore names`);
  for (const note of notes) stderr.line(note, "dim");
  const shown = leftOut.slice(0, LEFT_OUT_SHOWN);
  const more = leftOut.length - LEFT_OUT_SHOWN;
  for (const line of more > 0 ? [...shown, `${more} more`] : shown) {
    stderr.line(`left out: ${line}`, "dim");
  }
  if (hasChoice(choice)) stderr.line(chosenText(choice, spool), "dim");
  const texts = spool.asText.join(", ");
  if (texts !== "") stderr.line(`warning: ${warningText(`number_as_text: ${texts}`)}`, "yellow");
}

/**
 * A line that jobs have names that nobody can read, and how to give them others; none if all have
 * an id.
 */
export function hashLines({ hashed: { count, field } }: Pick<Spool, "hashed">): string[] {
  if (count === 0) return [];
  const has = count === 1 ? "job has" : "jobs have";
  const example = field === null ? "" : `, such as --id ${quoted(field)} if it differs in each`;
  return [`${thousands(count)} ${has} no "id", so a hash names each; --id FIELD takes another field${example}`];
}

const chosenText = (choice: Choice, { count, read }: Spool) =>
  `${choiceText(choice)}: ${thousands(count)} of ${amount(read, "input")}`;
