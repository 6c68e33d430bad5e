import type { QueryEnvelope, QueryOptions, SearchStrategy } from "../index.ts";
import { SEARCH_STRATEGIES } from "../query/query.ts";
import type { Arguments } from "./arguments.ts";
import { type CallsTaken, takenLine } from "./call-line.ts";
import { modelsOf } from "./model.ts";
import { amount } from "./numbers.ts";
import { type ReportFailure, reportingFailures } from "./session.ts";
import { sessionFlags } from "./session-options.ts";
import { readSettings } from "./settings.ts";
import { failureJson, showError, showFailure, showValue, showWarnings } from "./show.ts";
import { type Stop, untilStopped } from "./stop.ts";
import { processTerminal, type Terminal } from "./terminal.ts";
import { commandLine, UsageError } from "./usage.ts";

/** `belay query`: loads the contexts and answers one question about them. Gives the exit code. */
export function query(args: Arguments): Promise<number> {
  return untilStopped((stop) => queryUntil(stop, args));
}

async function queryUntil(stop: Stop, args: Arguments): Promise<number> {
  const terminal = processTerminal(stop.ask);
  const flags = sessionFlags(args, "query");
  const question = questionOf(args);
  const options = queryOptions(args);
  if (flags.contexts.length === 0) {
    throw new UsageError("there is no context to ask about", commandLine(["query", ...args.typed, "-c", "."]));
  }
  const failure: ReportFailure = (error, session) => {
    if (args.has("json")) terminal.stdout.writeRaw(`${failureJson(error, session)}\n`);
    else showFailure(error, terminal);
  };
  return reportingFailures(stop, failure, async (open) => {
    const settings = readSettings(flags);
    // Without a model, or its key, loading and searching would be for nothing.
    modelsOf(settings).resolve(null);
    const { session, progress } = await open(flags, settings, terminal);
    progress.begin();
    const answer = await session.query(question, { ...options, signal: stop.signal });
    const taken = progress.end();
    if (stop.exitCode === 0) return 0;
    if (args.has("json")) terminal.stdout.writeRaw(`${JSON.stringify(answer)}\n`);
    else showAnswer(answer, taken, terminal);
    return stop.exitCode ?? (answer.success ? 0 : 1);
  });
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
