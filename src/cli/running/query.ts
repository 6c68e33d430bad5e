import { existsSync } from "node:fs";
import type { Settings } from "../../config/index.ts";
import type { QueryOptions, SearchStrategy } from "../../index.ts";
import { SEARCH_STRATEGIES } from "../../query/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { processTerminal } from "../render/terminal.ts";
import { reportingFailures } from "../session/opening.ts";
import { modelsOf } from "../session/settings.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { openDelivery } from "./delivery.ts";
import { ending, jsonReport, signalsOf, textReport } from "./run-cells.ts";

/** `belay query`: brings in the contexts and answers one question about them. Gives the exit code. */
export function query(args: Arguments, host: Host): Promise<number> {
  return untilStopped((stop) => queryUntil(stop, args, host));
}

async function queryUntil(stop: Stop, args: Arguments, host: Host): Promise<number> {
  const terminal = processTerminal(stop.close);
  const flags = sessionFlags(args, "query");
  const question = questionOf(args);
  const options = queryOptions(args);
  if (flags.contexts.length === 0 && flags.durable.session === null) {
    throw new UsageError("there is no context to ask about", commandLine(["query", ...args.typed, "-c", "."]));
  }
  const report = args.has("json") ? jsonReport(terminal) : textReport(terminal);
  return reportingFailures(stop, report.failure, async (open) => {
    // Without a model, or its key, loading and searching would be for nothing.
    const check = (settings: Settings) => void modelsOf(settings).resolve(null);
    const asked = { kind: "query", input: question } as const;
    const opened = await open({ flags, host, terminal, asked, check });
    const { session, progress } = opened;
    const delivery = openDelivery(opened);
    const signals = { ...signalsOf(opened, stop), ...delivery.asked };
    progress.begin();
    const resumed = opened.isBegun ? await session.resume(signals) : null;
    const answer = resumed?.envelope ?? (await session.query(question, { ...options, ...signals }));
    const taken = progress.end();
    return ending(answer, { rest: [], taken, opened, report, stop, written: delivery.written() }).code;
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
  const [, ...others] = words;
  // A shell makes several arguments of `-c *.log`.
  if (rest.length > 0 && others.every((path) => existsSync(path))) {
    const shown = others.flatMap((path) => ["-c", path]);
    const line = commandLine(["query", question, ...rest, ...shown]);
    throw new UsageError(`each -c takes one path; did you mean ${shown.join(" ")}?`, line);
  }
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
