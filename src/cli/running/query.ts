import { existsSync } from "node:fs";
import type { Settings } from "../../config/index.ts";
import type { QueryOptions } from "../../index.ts";
import type { QueryFlags } from "../commands/query.ts";
import type { Arguments } from "../flags/arguments.ts";
import { CONTEXT, JSON_OUTPUT } from "../flags/declared.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { processTerminal } from "../render/terminal.ts";
import { reportingFailures } from "../session/opening.ts";
import { modelsOf } from "../session/settings.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { openDelivery } from "./delivery.ts";
import { ending, envelopeIn, jsonReport, signalsOf, textReport } from "./run-cells.ts";

/** `belay query`: brings in the contexts and answers one question about them. Gives the exit code. */
export function queryCommand(args: Arguments, host: Host, own: QueryFlags): Promise<number> {
  return untilStopped((stop) => queryUntil(stop, args, host, own));
}

async function queryUntil(stop: Stop, args: Arguments, host: Host, options: QueryOptions): Promise<number> {
  const terminal = processTerminal(stop.close);
  const flags = sessionFlags(args, "query");
  const question = questionOf(args);
  if (flags.contexts.length === 0 && flags.session === null) {
    throw new UsageError("no context given", commandLine(["query", ...args.typed, "-c", "."]));
  }
  const report = args.get(JSON_OUTPUT) ? jsonReport(terminal) : textReport(terminal);
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
    const answer = envelopeIn(resumed) ?? (await session.query(question, { ...options, ...signals }));
    const taken = progress.end();
    return ending(answer, { rest: [], taken, opened, report, stop, written: delivery.written() }).code;
  });
}

function questionOf(args: Arguments): string {
  const [question = "", ...others] = args.positionals;
  const example = ["-c", "."];
  if (question.trim() === "") {
    throw new UsageError("no question given", commandLine(["query", "What is this about?", ...example]));
  }
  if (others.length === 0) return question;
  const rest = args.get(CONTEXT).flatMap((path) => ["-c", path]);
  // A shell makes several arguments of `-c *.log`.
  if (rest.length > 0 && others.every((path) => existsSync(path))) {
    const shown = others.flatMap((path) => ["-c", path]);
    const line = commandLine(["query", question, ...rest, ...shown]);
    throw new UsageError(`each -c takes one path; did you mean ${shown.join(" ")}?`, line);
  }
  throw new UsageError(
    "the question is several arguments; put it in quotes",
    commandLine(["query", args.positionals.join(" "), ...(rest.length > 0 ? rest : example)]),
  );
}
