import type { Settings } from "../../config/index.ts";
import type { QueryOptions } from "../../index.ts";
import type { QueryFlags } from "../commands/query.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import type { Host } from "../host.ts";
import { questionOf } from "../input/sources.ts";
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
  const question = questionOf(args, "query", flags);
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
