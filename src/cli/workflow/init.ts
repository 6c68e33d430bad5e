import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { RlmError } from "../../index.ts";
import type { AgentCommand } from "../../platform/agent-commands.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { errorCode, messageOf } from "../../platform/errors.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { startable } from "../../platform/programs.ts";
import { writeResultFile } from "../../platform/result-file.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import { readUserFile } from "../../settings/index.ts";
import { runWorkflow } from "../../workflow/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine } from "../flags/usage.ts";
import { ask, canAsk } from "../render/question.ts";
import type { Terminal } from "../render/terminal.ts";
import { configPlaces } from "../session/settings.ts";
import { showingFailures } from "../store/open-store.ts";
import { compactJson, withEntry } from "./config-entry.ts";
import { KNOWN_AGENTS, type KnownName } from "./known-agents.ts";

/** The entry of an agent in the user's configuration, and whether its program answers. */
interface Init {
  readonly agent: KnownName;
  readonly file: string;
  /** It was there before, and is as it was. */
  readonly was_there: boolean;
  readonly entry: AgentCommand;
  /** The program's own words for its version; null: it cannot be started, or failed. */
  readonly version: string | null;
  readonly problem: string | null;
  readonly notes: readonly string[];
}

/**
 * `belay workflow --init NAME`: writes the entry of a program into the user's configuration, unless
 * it has one, and asks the program for its version, which costs nothing.
 *
 * @throws RlmError `invalid_config` for a file that cannot be read, `output_failed`
 */
async function initAgent(agent: KnownName): Promise<Init> {
  const { userFile: file } = configPlaces();
  const { agents = {} } = readUserFile(file);
  const was_there = Object.hasOwn(agents, agent);
  const { entry: usual, notes } = KNOWN_AGENTS[agent];
  const entry = agents[agent] ?? usual;
  if (!was_there) await write(file, agent, entry);
  const tried = await versionOf(entry.command[0] ?? agent);
  return { agent, file, was_there, entry, ...tried, notes: was_there ? [] : notes };
}

/** Adds the entry. Whole or not at all, and a link in the file's place stays one. */
async function write(file: string, agent: string, entry: AgentCommand): Promise<void> {
  const read = readBoundedFile(file, { maxBytes: 2 ** 20, followsLink: true });
  const there = read && "text" in read ? read.text : "{}\n";
  const text = withEntry(there.replace(/^\ufeff/, ""), "agents", agent, entry);
  makeFolder(dirname(file));
  await writeResultFile(file, [text], "init", read ? undefined : 0o600);
}

const TRIAL_MS = 15_000;

/** The first line that the program prints with `--version`. */
async function versionOf(program: string): Promise<Pick<Init, "version" | "problem">> {
  try {
    const [file = "", ...words] = startable([program, "--version"], process.env);
    const { stdout, stderr } = await promisify(execFile)(file, words, { timeout: TRIAL_MS });
    const [line = ""] = `${stdout}${stderr}`.trim().split("\n", 1);
    return { version: line.slice(0, 200), problem: null };
  } catch (error) {
    const isMissing = errorCode(error) === "ENOENT";
    const [why = ""] = messageOf(error).split("\n", 1);
    const problem = isMissing ? `${program} was not found` : `${program} --version failed: ${why}`;
    return { version: null, problem };
  }
}

/** The failure of an entry whose program does not answer. */
function failureOf({ agent, problem, was_there }: Init): RlmError {
  const written = was_there ? "" : "; its entry is written";
  const suggestion = `Install ${agent}, or correct its command; \`${commandLine(["workflow", "--init", agent])}\` tries it again.`;
  const what = `the agent ${agent} cannot be used yet: ${problem}${written}`;
  return new RlmError("no_model_configured", what, { suggestion });
}

/** `belay workflow --init NAME`. Gives the exit code: 1 if the program cannot be started. */
export function initCommand(args: Arguments, agent: KnownName): Promise<number> {
  return showingFailures(args, async (terminal) => {
    const init = await initAgent(agent);
    if (args.get(OUTPUT_FLAGS.json)) {
      if (init.problem === null) return terminal.stdout.json({ success: true, ...init });
      throw failureOf(init);
    }
    show(init, terminal);
    if (init.problem !== null) throw failureOf(init);
    await offerQuestion(init, terminal);
  });
}

/** Tells people what was written, and how to go on. */
function show({ agent, file, was_there, entry, version, notes }: Init, { stdout }: Terminal): void {
  const there = `${inLine(file)} has the agent ${agent} already, and stays as it is`;
  stdout.write(`${was_there ? there : `wrote the agent ${agent} into ${inLine(file)}`}:\n`);
  stdout.write(`${compactJson({ [agent]: entry }, "  ")}\n`);
  for (const note of notes) stdout.line(`- ${note}`, "dim");
  if (version === null) return;
  stdout.line(`${agent} --version: ${version}`);
  stdout.line(`run a workflow with it: ${commandLine(["workflow", "FILE", "--agent", agent])}`);
}

/** Asks the agent one small question, after a yes on a terminal. It costs what the agent takes. */
async function offerQuestion({ agent, entry }: Init, { stdout, stderr }: Terminal): Promise<void> {
  if (!canAsk(stderr)) return;
  const { signal } = new AbortController();
  const typed = await ask(`ask ${agent} one small question, which may cost something? [y/N] `, stderr, signal);
  if (typed !== "y" && typed !== "yes") return;
  const answer = await runWorkflow(TRIAL, { agents: { [agent]: entry }, agent });
  if (answer.success && answer.result_json !== null) stdout.line(`${agent} answered: ${jsonText(answer.result_json)}`);
  else {
    const why = answer.success ? answer.stderr.trim() : answer.error_message;
    throw new RlmError("sub_agent_error", `the agent ${agent} gave no answer: ${why}`, {
      suggestion: `Try its command in a shell; the entry is in \`agents\` of ~/.belay/config.json.`,
    });
  }
}

const TRIAL = `export const meta = { name: "trial", description: "one small question" };
return await agent("Reply with the word OK, and do nothing else.");`;
