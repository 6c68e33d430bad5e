import { parse, tokenizer } from "acorn";
import { looksTyped } from "../../../runtime/index.ts";
import type { ExecEnvelope } from "../../index.ts";
import { version } from "../../platform/version.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { sessionFlags } from "../flags/session-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { inConversation, showOutcome } from "../render/envelope.ts";
import { processTerminal } from "../render/terminal.ts";
import { hasLoss } from "../render/warnings.ts";
import { brief, closeWithGc, makeReady } from "../session/opening.ts";
import { openCliSession } from "../session/session.ts";
import { type Control, openControl } from "./control.ts";
import { contextLine, DOT_COMMANDS, type DotScope, runDotCommand } from "./dot-commands.ts";
import { FIRST_PROMPT, type Lines, openLines } from "./lines.ts";

/** `belay repl`: reads cells from a terminal, or from piped input. */
export async function replCommand(args: Arguments, host: Host): Promise<number> {
  const flags = sessionFlags(args, "repl");
  if (flags.contexts.includes("-")) {
    const line = commandLine(["exec", "-e", "stats()", "-c", "-"]);
    throw new UsageError("-c -: the REPL reads its cells from stdin; use belay exec", line);
  }
  using control = openControl(() => terminal);
  const terminal = processTerminal(control.end);
  const opened = await control.run(() => openCliSession({ flags, host, terminal }));
  if (!opened) return 1;
  control.leaving.after(async () => opened.kept?.store[Symbol.asyncDispose]());
  try {
    const isReady = await control.run(async (signal) => {
      await makeReady(opened, { flags }, signal);
      return true;
    });
    if (control.exitCode !== undefined || !isReady) return control.exitCode ?? 1;
    return await talk({ opened, terminal, control, quiet: flags.quiet });
  } finally {
    await closeWithGc(opened, control.exitCode !== undefined);
  }
}

async function talk(parts: Omit<Conversation, "lines">): Promise<number> {
  const { opened, terminal, control } = parts;
  const { session } = opened;
  using lines = openLines(control);
  const unfinished = session.unfinished();
  if (lines.isInteractive) {
    terminal.stdout.write(`belay ${version()}: ${contextLine(session)}\n`);
    terminal.stdout.write(".help shows the builtins and commands, Ctrl-D ends\n", "dim");
  }
  if (unfinished) {
    const what = `unfinished ${unfinished.kind}: ${brief(unfinished.input)}`;
    terminal.stderr.write(`${what}\n.resume finishes it, .discard gives it up\n`, "yellow");
  }
  const outcome = await converse({ ...parts, lines });
  if (lines.isInteractive && opened.kept) {
    const line = opened.lineAbout(["repl", "--session"]);
    const how = session.name === null ? "kept for a day" : "kept";
    terminal.stdout.write(`${how}: ${line}\n`, "dim");
  }
  return control.exitCode ?? (lines.isInteractive ? 0 : outcome);
}

interface Conversation extends Omit<DotScope, "signal"> {
  readonly control: Control;
  readonly lines: Lines;
}

/**
 * An exit code of piped input: 1 if anything failed, 3 if something that was asked for is missing.
 */
type Outcome = 0 | 1 | 3;

const worse = (one: Outcome, other: Outcome): Outcome => (one === 1 || (one === 3 && other === 0) ? one : other);

const NEXT_PROMPT = "... ";

/** Reads and runs until the input ends. */
async function converse(conversation: Conversation): Promise<Outcome> {
  const { control, lines } = conversation;
  let typed: string[] = [];
  let outcome: Outcome = 0;
  for (;;) {
    const line = await lines.next(typed.length === 0 ? FIRST_PROMPT : NEXT_PROMPT);
    if (line === undefined) break;
    if (typeof line !== "string" || line.trim() === ".break") {
      typed = [];
      continue;
    }
    if (line.trim() === ".exit") return outcome;
    if (typed.length === 0 && line.trim() === "") continue;
    if (typed.length === 0 && /^\.[a-zA-Z]/.test(line)) {
      outcome = worse((await runDot(line, conversation)) ? 0 : 1, outcome);
      continue;
    }
    // One empty line may belong to a function that is pasted; two say that nothing more will come.
    const isClosed = line.trim() === "" && typed.at(-1)?.trim() === "";
    typed.push(line);
    if (!isClosed && isIncomplete(typed.join("\n"))) continue;
    const source = typed.join("\n");
    typed = [];
    outcome = worse(await runCell(source, conversation), outcome);
  }
  // Piped input that ends in the middle of a cell is told so by its syntax error.
  if (typed.length === 0 || lines.isInteractive || control.exitCode !== undefined) return outcome;
  return worse(await runCell(typed.join("\n"), conversation), outcome);
}

