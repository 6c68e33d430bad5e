import { meantBy } from "../../platform/nearest.ts";
import { typedPath } from "../../platform/typed-path.ts";
import { showAsk } from "../render/ask.ts";
import { inConversation, showOutcome } from "../render/envelope.ts";
import type { Terminal } from "../render/terminal.ts";
import { openDelivery } from "../running/delivery.ts";
import type { CliSession } from "../session/session.ts";
import { contextLine, type DotHelp, showHelp, showHelpers, showMemory, showPlace, showStats } from "./show.ts";

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
