import { type Json, LIMITS, RlmError, readGuestFile, THINKING } from "../../runtime/index.ts";
import type { WorkflowScript } from "./script.ts";

/** Settings of a run that its script sees. */
export interface WorkflowSettings {
  /** undefined: the script has none. */
  readonly args?: Json | undefined;
  /** Names of the agents that calls may name. */
  readonly agents?: readonly string[] | undefined;
  /** The agent of calls that name none; null: the session's model. */
  readonly usual?: string | null | undefined;
  /** Models of the session by the short names that scripts use. */
  readonly aliases?: Readonly<Record<string, string>> | undefined;
  /** The user has set a ceiling of tokens: the script sees it. */
  readonly tokens?: boolean | undefined;
  /** The user has set a ceiling of dollars: the script sees it. */
  readonly dollars?: boolean | undefined;
  /** The program lends `workflow_source`. */
  readonly nested?: boolean | undefined;
}

/** The cell of a run. It begins with what was asked for; the settings of now follow. */
export interface WorkflowCell {
  readonly source: string;
  /** The script, its args and its agent: a cell that begins with it is the same run. */
  readonly asked: string;
}

/** Names that a script has. */
const NAMES = ["agent", "parallel", "pipeline", "phase", "log", "budget", "workflow", "args"];

/**
 * Makes the cell that runs a script. Lines of the script are those of its file.
 *
 * @throws RlmError `invalid_argument` if the script and its args are too large for a cell
 */
export function workflowCell(script: WorkflowScript, settings: WorkflowSettings = {}): WorkflowCell {
  const { meta, body, isTypeScript } = script;
  const { args, usual = null, agents = [], aliases = {}, tokens = false, dollars = false, nested = false } = settings;
  const given = {
    agents,
    aliases,
    tokens,
    dollars,
    nested,
    names: NAMES,
    items: LIMITS.workflowItems,
    efforts: THINKING,
    isTypeScript,
    usesArgs: /\bargs\b/.test(body),
  };
  // Lists show how a cell begins.
  const about = `workflow ${meta.name}: ${meta.description}`.replaceAll(/\s+/g, " ").replaceAll("*/", "* /");
  // The second brace lets a script declare a name that it has already, such as `log`.
  const run = `async (${NAMES.join(", ")}) => {{${body}\n}}`;
  const asked = `/* ${about} */ result = await run_workflow(${run}, ${literal({ args, usual })});\n`;
  const prelude = readGuestFile(new URL("./prelude.guest.js", import.meta.url));
  const filled = prelude.replace("SETTINGS;", () => `${literal(given)};`);
  // Frames of what is evaluated are in no traceback: errors and calls have the places of the script.
  const source = `${asked}function run_workflow(...given) { return (0, eval)(${JSON.stringify(filled)})(...given); }\n`;
  const bytes = Buffer.byteLength(source);
  if (bytes <= LIMITS.sourceBytes) return { source, asked };
  throw new RlmError(
    "invalid_argument",
    `the script and its args have ${Math.ceil(bytes / 1024)} KB (limit ${LIMITS.sourceBytes / 1024} KB)`,
    { suggestion: "Pass less in args, such as the name of a file that agents read." },
  );
}

/** JSON as code: `__proto__` is a key like any other. */
const literal = (value: object) => `JSON.parse(${JSON.stringify(JSON.stringify(value))})`;
