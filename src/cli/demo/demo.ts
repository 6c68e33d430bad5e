import { realpathSync } from "node:fs";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { jsonText } from "../../platform/visible.ts";
import type { DemoFlags } from "../commands/demo.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import type { Host } from "../host.ts";
import { reportFailure } from "../render/failure.ts";
import { processTerminal } from "../render/terminal.ts";
import { untilStopped } from "../stop.ts";
import { play, playAsk } from "./play.ts";

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
      using temporary = temporaryFolder("belay-demo-");
      stop.leaving.after(async () => temporary[Symbol.dispose]());
      const stage = { folder: realpathSync(temporary.path), host, stop, output };
      const found = await (ask ? playAsk(stage) : play(stage));
      if (isJson) terminal.stdout.writeRaw(`${jsonText({ success: true, ...found })}\n`);
      return 0;
    } catch (error) {
      if (stop.signal.aborted) {
        if (stop.exitCode) terminal.stderr.write("stopped; nothing of the demo is left\n");
        return stop.exitCode ?? 1;
      }
      return reportFailure(error, terminal, isJson);
    }
  });
}
