import { builtins } from "../../../builtins/index.ts";
import type { Session } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { firstWords } from "../render/calls.ts";
import { paragraph, table } from "../render/table.ts";
import type { Output } from "../render/terminal.ts";
import { showValue } from "../render/value.ts";
import type { CliSession } from "../session/session.ts";

/** `34 documents, 132,432 characters (about 33,108 tokens)`. */
export function contextLine(session: Session): string {
  const stats = session.stats();
  if (!stats) return "no context is loaded; .load PATH loads one";
  const tokens = `about ${amount(stats.length_tokens_estimate, "token")}`;
  return `${amount(stats.document_count, "document")}, ${amount(stats.length_chars, "character")} (${tokens})`;
}

/** The context's facts as JSON. Returns false if no context is loaded. */
export function showStats(session: Session, output: Output): boolean {
  const stats = session.stats();
  if (!stats) return false;
  const { count, files } = stats.skipped;
  showValue(JSON.parse(JSON.stringify({ ...stats, skipped: { count, files } })), output);
  return true;
}

/** Prints the session's name, and the line that continues it. */
export function showPlace({ session, kept, replCommand }: CliSession, output: Output): undefined {
  if (!kept) output.write("this session is not kept; --session NAME keeps one\n");
  else output.write(`${displayName(session)}\n${replCommand()}\n`);
}

/** Every key of memory with the beginning of its value. */
export async function showMemory({ memory }: Session, output: Output): Promise<void> {
  const texts: [string, string][] = [];
  for (const key of await memory.list()) texts.push([key, JSON.stringify(await memory.get(key))]);
  if (texts.length === 0) output.write("memory is empty; a cell fills it with memory.put(key, value)\n");
  showTexts(texts, output);
}

/** Every helper with the beginning of its code. */
export async function showHelpers({ helpers }: Session, output: Output): Promise<void> {
  const texts = (await helpers.list()).map(
    ({ name, code, set_aside }) =>
      [name, `${set_aside === undefined ? "" : `(left out: ${set_aside}) `}${code}`] as const,
  );
  if (texts.length === 0) output.write("there are no helpers; a cell adds one with helpers.add(name, code)\n");
  showTexts(texts, output);
}

/** Name, size and beginning of each text, a line each. */
function showTexts(texts: readonly (readonly [name: string, text: string])[], output: Output): void {
  const rows = texts.map(([name, text]) => [name, amount(Buffer.byteLength(text), "byte"), firstWords(text)]);
  for (const line of table(rows, ["left", "right", "left"], output)) output.write(`${line}\n`);
}

/** The help of a dot-command. */
export interface DotHelp {
  readonly name: string;
  readonly argument: string;
  readonly summary: string;
}

/** `.help`: every dot-command and the signature of every builtin. */
export function overview(commands: readonly DotHelp[]): string {
  const listed = commands.map(({ name, argument, summary }) => `  ${`.${name} ${argument}`.padEnd(17)}${summary}`);
  const signatures = builtins.flatMap(({ signature }) =>
    signature.split("\n").map((line) => `  ${line.replace(/^(function|const) /, "")}`),
  );
  return `${listed.join("\n")}

Everything else is JavaScript. Its builtins:
${signatures.join("\n")}

.help NAME explains one. Code with an open bracket goes on in the next line; two empty lines run it as it is.
`;
}

/** `.help NAME`. Returns false if neither a builtin nor a command has this name. */
export function describe(name: string, commands: readonly DotHelp[], output: Output): boolean {
  const builtin = builtins.find((known) => known.name === name.replace(/[.(].*$/s, ""));
  const command = commands.find((known) => `.${known.name}` === name || known.name === name);
  if (builtin) {
    const { signature, summary, types, example } = builtin;
    const parts = [signature, paragraph(summary, output.columns), ...(types ? [types] : [])];
    output.write(`${parts.join("\n\n")}\n\nexample:\n${example.replace(/^/gm, "  ")}\n`);
  } else if (command) {
    output.write(`.${command.name} ${command.argument}  ${command.summary}\n`);
  }
  return builtin !== undefined || command !== undefined;
}

/** Names that `.help` knows. */
export function helpNames(commands: readonly DotHelp[]): string[] {
  return [...builtins, ...commands].map(({ name }) => name);
}
