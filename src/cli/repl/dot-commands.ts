import { builtins } from "../../../builtins/index.ts";
import type { Json, Session } from "../../index.ts";
import { amount } from "../../platform/figures.ts";
import { displayName } from "../../platform/ids.ts";
import { jsonOf } from "../../platform/json.ts";
import { meantBy } from "../../platform/nearest.ts";
import { typedPath } from "../../platform/typed-path.ts";
import { showAsk } from "../render/ask.ts";
import { firstWords } from "../render/calls.ts";
import { inConversation, showOutcome } from "../render/envelope.ts";
import { paragraph, table } from "../render/table.ts";
import type { Output, Terminal } from "../render/terminal.ts";
import { showValue } from "../render/value.ts";
import { openDelivery } from "../running/run-cells.ts";
import type { CliSession } from "../session/session.ts";

/** The session, terminal and settings that a dot-command works with. */
export interface DotScope {
  readonly opened: CliSession;
  readonly terminal: Terminal;
  /** Aborts on Ctrl-C. */
  readonly signal: AbortSignal;
  readonly quiet: boolean;
}

/** A line of the REPL that is for the REPL itself. An argument in brackets may be left out. */
interface DotCommand extends DotHelp {
  /** Gives what is wrong with the line, or undefined. @throws RlmError */
  run(argument: string, scope: DotScope): Promise<string | undefined>;
}

const COMMANDS: readonly DotCommand[] = [
  {
    name: "help",
    argument: "[NAME]",
    summary: "this list, or what a builtin does",
    run: async (name, { terminal }) => showHelp(name, DOT_COMMANDS, terminal.stdout),
  },
  {
    name: "load",
    argument: "PATH",
    summary: "load a file or folder as the context; variables, helpers and memory are reset",
    run: (path, scope) => load(path, "load", scope),
  },
  {
    name: "append",
    argument: "PATH",
    summary: "add a file or folder to the context; everything else stays",
    run: (path, scope) => load(path, "append", scope),
  },
  {
    name: "stats",
    argument: "",
    summary: "size and sources of the context, and which files were skipped",
    run: async (_argument, { opened, terminal }) => showStats(opened.session, terminal.stdout),
  },
  {
    name: "memory",
    argument: "[KEY]",
    summary: "what cells have put into memory",
    run: (key, { opened, terminal }) => showMemory(opened.session, terminal.stdout, key),
  },
  {
    name: "helpers",
    argument: "[NAME]",
    summary: "scripts that run before each cell",
    run: (name, { opened, terminal }) => showHelpers(opened.session, terminal.stdout, name),
  },
  {
    name: "session",
    argument: "",
    summary: "name of this session, and how to continue it later",
    run: async (_argument, { opened, terminal }) => showPlace(opened, terminal.stdout),
  },
  {
    name: "resume",
    argument: "",
    summary: "finish the cell that was interrupted in an earlier process",
    async run(_argument, { opened, terminal, signal }) {
      if (!opened.session.unfinished()) return NOTHING_UNFINISHED;
      opened.checkRecorded();
      await opened.accept();
      opened.progress.begin();
      const delivery = openDelivery(opened);
      const resumed = await opened.session.resume({ signal, ...opened.waiting, ...delivery.asked });
      const taken = opened.progress.end();
      if (resumed?.kind === "ask") {
        showAsk(resumed.envelope, terminal);
        return resumed.envelope.success ? undefined : "the ask that was resumed failed";
      }
      const envelope = resumed?.envelope;
      if (!envelope) return undefined;
      showOutcome(envelope, taken, terminal, inConversation(opened.limits, delivery.written()));
      return envelope.success || "answer" in envelope ? undefined : "the cell that was resumed failed";
    },
  },
  {
    name: "discard",
    argument: "",
    summary: "give up the cell that was interrupted; the state is that before it",
    async run(_argument, { opened }) {
      if (!opened.session.unfinished()) return NOTHING_UNFINISHED;
      await opened.session.discard();
      await opened.accept();
      return undefined;
    },
  },
];

const NOTHING_UNFINISHED = "nothing is unfinished";

/** All dot-commands. The loop itself obeys `.break` and `.exit`. */
export const DOT_COMMANDS: readonly DotHelp[] = [
  ...COMMANDS,
  { name: "break", argument: "", summary: "drop the cell that is being typed (so does Ctrl-C)" },
  { name: "exit", argument: "", summary: "end the session (so does Ctrl-D)" },
];

/** The commands as they are typed. */
export const DOT_NAMES: readonly string[] = DOT_COMMANDS.map(({ name }) => `.${name}`);

/** Runs a line such as `.load src`; gives what is wrong with it, or undefined. @throws RlmError */
export async function runDotCommand(line: string, scope: DotScope): Promise<string | undefined> {
  const [, name = "", argument = ""] = /^\.(\S*)\s*(.*?)\s*$/s.exec(line) ?? [];
  const command = COMMANDS.find((known) => known.name === name);
  if (!command) return `unknown command .${name}${meantBy(`.${name}`, DOT_NAMES) || "; .help lists the commands"}`;
  if (command.argument === "" && argument !== "") return `.${name} takes no argument`;
  if (argument === "" && /^[A-Z]/.test(command.argument)) return `type .${name} ${command.argument}`;
  return command.run(argument, scope);
}

