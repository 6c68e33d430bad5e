import { existsSync } from "node:fs";
import { variableLine } from "../../platform/shell-word.ts";
import type { Argument, Arguments } from "./arguments.ts";
import { MODEL_SERVER } from "./declared.ts";
import { commandLine, UsageError } from "./usage.ts";

/** A line that was typed without a command, and the line that was probably meant. */
interface Meant {
  readonly problem: string;
  readonly line: string;
}

const QUESTION = "What is this about?";
/** A sign that a word is a question. */
const ASKING = /[\s?]|[^\0-\x7f]/;
/** Files that `belay exec` runs. */
const SCRIPT = /\.[cm]?[jt]s$/i;

/** The line for a first word that is a file or a folder; null: it is neither. */
export function lineForPath(args: readonly string[]): Meant | null {
  const [first = ""] = args;
  if (!existsSync(first)) return null;
  if (SCRIPT.test(first)) {
    return { problem: `${first} is not a command; exec runs cells`, line: commandLine(["exec", ...args]) };
  }
  return { problem: `${first} is not a command; ask answers questions about it`, line: askLine(args) };
}

/**
 * The line for a question in place of a command; null: it does not look like one. Nothing is sent
 * before it is typed.
 */
export function lineForQuestion(args: readonly string[]): Meant | null {
  const [first = ""] = args;
  const isQuestion = leadingWords(args).length > 1 || ASKING.test(first);
  if (!isQuestion || first.trim() === "") return null;
  return { problem: "a question is not a command; ask answers it. Nothing was sent", line: askLine(args) };
}

/**
 * True if the flags that stand in place of a command are those of a question: a context, and no
 * cell.
 */
export function isAskWithoutName(args: readonly string[]): boolean {
  const hasCell = args.some((word) => /^(?:-e|--eval)/.test(word) || SCRIPT.test(word));
  return args[0] === "-c" && !hasCell;
}

/** `belay ask QUESTION -c PATH …`, with the flags that were typed. */
export function askLine(args: readonly string[]): string {
  const words = leadingWords(args);
  const flags = args.slice(words.length);
  const paths = words.filter((word) => existsSync(word));
  const isQuoted = words.some((word) => /\s/.test(word));
  const begin = words.findIndex((word) => !paths.includes(word));
  // Without quotes the name of a file behind the first word of the question is a word of it too.
  const asked = words.filter((word, at) => !paths.includes(word) || (!isQuoted && begin >= 0 && at > begin));
  const isNamed = flags.some((word) => /^(?:-c|--context)/.test(word));
  const contexts = paths.length > 0 || isNamed ? paths : ["."];
  const hasQuestion = asked.length > 0 || flags.some((word) => ASKING.test(word) && !existsSync(word));
  const question = hasQuestion ? asked.join(" ") : QUESTION;
  return commandLine([
    "ask",
    ...(question === "" ? [] : [question]),
    ...contexts.flatMap((path) => ["-c", path]),
    ...flags,
  ]);
}

/** The words before the first flag. */
function leadingWords(args: readonly string[]): readonly string[] {
  const end = args.findIndex((word) => word.startsWith("-"));
  return end < 0 ? args : args.slice(0, end);
}

/**
 * The error for a model without its provider. It names the nearest PROVIDER/ID.
 *
 * @param bare as it was typed; without an option it is the value of BELAY_MODEL
 */
export async function modelNameError(command: string, args: Arguments, bare: Argument): Promise<UsageError> {
  const { option, value } = bare;
  const place = option === null ? "BELAY_MODEL" : `--${option}`;
  // The list of models is loaded only here.
  const { modelsMeantBy } = await import("../../models/index.ts");
  const meant = hasServer(args) ? [`local/${value}`] : modelsMeantBy(value, process.env);
  const [nearest] = meant;
  // A value unlike the name of any model may be a key that was put there by mistake: it is not
  // repeated.
  if (nearest === undefined) {
    const problem = `${place} must be PROVIDER/ID, such as anthropic/claude-sonnet-5, and no model is named like it`;
    return new UsageError(problem, "belay models --all");
  }
  const problem = `${place} must be PROVIDER/ID; did you mean ${meant.join(", ")}?`;
  if (option === null) return new UsageError(problem, variableLine("BELAY_MODEL", nearest));
  const corrected = args.typed.map((word, at) => {
    if (word === value && args.typed[at - 1] === `--${option}`) return nearest;
    return word === `--${option}=${value}` ? `--${option}=${nearest}` : word;
  });
  return new UsageError(problem, commandLine([command, ...corrected]));
}

/** True if the models are those of a server that the user names. */
function hasServer(args: Arguments): boolean {
  const [server] = MODEL_SERVER;
  const typed = server && args.isGiven(server) ? args.get<unknown>(server) : process.env.BELAY_BASE_URL;
  return Boolean(typed);
}
