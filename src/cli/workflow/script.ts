import { existsSync } from "node:fs";
import { LIMITS } from "../../../runtime/index.ts";
import { type Json, RlmError } from "../../index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { givenJson } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { meantBy } from "../../platform/nearest.ts";
import { statsOf } from "../../platform/paths.ts";
import { inLine } from "../../platform/visible.ts";
import {
  type FoundWorkflow,
  refuseUntrusted,
  savedWorkflow,
  trustWorkflow,
  type WorkflowCell,
  type WorkflowScript,
  workflowAt,
  workflowCell,
} from "../../workflow/index.ts";
import type { WorkflowFlags } from "../commands/workflow.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { readSettings, settingsFromFiles } from "../session/settings.ts";
import { workflowPlaces } from "../session/workflow-options.ts";

/** A script that the user named, and its file as messages name it. */
export interface NamedScript {
  readonly script: WorkflowScript;
  /** Absolute. */
  readonly file: string;
  readonly shown: string;
}

/**
 * The script of a file, or a saved workflow. A file that the user names runs; a project's workflow
 * runs by its name once the user has trusted its text.
 *
 * @throws RlmError
 */
export function scriptNamed(named: string, { trust = false }: WorkflowFlags): NamedScript {
  const places = workflowPlaces(process.cwd());
  const isFile = isScriptFile(named);
  const found: FoundWorkflow = isFile ? workflowAt(places, named) : savedWorkflow(places, named);
  if (trust) trustWorkflow(places, found);
  else if (!isFile) refuseUntrusted(found);
  return { script: found.script, file: found.file, shown: isFile ? named : found.file };
}

/** True for the path of a script. The name of a saved workflow has no ending. */
const isScriptFile = (named: string) =>
  /\.[cm]?[jt]s$/.test(named) || (named.includes("/") && existsSync(named) && statsOf(named)?.isFile() === true);

/** The cell of a run. @param say tells the user what was changed in args @throws RlmError */
export function cellOf(
  script: WorkflowScript,
  flags: SessionFlags,
  { args, agent }: WorkflowFlags,
  say: (line: string) => void,
): WorkflowCell {
  const { agents = {}, agent_models: aliases = {} } = settingsFromFiles("agents", "agent_models");
  const { max_tokens, max_cost_usd } = readSettings(flags);
  const known = Object.keys(agents);
  if (agent !== undefined && !known.includes(agent)) throw unknownAgent(agent, known);
  return workflowCell(script, {
    args: args === undefined ? undefined : argsIn(args, say),
    agents: known,
    usual: agent ?? null,
    aliases,
    nested: true,
    tokens: max_tokens !== undefined,
    dollars: max_cost_usd !== undefined,
  });
}

/** The refusal of an agent that the user's configuration does not have. */
export function unknownAgent(agent: string, known: readonly string[]): RlmError {
  const problem = `the agent ${agent} is not in \`agents\` of your configuration${meantBy(agent, known)}`;
  const entry = `Write it into ~/.belay/config.json: { "agents": { "${agent}": { "command": ["${agent}", …] } } }`;
  const init = "`belay workflow --init claude|codex|pi` writes the entry of a known one.";
  const suggestion = known.length > 0 ? `Agents are ${known.join(", ")}.` : `${entry}; ${init}`;
  return new RlmError("invalid_argument", problem, { suggestion });
}

/**
 * The value of --args: JSON, a file with JSON, or a text. Numbers that JavaScript would round are
 * passed as texts, and told.
 *
 * @throws RlmError `invalid_argument`
 */
function argsIn(typed: string, say: (line: string) => void): Json {
  const isFile = typed.startsWith("@");
  const text = isFile ? textOf(typed.slice(1)) : typed;
  try {
    const { json, asText } = givenJson(text);
    for (const field of asText)
      say(`args${field === "" ? "" : `.${field}`} is passed as a text: JavaScript would round it`);
    return JSON.parse(json);
  } catch (error) {
    // A text that begins as JSON does was meant to be JSON.
    if (!isFile && !/^\s*[[{"]/.test(typed)) return typed;
    const what = isFile ? inLine(typed.slice(1)) : "--args";
    throw new RlmError("invalid_argument", `${what} cannot be read as JSON: ${messageOf(error)}`, {
      suggestion: 'Quote it for the shell, --args \'{"files": ["a.ts"]}\', or write it into a file: --args @FILE.',
    });
  }
}

function textOf(file: string): string {
  const read = readBoundedFile(file, { maxBytes: LIMITS.sourceBytes, followsLink: true });
  if (read && "text" in read) return read.text.replace(/^\ufeff/, "");
  const suggestion = "Name a file that has the args as JSON: --args @FILE.";
  throw new RlmError("invalid_argument", `${inLine(file)} ${read?.problem ?? "does not exist"}`, { suggestion });
}
