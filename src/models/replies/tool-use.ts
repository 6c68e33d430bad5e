import type { Json } from "../../../runtime/index.ts";
import { unheld } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { isRecord } from "../../platform/json.ts";
import { mayPrintOtherwise, propertiesIn, propertiesWritten, readJson } from "../../platform/written-json.ts";
import type { ToolSpec, ToolUse } from "../port.ts";

/** A tool call as a server or a program gave it. */
export interface GivenUse {
  readonly id: unknown;
  readonly name: unknown;
  /** An object, or its JSON. */
  readonly arguments: unknown;
  /** The arguments as they were sent. Absent: only their value is known. */
  readonly text?: string | undefined;
  /** The reason why an earlier reading of the arguments failed. */
  readonly problem?: string | undefined;
}

type Tools = readonly Pick<ToolSpec, "name">[];

/**
 * The tool calls of a reply as they are recorded. Ids are texts that differ, names are those of the
 * tools, and arguments are an object. Arguments that cannot be read are empty, and `problem` says
 * why.
 */
export function toolUses(given: readonly GivenUse[], tools: Tools): readonly ToolUse[] {
  const taken = new Set<string>();
  return given.map((use, at) => {
    let id = typeof use.id === "string" || typeof use.id === "number" ? String(use.id) : "";
    while (id === "" || taken.has(id)) id += `#${at}`;
    taken.add(id);
    return { id, name: toolName(use.name, tools), ...readArguments(use) };
  });
}

/**
 * The name of the tool that a call means. Servers leave frames at names: `functions.NAME`,
 * `NAME:0`, `NAME<|channel|>json`.
 */
export function toolName(given: unknown, tools: Tools): string {
  const name = typeof given === "string" ? given.trim() : "";
  const [bare = ""] = name
    .replace(/^(?:functions|default_api|tools)[.:]/, "")
    .replace(/:\d{1,9}$/, "")
    .split("<|", 1);
  if (tools.some((tool) => tool.name === bare.trim())) return bare.trim();
  // Providers refuse a conversation that holds an empty or odd name.
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "unnamed";
}

function readArguments({ arguments: given = {}, text, problem }: GivenUse): Pick<ToolUse, "arguments" | "problem"> {
  if (problem !== undefined) return { arguments: {}, problem };
  try {
    // A call without arguments has no text. Some servers send the JSON of the JSON.
    const once = decoded(text?.trim() ? text : given);
    const value = decoded(once);
    if (isArguments(value)) return { arguments: value };
    return { arguments: {}, problem: `its arguments are ${kindOf(once)}, not a JSON object` };
  } catch (error) {
    const why = error instanceof UnclearJson ? error.message : `are not valid JSON: ${messageOf(error)}`;
    return { arguments: {}, problem: `its arguments ${why}` };
  }
}

/** JSON whose value would not be what was written. The message is a clause without its subject. */
class UnclearJson extends SyntaxError {}

const decoded = (value: unknown): unknown => (typeof value === "string" ? parseArguments(value) : value);
const isArguments = (value: unknown): value is { readonly [name: string]: Json } => isRecord(value);

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}

/**
 * The value of arguments that are JSON, or nearly: a fence around them, a comma behind the last
 * field, and raw line breaks are mended. They may be code, so nothing else is.
 *
 * @throws SyntaxError for other texts, and for values that JavaScript would change: an id beyond 2^53, and
 *   the first of two properties of one name
 */
export function parseArguments(text: string): unknown {
  const bare = text
    .trim()
    .replace(/^```(?:json)?\s/i, "")
    .replace(/```$/, "")
    .trim();
  try {
    return clear(bare);
  } catch (error) {
    const clean = error instanceof UnclearJson ? null : withCleanStrings(bare);
    if (clean === null) throw error;
    return clear(clean.replace(/,(?=[}\]\s]{1,100}$)/, ""));
  }
}

function clear(json: string): unknown {
  const value: Json = JSON.parse(json);
  const properties = propertiesIn(value);
  if (properties === null) throw new UnclearJson("are nested more than 200 deep");
  if (propertiesWritten(json) > properties) throw new UnclearJson("have two properties of one name");
  const [lost] = mayPrintOtherwise(json) ? unheld(readJson(json)).filter(isWhole) : [];
  if (lost === undefined) return value;
  throw new UnclearJson(`have ${lost.slice(0, 40)}, which has more digits than a number keeps: send it as a string`);
}

const isWhole = (figure: string) => Number.isInteger(Number(figure)) || !Number.isFinite(Number(figure));

/**
 * JSON whose strings have their raw line breaks, and the backslashes that JSON does not know, as
 * JSON writes them. null: a string has escapes of both kinds, as `C:\new\x` does, so its meaning is
 * unknown.
 */
export function withCleanStrings(text: string): string | null {
  let isUnclear = false;
  const clean = text.replace(STRING, (literal, end: string) => {
    if (end === "") return literal;
    // Python escapes apostrophes, and nothing else can be meant.
    const plain = literal.replace(PAIRS, (pair) => (pair === "\\'" ? "'" : pair));
    const doubled = plain.replace(ESCAPES, "$&$1");
    const hasLetter = plain.match(ESCAPES)?.some((one) => /\w/.test(one)) === true;
    if (doubled !== plain && hasLetter) isUnclear = true;
    return doubled.replace(CONTROL, (control) => JSON.stringify(control).slice(1, -1));
  });
  return isUnclear ? null : clean;
}

const STRING = /"(?:[^"\\]|\\.)*("?)/gs;
const PAIRS = /\\./gs;
/** Escapes that JSON knows, and backslashes before anything else. */
const ESCAPES = /\\(?:u[\da-fA-F]{4}|["\\/bfnrt])|(\\)/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is mended
const CONTROL = /[\u0000-\u001f]/g;
