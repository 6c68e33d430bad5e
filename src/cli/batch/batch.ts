import { RlmError } from "../../index.ts";
import { inLine } from "../../platform/visible.ts";
import type { BatchFlags } from "../commands/batch.ts";
import type { Arguments } from "../flags/arguments.ts";
import type { Host } from "../host.ts";
import { failureJson, showFailure } from "../render/failure.ts";
import { processTerminal, type Terminal } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { type AskedRun, askedRun } from "./asked.ts";
import { dryRunBatch } from "./dry-run.ts";
import { readJobs } from "./read-jobs.ts";
import { runBatch } from "./run-batch.ts";
import { readScript } from "./script.ts";
import { specOf } from "./spec.ts";

/** `belay batch`: submits a run, works on it, and ends with it. Gives the exit code. */
export function batchCommand(args: Arguments, host: Host, own: BatchFlags): Promise<number> {
  return untilStopped((stop) => reported(stop, args, host, own));
}

async function reported(stop: Stop, args: Arguments, host: Host, own: BatchFlags): Promise<number> {
  const terminal = processTerminal(stop.close);
  let asked: AskedRun | null = null;
  try {
    asked = await askedRun(args, own);
    return await batchUntil(asked, host, terminal, stop);
  } catch (error) {
    if (!(error instanceof RlmError)) {
      // Reading stdin that is aborted throws an error of its own.
      if (stop.signal.aborted) return 1;
      throw error;
    }
    if (asked?.json) terminal.stdout.writeRaw(`${failureJson(error, null)}\n`);
    else showFailure(error, terminal);
    return 1;
  }
}

async function batchUntil(asked: AskedRun, host: Host, terminal: Terminal, stop: Stop): Promise<number> {
  const script = await readScript(asked.script, stop.signal);
  await using read = await readJobs(asked, stop.signal);
  const spec = specOf(asked, script, read.mode);
  for (const left of read.leftOut.slice(0, LEFT_OUT_SHOWN)) terminal.stderr.write(`left out: ${inLine(left)}\n`, "dim");
  if (read.leftOut.length > LEFT_OUT_SHOWN) {
    terminal.stderr.write(`left out: ${read.leftOut.length - LEFT_OUT_SHOWN} more\n`, "dim");
  }
  const ready = { asked, spec, spooled: read.spool, host, terminal, stop };
  return await (asked.own.dryRun ? dryRunBatch(ready) : runBatch(ready));
}

const LEFT_OUT_SHOWN = 10;