async function runDot(line: string, { opened, terminal, control, quiet }: Conversation): Promise<boolean> {
  const done = await control.run(async (signal) => ({
    problem: await runDotCommand(line, { opened, terminal, signal, quiet }),
  }));
  if (done?.problem) terminal.stderr.write(`${done.problem}\n`);
  return done !== undefined && done.problem === undefined;
}

async function runCell(source: string, { opened, terminal, control }: Conversation): Promise<Outcome> {
  opened.progress.begin();
  const envelope = await control.run((signal) => opened.session.exec(source, { signal, ...opened.waiting }));
  const taken = opened.progress.end();
  // The reader of stdout has gone.
  if (control.exitCode === 0 || !envelope) return 1;
  showOutcome(envelope, taken, terminal, inConversation(opened.limits));
  const meant = dotCommandMeant(source, envelope);
  if (meant) terminal.stderr.write(`the REPL's own commands begin with a dot: .${meant}\n`);
  if (!envelope.success) return 1;
  return hasLoss(envelope.warnings, false) ? 3 : 0;
}

/** `exit` and the like, typed without their dot. */
function dotCommandMeant(source: string, envelope: ExecEnvelope): string | undefined {
  if (envelope.success || envelope.error_name !== "ReferenceError") return undefined;
  const word = /^\s*(\w+)\s*(?:\(\s*\))?\s*;?\s*$/.exec(source)?.[1];
  return word === "quit" ? "exit" : DOT_COMMANDS.find(({ name }) => name === word)?.name;
}

/**
 * True if the code of a cell is not complete: a bracket, template or comment is open, or an operand
 * is missing.
 */
export function isIncomplete(source: string): boolean {
  const asScript = problemOf(source);
  if (asScript === null) return false;
  if (!/^\s*\{/.test(source)) return asScript === "incomplete";
  // Code that begins with a brace may be an object, as in Node's REPL.
  const asObject = problemOf(`(${source}\n)`, 1);
  return asObject !== null && (asScript === "incomplete" || asObject === "incomplete");
}

/** @param closing characters after the source that close what was put before it */
function problemOf(source: string, closing = 0): "incomplete" | "wrong" | null {
  try {
    parse(source, {
      ecmaVersion: "latest",
      sourceType: "script",
      allowAwaitOutsideFunction: true,
      allowReturnOutsideFunction: true,
      allowHashBang: true,
    });
    return null;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (/^Unterminated (template|comment)/.test(error.message)) return "incomplete";
    const at = "pos" in error ? Number(error.pos) : 0;
    const isOpenString = /^Unterminated string/.test(error.message) && /\\$/.test(source);
    const isOpen = at >= source.length - closing || isOpenString || (looksTyped(source, at) && hasOpenBracket(source));
    return isOpen ? "incomplete" : "wrong";
  }
}

/**
 * True if a bracket of a source is open. It may be TypeScript, which acorn reads word by word
 * alone.
 */
function hasOpenBracket(source: string): boolean {
  let depth = 0;
  try {
    for (const { type } of tokenizer(source, { ecmaVersion: "latest" })) {
      if (["(", "[", "{", "${"].includes(type.label)) depth++;
      else if ([")", "]", "}"].includes(type.label)) depth--;
    }
  } catch (error) {
    return error instanceof SyntaxError && error.message.startsWith("Unterminated");
  }
  return depth > 0;
}
