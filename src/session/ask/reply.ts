import { builtins } from "../../../builtins/index.ts";
import type { Json } from "../../../runtime/index.ts";
import {
  isQuoted,
  type ModelTurn,
  readLiteral,
  type ToolUse,
  textCalls,
  toolUses as usesOf,
} from "../../models/index.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import type { Protocol } from "./api.ts";

/** The tool that a root model runs cells with. */
export const CELL_TOOL = "rlm_exec";
const TOOLS = [{ name: CELL_TOOL }];

/**
 * A reply as it was read when it came. Its record keeps that, since a later build may read such a
 * text otherwise.
 */
export interface Reply {
  /**
   * The answer, if the reply is one. Of a reply with calls in its text, what stands before them.
   */
  readonly text: string;
  /** In the order in which they are to run. */
  readonly cells: readonly AskedCell[];
  /**
   * Why the text may not be meant as the answer; null: nothing speaks against it, or the reply has
   * a cell.
   */
  readonly doubt: Doubt | null;
  /** Its cells were calls in the text, which the server had not read. */
  readonly isInText?: boolean | undefined;
}

/** A reason why a text may not be meant as the answer. */
export interface Doubt {
  /** It has a block of code, a call that is not run, is code itself, or announces a step. */
  readonly kind: "block" | "call" | "code" | "step";
  /** The language of the block, or why the call is not run; empty for the others. */
  readonly detail: string;
}

export interface AskedCell {
  /** The tool call that the observation answers; null: the cell stood in the text. */
  readonly use: Pick<ToolUse, "id" | "name"> | null;
  readonly asked: { readonly ok: true; readonly source: string } | { readonly ok: false; readonly problem: string };
}

/** A reply with the reading that its record has. */
export type RecordedReply = ModelTurn & { readonly read: Reply };

/** Facts that a reply is read by. */
export interface ReadBy {
  readonly protocol: Protocol;
  /** An earlier reply of the ask had a native call: a block in a text is not a cell then. */
  readonly hasCalled: boolean;
  /** Texts that the model was shown: a call that stands in one of them is quoted. */
  readonly shown: readonly string[];
}

/**
 * Reads a reply when it comes: by its native calls, else by calls in its text, by its blocks, or
 * by its words.
 */
export function reading(
  { text, toolUses }: Pick<ModelTurn, "text" | "toolUses">,
  { protocol, hasCalled, shown }: ReadBy,
): Reply {
  if (toolUses.length > 0) return ofCells(text, toolUses.map(cellOfUse));
  const called = byCalls(text.trim(), shown);
  if (called) return called;
  const blocks = byBlocks(text, protocol === "fence" || !hasCalled);
  if (blocks.cells.length > 0) return byFinal(sourceOf(blocks) ?? "") ?? blocks;
  if (blocks.doubt) return blocks;
  const kind = isCode(text.trim()) || isArguments(text) ? "code" : announces(text) ? "step" : null;
  return byFinal(text) ?? { ...blocks, doubt: kind && { kind, detail: "" } };
}

const ofCells = (text: string, cells: readonly AskedCell[]): Reply => ({ text, cells, doubt: null });
const cell = (source: string): AskedCell => ({ use: null, asked: { ok: true, source } });

/** null: the text has no call. */
function byCalls(text: string, shown: readonly string[]): Reply | null {
  const found = textCalls(text, TOOLS);
  if (!found) return null;
  const cells = usesOf(found.calls, TOOLS).map((use) => ({ ...cellOfUse(use), use: null }));
  const problems = cells.map(({ asked }) => (asked.ok ? null : asked.problem));
  const sources = cells.map(({ asked }) => (asked.ok ? asked.source : ""));
  const called = [text.slice(found.start), ...sources];
  const problem = found.problem ?? problems.find((one) => one !== null) ?? (isQuoted(called, shown) ? QUOTED : null);
  if (problem !== null) return { text, cells: [], doubt: { kind: "call", detail: problem } };
  return { ...ofCells(text.slice(0, found.start).trim(), cells), isInText: true };
}

const QUOTED = "it stands in a text that you were shown";

function byBlocks(text: string, areCells: boolean): Reply {
  const blocks = blocksIn(text);
  const own = areCells ? blocks.find(isCell) : undefined;
  if (own) return ofCells(text, [cell(own.code)]);
  const [first] = blocks;
  return { text, cells: [], doubt: first ? { kind: "block", detail: first.language } : null };
}

