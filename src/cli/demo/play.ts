import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { entryUrl } from "../../entries.ts";
import { describeExecs } from "../../history/index.ts";
import type { ExecDescription, Json } from "../../index.ts";
import { amount, duration } from "../../platform/figures.ts";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { onceAborted } from "../../platform/signals.ts";
import type { Store } from "../../store/index.ts";
import type { Host } from "../commands/define.ts";
import type { DemoFlags } from "../commands/demo.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { reportFailure } from "../render/failure.ts";
import { paragraph } from "../render/table.ts";
import { type Output, processTerminal, type Style } from "../render/terminal.ts";
import { type Stop, untilStopped } from "../stop.ts";
import {
  ASK,
  EXPLORE,
  LETTERS,
  openScriptedModel,
  QUESTION,
  RECORDED,
  type ScriptedModel,
  scriptedAnswer,
  scriptedReply,
} from "./model.ts";

/**
 * `belay demo`: explores, asks a scripted model, kills the process with SIGKILL and resumes; with
 * --ask a scripted model answers a question.
 */
export function demoCommand(args: Arguments, host: Host, { ask = false }: DemoFlags): Promise<number> {
  return untilStopped(async (stop) => {
    const terminal = processTerminal(stop.close);
    const isJson = args.get(OUTPUT_FLAGS.json);
    try {
      const output = isJson ? null : terminal.stdout;
      using temporary = temporaryFolder("belay-demo-");
      stop.leaving.after(async () => temporary[Symbol.dispose]());
      const stage = { folder: realpathSync(temporary.path), host, stop, output };
      const findings = await (ask ? playAsk(stage) : play(stage));
      if (isJson) terminal.stdout.json({ success: true, ...findings });
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

const COUNT = Object.keys(LETTERS).length;

/**
 * Plays the demo in three acts. Gives its findings, as --json prints them. Throws if one went
 * wrong.
 */
async function play(stage: Stage) {
  const began = performance.now();
  const { folder, host, output } = stage;
  writeLetters(folder);
  writeFileSync(join(folder, "ask.js"), ASK);
  await using model = await openScriptedModel(scriptedAnswer);
  await using store = await host.openStore(join(folder, "home"));
  say("Belay explores, asks a model, is killed with kill -9, and resumes.", output, "bold");
  say(INTRODUCTION, output);

  say("\n1. Explore: a cell of JavaScript, without a model", output, "bold");
  const explored = await succeeded(["exec", "-c", "letters", "-e", EXPLORE], stage);

  say("\n2. Ask about every letter, and kill the process in the middle", output, "bold");
  const killed = await askAndKill(stage, model, store);

  say("\n3. Resume in a new process", output, "bold");
  const before = model.requests;
  // Requests of the killed process wait too: no number would be enough for certain.
  model.allow(Number.POSITIVE_INFINITY);
  const result_json = await succeeded(["resume", "demo"], stage);
  const { calls } = await lastExec(store);
  const sent_again = calls.filter(({ resent }) => resent > 0).length;
  const { requests } = model;
  const counted = `The model counted ${requests} requests: ${before} before the kill, ${requests - before} after it.`;
  const again = `${amount(sent_again, "question")} that had no answer ${sent_again === 1 ? "was" : "were"} sent again.`;
  say(`${amount(killed.recorded, "recorded answer")} came from the journal. ${again} ${counted}`, output, "green");
  const isSound = requests - before === sent_again && calls.every(({ status }) => status === "ok");
  if (!isSound) throw broken("the journal and the model disagree");
  const time_ms = Math.round(performance.now() - began);
  say(`\nThat took ${duration(time_ms)}, and nothing of it is left. Now with files of your own:`, output);
  showCommand(commandLine(["exec", "-c", "FOLDER", "-e", "stats()"]), output);
  return {
    model: MODEL,
    explored,
    killed: { pid: killed.pid, signal: "SIGKILL" },
    sub_calls: calls.length,
    /** Answers in the journal when the process was killed, and calls that the resume sent again. */
    recorded: killed.recorded,
    sent_again,
    /** Requests by the model's own count, over both processes. */
    requests,
    result_json,
    time_ms,
  };
}

const INTRODUCTION = `It works on ${COUNT} short letters in a temporary folder. The model is scripted: a part of this command that goes by words. It needs no key and no network, and it is not clever.`;

/** The time between two looks at the journal, ms. */
const LOOK_MS = 20;

/**
 * Starts the cell that asks, and kills its process as soon as the journal has some of the answers.
 */
async function askAndKill({ folder, stop, output }: Stage, model: ScriptedModel, store: Store) {
  const ask = ["exec", "ask.js", "-c", "letters", "--session", "demo", "--concurrency", String(COUNT)];
  const args = [...ask, "--model", MODEL, "--base-url", model.url];
  showCommand("cat ask.js", output);
  output?.write(ASK);
  showCommand(commandLine(args), output);
  model.allow(RECORDED);
  const { child, ended } = startBelay(args, folder, stop.signal);
  let isOver = false;
  const over = ended.finally(() => {
    isOver = true;
  });
  while (!isOver && (model.requests < COUNT || (await recordedIn(store)) < RECORDED)) await setTimeout(LOOK_MS);
  child.kill("SIGKILL");
  const { code, stdout, stderr } = await over;
  stop.signal.throwIfAborted();
  if (code !== null) throw broken(`it ended with ${code} before it was killed: ${stderr || stdout}`);
  const { calls } = await lastExec(store);
  const recorded = calls.filter(({ status }) => status === "ok").length;
  showCommand(`kill -9 ${child.pid}`, output);
  const has = `The journal has ${amount(calls.length, "question")} and ${amount(recorded, "answer")}`;
  say(`${has}; ${calls.length - recorded} questions were in flight.`, output, "green");
  return { pid: child.pid, recorded };
}

/** Answers that the journal has; 0 before the session is there. */
async function recordedIn(store: Store): Promise<number> {
  return (await journalOf(store)).filter(({ record }) => record === "rlm_tool_result").length;
}

async function lastExec(store: Store): Promise<ExecDescription> {
  const last = describeExecs(await journalOf(store)).at(-1);
  if (!last) throw broken("the session is not in the store");
  return last;
}

async function journalOf(store: Store) {
  const row = await store.find("demo");
  return row ? (await store.journal(row.id)).map(({ record }) => record) : [];
}

/**
 * Lets a scripted model answer a question about the letters by writing cells. Gives its findings,
 * as --json prints them; its requests are turns and sub-calls. Throws if it goes wrong.
 */
async function playAsk(stage: Stage) {
  const began = performance.now();
  const { folder, output } = stage;
  writeLetters(folder);
  await using model = await openScriptedModel(scriptedReply);
  model.allow(Number.POSITIVE_INFINITY);
  say("Belay asks a model, which answers by writing cells.", output, "bold");
  say(INTRODUCTION_OF_ASK, output);
  say("", output);
  const named = ["--session", "letters", "--verbose", "--model", MODEL, "--base-url", model.url];
  const answer = await succeeded(["ask", QUESTION, "-c", "letters", ...named], stage);
  say("\nIts variables are still there:", output);
  await succeeded(["exec", "--session", "letters", "-e", "complaints.map(({ id }) => id)"], stage);
  const time_ms = Math.round(performance.now() - began);
  const counted = `The model counted ${amount(model.requests, "request")}: 3 turns, and a sub-call for each letter.`;
  say(`\n${counted} That took ${duration(time_ms)}, and nothing of it is left. Now with files of your own:`, output);
  showCommand(commandLine(["ask", "QUESTION", "-c", "FOLDER", "--model", "PROVIDER/ID"]), output);
  return { model: MODEL, question: QUESTION, answer, requests: model.requests, time_ms };
}

const INTRODUCTION_OF_ASK = `The context is ${COUNT} short letters in a temporary folder. The model is scripted: it always writes the cells that follow, and goes by words when it reads a letter. A real one finds its own way.`;

/** The store and terminal of a demo. */
interface Stage {
  /** Gets the letters, the cell and the store. */
  readonly folder: string;
  readonly host: Host;
  readonly stop: Stop;
  /** null: nothing is told while it runs. */
  readonly output: Output | null;
}

/** The name under which the scripted model is asked. */
const MODEL = "scripted/reader";

function writeLetters(folder: string): void {
  mkdirSync(join(folder, "letters"));
  for (const [name, text] of Object.entries(LETTERS)) writeFileSync(join(folder, "letters", name), `${text}\n`);
}

/**
 * Runs a command to its end, which must be a success; shows it and what it printed. Gives its
 * result.
 */
async function succeeded(args: readonly string[], { folder, stop, output }: Stage): Promise<Json> {
  showCommand(commandLine(args), output);
  const { code, stdout, stderr } = await startBelay(args, folder, stop.signal).ended;
  stop.signal.throwIfAborted();
  if (code !== 0) throw broken(`\`${commandLine(args)}\` ended with ${code}: ${stderr || stdout}`);
  output?.write(stderr, "dim");
  output?.write(stdout);
  return JSON.parse(stdout);
}

function showCommand(line: string, output: Output | null): void {
  output?.write(`$ ${line}\n`, "cyan");
}

const WIDEST = 100;

function say(text: string, output: Output | null, style?: Style): void {
  output?.write(`${paragraph(text, Math.min(output.columns, WIDEST))}\n`, style);
}

function broken(problem: string): Error {
  return new Error(`the demo did not come to its end: ${problem}`);
}

/**
 * Starts `belay` with these arguments in the demo's folder. It is killed when the signal aborts.
 * `ended` has its output and its exit code, which is null if a signal ended it.
 */
function startBelay(args: readonly string[], folder: string, signal: AbortSignal) {
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(entryUrl("cli/main")), ...args], {
    cwd: folder,
    env: environment(folder),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const kill = () => child.kill("SIGKILL");
  const callOff = onceAborted(signal, kill);
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    .then(([stdout, stderr]) => ({ code: child.exitCode, stdout, stderr }))
    .finally(callOff);
  return { child, ended };
}

const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];

/** The user's settings, sessions, keys and proxies have nothing to do with the demo. */
function environment(folder: string): NodeJS.ProcessEnv {
  const isKept = (name: string) => !name.startsWith("BELAY_") && !PROXIES.includes(name.toUpperCase());
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => isKept(name))),
    BELAY_HOME: join(folder, "home"),
    XDG_CONFIG_HOME: join(folder, "config"),
    PI_CODING_AGENT_DIR: join(folder, "pi"),
  };
}
