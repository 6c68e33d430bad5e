import type { Json } from "../../index.ts";
import { amount, duration } from "../../platform/figures.ts";
import { commandLine } from "../flags/usage.ts";
import { openScriptedModel } from "./model.ts";
import { MODEL, type Stage, say, showCommand, succeeded, writeLetters } from "./stage.ts";
import { LETTERS, QUESTION, scriptedReply } from "./text.ts";

/** What `belay demo --ask` found, as --json prints it. */
export interface Asked {
  readonly model: string;
  readonly question: string;
  readonly answer: Json;
  /** By the model's own count: turns and sub-calls. */
  readonly requests: number;
  readonly time_ms: number;
}

/** Has a scripted model answer a question about the letters by writing cells. Throws if it went otherwise than it should. */
export async function playAsk(stage: Stage): Promise<Asked> {
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
