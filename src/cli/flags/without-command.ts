import { existsSync } from "node:fs";
import { commandLine } from "./usage.ts";

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

/** The line for a question in place of a command; null: it does not look like one. Nothing is sent before it is typed. */
export function lineForQuestion(args: readonly string[]): Meant | null {
  const [first = ""] = args;
  const isQuestion = leadingWords(args).length > 1 || ASKING.test(first);
  if (!isQuestion || first.trim() === "") return null;
  return { problem: "a question is not a command; ask answers it. Nothing was sent", line: askLine(args) };
}

/** True if the flags that stand in place of a command are those of a question: a context, and no cell. */
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