async function load(argument: string, kind: "load" | "append", scope: DotScope): Promise<undefined> {
  // Stdin holds the cells, so `-` is a file of that name.
  const path = typedPath(argument, process.cwd());
  await scope.opened.load(path === "-" ? "./-" : path, kind, scope.signal);
  if (!scope.quiet) scope.terminal.stderr.write(`${contextLine(scope.opened.session)}\n`, "dim");
}

/** `34 documents, 132,432 characters (about 33,108 tokens)`. */
export function contextLine(session: Session): string {
  const stats = session.stats();
  if (!stats) return "no context is loaded; .load PATH loads one";
  const tokens = `about ${amount(stats.length_tokens_estimate, "token")}`;
  return `${amount(stats.document_count, "document")}, ${amount(stats.length_chars, "character")} (${tokens})`;
}

/** The context's facts as JSON. Gives a line if no context is loaded. */
function showStats(session: Session, output: Output): string | undefined {
  const stats = session.stats();
  if (!stats) return contextLine(session);
  const { reasons: _, ...skipped } = stats.skipped;
  showValue(jsonOf({ ...stats, skipped }), output);
  return undefined;
}

/** Prints the session's name, and the line that continues it. */
function showPlace({ session, kept, lineAbout }: CliSession, output: Output): undefined {
  if (!kept) output.write("this session is not kept; --session NAME keeps one\n");
  else output.write(`${displayName(session)}\n${lineAbout(["repl", "--session"])}\n`);
}

/** The value of a key of memory, or every key. Gives what is wrong with the key, or undefined. */
export async function showMemory({ memory }: Session, output: Output, key = ""): Promise<string | undefined> {
  const entries: Kept[] = [];
  for (const name of await memory.list()) {
    // Values may be large: those of other keys are not asked for.
    const value = key === "" || name === key ? await memory.get(name) : null;
    entries.push({ name, value, text: JSON.stringify(value) });
  }
  return showKept("key", key, entries, output, "memory is empty; a cell fills it with memory.put(key, value)");
}

/** The code of a helper, or every helper. Gives what is wrong with the name, or undefined. */
async function showHelpers({ helpers }: Session, output: Output, name: string): Promise<string | undefined> {
  const entries = (await helpers.list()).map(({ name, code, set_aside }): Kept => {
    return { name, value: code, text: `${set_aside === undefined ? "" : `(left out: ${set_aside}) `}${code}` };
  });
  return showKept(
    "helper",
    name,
    entries,
    output,
    "there are no helpers; a cell adds one with helpers.add(name, code)",
  );
}

/** Something that a session keeps by a name: its value, and the text whose beginning a list has. */
interface Kept {
  readonly name: string;
  readonly value: Json;
  readonly text: string;
}

/**
 * The value of this name; without a name a line for each, with the size and the beginning of its
 * text.
 */
function showKept(noun: string, name: string, kept: readonly Kept[], output: Output, none: string): string | undefined {
  const entry = kept.find((each) => each.name === name);
  if (name !== "") {
    if (!entry) return unknown(noun, name, kept);
    showValue(entry.value, output);
    return undefined;
  }
  if (kept.length === 0) output.write(`${none}\n`);
  const rows = kept.map(({ name, text }) => [name, amount(Buffer.byteLength(text), "byte"), firstWords(text)]);
  for (const line of table(rows, ["left", "right", "left"], output)) output.write(`${line}\n`);
  return undefined;
}

function unknown(noun: string, name: string, known: readonly { readonly name: string }[]): string {
  const names = known.map((each) => each.name);
  return `${noun} ${name} not found${meantBy(name, names)}`;
}

/** The help of a dot-command. */
interface DotHelp {
  readonly name: string;
  readonly argument: string;
  readonly summary: string;
}

/**
 * `.help`: what a builtin or a command does, or all of them. Gives what is wrong with the name, or
 * undefined.
 */
function showHelp(name: string, commands: readonly DotHelp[], output: Output): string | undefined {
  if (name === "") {
    output.write(overview(commands));
    return undefined;
  }
  const builtin = builtins.find((known) => known.name === name.replace(/[.(].*$/s, ""));
  const command = commands.find((known) => `.${known.name}` === name || known.name === name);
  if (!builtin && !command) return unknown("builtin or command", name, [...builtins, ...commands]);
  if (builtin) {
    const { signature, summary, types, example } = builtin;
    const parts = [signature, paragraph(summary, output.columns), ...(types ? [types] : [])];
    output.write(`${parts.join("\n\n")}\n\nexample:\n${example.replace(/^/gm, "  ")}\n`);
  } else if (command) {
    output.write(`.${command.name} ${command.argument}  ${command.summary}\n`);
  }
  return undefined;
}

/** Every dot-command and the signature of every builtin. */
function overview(commands: readonly DotHelp[]): string {
  const listed = commands.map(({ name, argument, summary }) => `  ${`.${name} ${argument}`.padEnd(17)}${summary}`);
  const signatures = builtins.flatMap(({ signature }) =>
    signature.split("\n").map((line) => `  ${line.replace(/^(function|const) /, "")}`),
  );
  return `${listed.join("\n")}

Everything else is JavaScript. Its builtins:
${signatures.join("\n")}

.help NAME explains one. Code with an open bracket continues on the next line; two empty lines run it.
`;
}
