import { realpathSync } from "node:fs";
import { amount, duration } from "../../platform/figures.ts";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { jsonText } from "../../platform/visible.ts";
import type { DemoFlags } from "../commands/demo.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { reportFailure } from "../render/failure.ts";
import { processTerminal } from "../render/terminal.ts";
import { untilStopped } from "../stop.ts";
import { openScriptedModel } from "./model.ts";
import { play } from "./play.ts";
import { MODEL, type Stage, say, showCommand, succeeded, writeLetters } from "./stage.ts";
import { LETTERS, QUESTION, scriptedReply } from "./text.ts";

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

/**
 * Lets a scripted model answer a question about the letters by writing cells. Gives its findings, as --json prints them; its
 * requests are turns and sub-calls. Throws if it goes wrong.
 */
async function playAsk(stage: Stage) {
  const began = performance.now();
  const { folder, output } = stage;
  writeLetters(folder);
  await using model = await openScriptedModel(scriptedReply);
  model.allow(Number.POSITIVE_INFINITY);
  say("Belay asks a model, which answers by writing cells.", output, "bold");
  say(INTRODUCTION, output);
  say("", output);
  const named = ["--model", MODEL, "--base-url", model.url];
  const answer = await succeeded(
    ["ask", QUESTION, "-c", "letters", "--session", "letters", "--verbose", ...named],
    stage,
  );
  say("\nIts variables are still there:", output);
  await succeeded(["exec", "--session", "letters", "-e", "complaints.map(({ id }) => id)"], stage);
  const time_ms = Math.round(performance.now() - began);
  const counted = `The model counted ${amount(model.requests, "request")}: 3 turns, and a sub-call for each letter.`;
  say(`\n${counted} That took ${duration(time_ms)}, and nothing of it is left. Now with files of your own:`, output);
  showCommand(commandLine(["ask", "QUESTION", "-c", "FOLDER", "--model", "PROVIDER/ID"]), output);
  return { model: MODEL, question: QUESTION, answer, requests: model.requests, time_ms };
}

const INTRODUCTION = `The context is ${Object.keys(LETTERS).length} short letters in a temporary folder. The model is scripted: it always writes the cells that follow, and goes by words when it reads a letter. A real one finds its own way.`;
