import { type QueryEnvelope, type QueryOptions, RlmError, type SearchStrategy } from "../index.ts";
import { SEARCH_STRATEGIES } from "../query/query.ts";
import type { Arguments } from "./arguments.ts";
import type { CallsTaken } from "./call-line.ts";
import { takenLine } from "./call-line.ts";
import { amount } from "./numbers.ts";
import { type CliSession, openCliSession } from "./session.ts";
import { sessionFlags } from "./session-options.ts";
import { readSettings } from "./settings.ts";
import { failureJson, showError, showFailure, showValue, showWarnings } from "./show.ts";
import { openStop, type Stop } from "./stop.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { commandLine, UsageError } from "./usage.ts";

/** `belay query`: loads the contexts and answers one question about them. Gives the exit code. */
export async function query(args: Arguments): Promise<number> {
  using stop = openStop();
  const code = await queryUntil(stop, args);
  return stop.exitCode || code;
}

async function queryUntil(stop: Stop, args: Arguments): Promise<number> {
  const terminal = processTerminal(stop.ask);
  const flags = sessionFlags(args, "query");
  const question = questionOf(args);
  const options = queryOptions(args);
  if (flags.contexts.length === 0) {
    throw new UsageError("there is no context to ask about", commandLine(["query", ...args.typed, "-c", "."]));
  }
  let opened: CliSession | undefined;
  try {
    opened = await openCliSession(flags, readSettings(flags), terminal);
    await opened.loadAll(stop.signal);
    opened.progress.begin();
    const answer = await opened.session.query(question, { ...options, signal: stop.signal });
    const taken = opened.progress.end();
    if (stop.exitCode === 0) return 0;
    if (args.has("json")) terminal.stdout.writeRaw(`${JSON.stringify(answer)}\n`);
    else showAnswer(answer, taken, terminal);
    return stop.exitCode ?? (answer.success ? 0 : 1);
  } catch (error) {
    if (error instanceof RlmError) {
      if (args.has("json")) terminal.stdout.writeRaw(`${failureJson(error, opened?.session.id ?? null)}\n`);
      else showFailure(error, terminal);
    } else if (stop.exitCode === undefined) throw error;
    return 1;
  } finally {
    await opened?.[Symbol.asyncDispose]();
  }
}

function questionOf(args: Arguments): string {
  const words = args.inOrder.filter(({ option }) => option === null).map(({ value }) => value);
  const [question = ""] = words;
  const example = ["-c", "."];
  if (question.trim() === "") {
    throw new UsageError("there is no question", commandLine(["query", "What is this about?", ...example]));
  }
  if (words.length === 1) return question;
  const rest = args.all("context").flatMap((path) => ["-c", path]);
  throw new UsageError(
    "the question is several arguments; put it in quotes",
    commandLine(["query", words.join(" "), ...(rest.length > 0 ? rest : example)]),
  );
}

function queryOptions(args: Arguments): QueryOptions {
  const help = commandLine(["help", "query"]);
  const maxSections = args.number("max-sections");
  if (maxSections !== undefined && maxSections > MOST_SECTIONS) {
    throw new UsageError(`--max-sections is ${maxSections}: it takes 1 to ${MOST_SECTIONS}`, help);
  }
  const named = args.all("search-strategy").at(-1);
  const searchStrategy = SEARCH_STRATEGIES.find((known): known is SearchStrategy => known === named);
  if (named !== undefined && !searchStrategy) {
    throw new UsageError(`--search-strategy is ${named}: it takes ${SEARCH_STRATEGIES.join(", ")}`, help);
  }
  return { ...(maxSections ? { maxSections } : {}), ...(searchStrategy ? { searchStrategy } : {}) };
}

const MOST_SECTIONS = 50;

/** The answer; on a terminal also the sections that were read, and what it took. */
function showAnswer(answer: QueryEnvelope, taken: CallsTaken | null, terminal: Terminal): void {
  const { stderr, stdout } = terminal;
  if (answer.success) showValue(answer.answer, stdout);
  showWarnings(answer.warnings, terminal);
  if (!answer.success) showError(answer, taken, terminal);
  if (!stderr.isTerminal) return;
  if (answer.success) {
    stderr.write(`${amount(answer.sections.length, "section")} by ${answer.search_strategy_used}:\n`, "dim");
    for (const section of answer.sections) stderr.write(`  ${section}\n`, "dim");
  }
  if (taken) stderr.write(`${takenLine(taken)}\n`, "dim");
}