const FINAL = /^[ \t]{0,9}FINAL(_VAR)?\(/m;

/**
 * The ending of other programs of this kind: `FINAL(x)` is x, and `FINAL_VAR(n)` the value of a
 * variable.
 */
function byFinal(given: string): Reply | null {
  const text = given.trim().replace(/;$/, "");
  const begun = FINAL.exec(text);
  if (!begun || !text.endsWith(")")) return null;
  const inner = text.slice(begun.index + begun[0].length, -1).trim();
  const said = readLiteral(inner);
  const plain = typeof said === "string" ? said : inner;
  if (begun[1] === undefined) return { text: plain, cells: [], doubt: null };
  return /^[A-Za-z_$][\w$]*$/.test(plain) ? ofCells(given, [cell(`answer(${plain})`)]) : null;
}

const NAMES = ["print", ...builtins.map(({ name }) => name)].join("|");
const CALLS = new RegExp(`(?<![.\\w$"'\`])(?:${NAMES})\\s{0,9}\\(`);
const BEGINS =
  /^(?:\/[/*]|(?:const|let|var|await|async|for|if|while|function|return|try)\b|[\w$.[\]]{1,99}\s{0,9}[(=])/;

/**
 * A text that is a cell in all but its fence: it begins and ends as code does, and calls a
 * builtin.
 */
function isCode(text: string): boolean {
  const bare = text
    .replace(/^<(?:code|script|js|execute|run|cell|repl)>/, "")
    .replace(/<\/(?:code|script|js|execute|run|cell|repl)>$/, "")
    .trim();
  return BEGINS.test(bare) && /[;)}]$/.test(bare) && CALLS.test(bare);
}

/** True if a text is nothing but the arguments of a call. */
function isArguments(text: string): boolean {
  const value = parseJson(text);
  if (!isRecord(value) || typeof value.code !== "string" || Object.keys(value).length > 1) return false;
  return CALLS.test(value.code);
}

/**
 * The answer that a reply gives by a call whose code is only `answer(LITERAL)`: it is read and not
 * run. null: it gives none.
 */
export function literalAnswer(reply: Reply): { readonly value: Json; readonly cite: Json } | null {
  const source = reply.cells.length === 1 ? sourceOf(reply)?.trim().replace(/;$/, "") : undefined;
  const begun = /^(?:await )?answer\s{0,9}\(/.exec(source ?? "");
  if (source === undefined || !begun || !source.endsWith(")")) return null;
  const args = readLiteral(`[${source.slice(begun[0].length, -1)}]`);
  const [value, options] = Array.isArray(args) ? args : [];
  if (value === undefined) return null;
  const isObject = typeof options === "object" && options !== null && !("length" in options);
  return { value, cite: (isObject ? options.cite : undefined) ?? null };
}

/** The source of the first cell that a reply asks for. */
function sourceOf({ cells: [first] }: Reply): string | undefined {
  return first?.asked.ok ? first.asked.source : undefined;
}

/**
 * The end of a reply whose cell is a fenced block: after its first block of JavaScript. Models continue after the block and invent
 * its output. If they may call a tool, prose behind it stays. null: nothing is to be left out behind it.
 */
export function endOfCell(
  { text, toolUses }: Pick<ModelTurn, "text" | "toolUses">,
  { protocol, hasCalled, shown }: ReadBy,
): number | null {
  if (protocol === "tools" && (hasCalled || toolUses.length > 0 || byCalls(text.trim(), shown))) return null;
  const [own, another] = blocksIn(text).filter(isCell);
  const rest = text.slice(own?.end).trim();
  if (!own || rest === "") return null;
  return protocol === "fence" || another || FINAL.test(rest) ? own.end : null;
}

/**
 * True for a reply that is nothing but a fenced cell which calls a builtin: it was to be run, and its text is no answer.
 */
export function isCellAlone({ text, cells }: Pick<Reply, "text" | "cells">): boolean {
  const said = text.trim();
  const [own] = blocksIn(said);
  return cells.length > 0 && own?.start === 0 && own.end === said.length && CALLS.test(own.code);
}

/** The text of a reply beside its cells: without the block or the calls that are run. */
export function proseIn({ text, toolUses, read }: Pick<RecordedReply, "text" | "toolUses" | "read">): string {
  if (read.isInText) return read.text;
  const own = toolUses.length > 0 ? undefined : blocksIn(text).find(isCell);
  return own ? `${text.slice(0, own.start).trimEnd()}\n${text.slice(own.end).trimStart()}`.trim() : text;
}

function cellOfUse({ id, name, arguments: given, problem }: ToolUse): AskedCell {
  const use = { id, name };
  if (name !== CELL_TOOL) return { use, asked: { ok: false, problem: `there is no tool ${name}: call ${CELL_TOOL}` } };
  const code: Json | undefined = given.code;
  if (typeof code === "string" && code.trim() !== "") return { use, asked: { ok: true, source: code } };
  const why = problem === undefined ? "" : `${problem}; `;
  const takes = `${CELL_TOOL} takes { code }, a text of JavaScript that is not empty`;
  return { use, asked: { ok: false, problem: `${why}${takes}` } };
}

/** A longer text says something beside what comes next. UTF-16 units. */
const MOST_UNITS = 300;

/**
 * Beginnings of sentences with which models say what they do next, in the languages that they say
 * it in.
 */
const STEPS = new RegExp(
  `^(?:${[
    "(?:(?:ok(?:ay)?|so|now|next|first|then|alright|great)[,.!]?\\s+)*(?:i(?:['’]ll| will| am going to|['’]m going to| need to| should)|let me (?!know\\b)|let['’]s)\\b",
    "ich (?:werde|muss)|(?:als nächstes|nun|jetzt) |lass(?:en sie)? mich",
    "(?:maintenant[, ]*)?je (?:vais|dois)|laissez-moi|ensuite,? je",
    "(?:(?:ahora|a continuación)[, ]*)?(?:voy a|vamos a)|déj[ae]me",
    "(?:(?:agora|a seguir)[, ]*)?(?:vou|vamos) |deixe-me",
    "(?:(?:ora|adesso)[, ]*)?(?:vado a|devo ora)",
    "сейчас я|теперь я|давайте|я сейчас|далее я",
    "接下来|我将|我会|让我|现在我|我先|下一步|我需要|接著|讓我",
    "次に|まず|これから|では、",
    "이제|다음으로|먼저",
    "(?:one|just a) (?:moment|second)(?:[,.!…]| please| while i\\b)|please wait|give me (?:a|one) |hold on(?:[,.!…]| while i\\b)|einen moment[,.!… ]|un (?:moment|instant)[,.!…]|请稍|稍等|少々お待ち|подождите",
  ].join("|")})`,
  "iu",
);

/** Questions whether the model may take a step. */
const MAY_I =
  /^(?:(?:shall|should|may|can) i|(?:would you like|do you want|want) me to|soll ich|(?:puis|dois)-je|¿?(?:quieres que|debo)|posso|要我|我可以)/iu;

/**
 * True if a text is a step that its model announces, and not an answer: it is short, and its last sentence begins as one does, or
 * it ends with a colon, or with the question whether to take it. That is a guess, so the model is
 * asked.
 */
function announces(text: string): boolean {
  const said = text.trim();
  if (said === "" || said.length > MOST_UNITS || /\n\s*(?:[-*•]|\d+[.)])\s/.test(said)) return false;
  if (/(?:[:：…]|\.\.\.)$/.test(said)) return true;
  const sentences = said.split(/(?<=[.!?])\s+|(?<=[。！？])|\n+/u).filter((part) => part.trim() !== "");
  if (/[?？]$/.test(said)) return sentences.every((one) => STEPS.test(one.trim()) || MAY_I.test(one.trim()));
  return STEPS.test(sentences.at(-1)?.trim() ?? "");
}

/** A fenced block of a text. */
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

/** A text without its fenced blocks. */
export function withoutBlocks(text: string): string {
  const blocks = blocksIn(text);
  return [{ end: 0 }, ...blocks].map(({ end }, at) => text.slice(end, blocks[at]?.start)).join("\n");
}

/** True for a block that is a cell: it is JavaScript, or names no language. */
export const isCell = ({ language }: Pick<Block, "language">): boolean => LANGUAGES.has(language);

const LANGUAGES: ReadonlySet<string> = new Set(["", "js", "javascript", "ts", "typescript", "repl"]);
