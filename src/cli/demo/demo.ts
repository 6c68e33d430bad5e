import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RlmError } from "../../index.ts";
import { jsonText } from "../../platform/visible.ts";
import type { DemoFlags } from "../commands/demo.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import type { Host } from "../host.ts";
import { failureJson, showFailure } from "../render/failure.ts";
import { processTerminal } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";
import { type Asked, playAsk } from "./ask.ts";
import { type Found, play } from "./play.ts";

/**
 * `belay demo`: explores, asks a scripted model, kills the process with SIGKILL and resumes; with --ask a scripted model
 * answers a question. Gives the exit code.
 */
export function demoCommand(args: Arguments, host: Host, { ask = false }: DemoFlags): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    const isJson = args.get(JSON_OUTPUT);
    try {
      const output = isJson ? null : terminal.stdout;
      const found = await inFolder(stop, async (folder): Promise<Asked | Found> => {
        const stage = { folder, host, stop, output };
        return ask ? playAsk(stage) : play(stage);
      });
      if (isJson) terminal.stdout.writeRaw(`${jsonText({ success: true, ...found })}\n`);
      return 0;
    } catch (error) {
      if (stop.signal.aborted) {
        if (stop.exitCode) terminal.stderr.write("stopped; nothing of the demo is left\n");
        return stop.exitCode ?? 1;
      }
      if (!(error instanceof RlmError)) throw error;
      if (isJson) terminal.stdout.writeRaw(`${failureJson(error, null)}\n`);
      else showFailure(error, terminal);
      return 1;
    }
  });
}

/** Runs work in a temporary folder that is gone afterwards, however it ends. */
async function inFolder<T>(stop: Stop, work: (folder: string) => Promise<T>): Promise<T> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-demo-")));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  stop.leaving.after(async () => remove());
  try {
    return await work(folder);
  } finally {
    remove();
  }
}
