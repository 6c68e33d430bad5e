import type { Json } from "../../../runtime/index.ts";
import type { ModelTurn, ToolUse } from "../../model/index.ts";

/** The tool that a root model runs cells with. */
export const CELL_TOOL = "rlm_exec";

/** The cells that a reply of the root model asks for. */
export interface Reply {
  readonly text: string;
  /** In the order in which they are to run. */
  readonly cells: readonly AskedCell[];
  /** The language of a fenced block that is not JavaScript, if the reply has no cell. */
  readonly foreign: string | null;
}

export interface AskedCell {
  /** The tool call that the observation answers; null: the cell stood in a fenced block. */
  readonly use: Pick<ToolUse, "id" | "name"> | null;
  readonly asked: { readonly ok: true; readonly source: string } | { readonly ok: false; readonly problem: string };
}

/** Reads a reply by its tool calls, else by its first block of JavaScript. */
export function readReply({ text, toolUses }: Pick<ModelTurn, "text" | "toolUses">): Reply {
  if (toolUses.length > 0) return { text, cells: toolUses.map(cellOfUse), foreign: null };
  const blocks = blocksIn(text);
  const own = blocks.find(({ language }) => LANGUAGES.has(language));
  if (own) return { text, cells: [{ use: null, asked: { ok: true, source: own.code } }], foreign: null };
  return { text, cells: [], foreign: blocks[0]?.language ?? null };
}

/**
 * The end of a reply in the protocol of fenced blocks: after its first block of JavaScript. Models go on after the block and
 * invent its output. null: there is nothing behind it.
 */
export function endOfFirstCell(text: string): number | null {
  const own = blocksIn(text).find(({ language }) => LANGUAGES.has(language));
  return own && own.end < text.trimEnd().length ? own.end : null;
}

/** The text of a reply beside its cells: without the block that is run. */
export function proseIn({ text, toolUses }: Pick<ModelTurn, "text" | "toolUses">): string {
  const own = toolUses.length > 0 ? undefined : blocksIn(text).find(({ language }) => LANGUAGES.has(language));
  return own ? `${text.slice(0, own.start).trimEnd()}\n${text.slice(own.end).trimStart()}`.trim() : text;
}

const LANGUAGES: ReadonlySet<string> = new Set(["", "js", "javascript", "ts", "typescript", "repl"]);

function cellOfUse({ id, name, arguments: given, problem }: ToolUse): AskedCell {
  const use = { id, name };
  if (name !== CELL_TOOL) return { use, asked: { ok: false, problem: `there is no tool ${name}: call ${CELL_TOOL}` } };
  const code: Json | undefined = given.code;
  if (typeof code === "string" && code.trim() !== "") return { use, asked: { ok: true, source: code } };
  const why = problem === undefined ? "" : `${problem}; `;
  const takes = `${CELL_TOOL} takes { code }, a text of JavaScript that is not empty`;
  return { use, asked: { ok: false, problem: `${why}${takes}` } };
}

interface Block {
  /** In lower case; empty if the fence names none. */
  readonly language: string;
  readonly code: string;
  /** Offset of the opening fence. */
  readonly start: number;
  /** Offset behind the closing fence. */
  readonly end: number;
}

/** The fenced blocks of a text. A fence that is not closed ends with the text. */
function blocksIn(text: string): Block[] {
  const blocks: Block[] = [];
  const opening = /^ {0,3}(`{3,}|~{3,}(?!~))([^\n\r\u2028\u2029`]*)\r?(?:\n|$)/gm;
  const closing = /^ {0,3}(`{3,}|~{3,})[ \t]*$/gm;
  for (let match = opening.exec(text); match !== null; match = opening.exec(text)) {
    const [, fence = "", info = ""] = match;
    const [language = ""] = info.trim().split(/\s/, 1);
    const from = opening.lastIndex;
    closing.lastIndex = from;
    let close = closing.exec(text);
    while (close?.[1] !== undefined && !close[1].startsWith(fence)) close = closing.exec(text);
    const end = close ? close.index + close[0].length : text.length;
    const code = text.slice(from, close?.index ?? text.length);
    blocks.push({ language: language.toLowerCase(), code, start: match.index, end });
    opening.lastIndex = end;
  }
  return blocks;
}
