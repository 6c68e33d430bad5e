import { RlmError } from "../../index.ts";
import { jsonText } from "../../platform/visible.ts";
import type { SearchFlags } from "../commands/search.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT, QUIET, VERBOSE } from "../flags/declared.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import type { Host } from "../host.ts";
import { lookedFor, lookedIn, rootsOf } from "../input/sources.ts";
import { processTerminal } from "../render/terminal.ts";
import { type Hit, hitsIn, placeLine } from "../render/value.ts";
import { skippedLine } from "../render/warnings.ts";
import { reportingFailures } from "../session/opening.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { COULD_NOT_LOOK, reportOf } from "./find.ts";
import { signalsOf } from "./run-cells.ts";

/** `belay search`: prints the places that fit the words best. Gives the exit code. */
export function searchCommand(args: Arguments, host: Host, own: SearchFlags): Promise<number> {
  return untilStopped((stop) => searchUntil(stop, args, host, own));
}

async function searchUntil(stop: Stop, args: Arguments, host: Host, { hits: most = 10 }: SearchFlags): Promise<number> {
  const terminal = processTerminal(stop.close);
  const wanted = lookedFor(args, "search", "search word");
  const isJson = args.get(JSON_OUTPUT);
  const report = reportOf(isJson, terminal);
  const flags = { ...sessionFlags(args, "search"), store: null };
  let code = COULD_NOT_LOOK;
  await reportingFailures(stop, report.failure, async (open) => {
    const opened = await open({ flags, host, terminal });
    const { session, progress } = opened;
    progress.begin();
    for (const source of await lookedIn(wanted, stop.signal)) {
      const options = { signal: stop.signal, roots: rootsOf(wanted) };
      await (session.stats() ? session.loadAppend(source, options) : session.load(source, options));
    }
    const cell = `search(${JSON.stringify(wanted.text)}, ${most})`;
    const envelope = await session.exec(cell, signalsOf(opened, stop));
    progress.end();
    const { stats } = session;
    const skipped = skippedLine(stats()?.skipped ?? { count: 0, files: [] }, args.get(VERBOSE));
    if (skipped !== null && !args.get(QUIET)) terminal.stderr.write(`${skipped}\n`, "dim");
    if (!envelope.success) {
      const { error_code, error_message, suggestion } = envelope;
      throw new RlmError(error_code, error_message, { suggestion });
    }
    const found = hitsIn(envelope.result_json);
    const print = isJson ? jsonHit : placeLine;
    terminal.stdout.writeRaw(found.map((hit) => `${print(hit, terminal.stdout)}\n`).join(""));
    code = found.length > 0 ? 0 : 1;
    return code;
  });
  return stop.exitCode ?? code;
}

const jsonHit = ({ id, line, score, chunk }: Hit) => jsonText({ path: id, line, score, text: chunk });
