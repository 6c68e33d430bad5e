import type { Json } from "../../../runtime/index.ts";
import { isRecord, parseJson } from "../../platform/json.ts";
import type { ToolSpec } from "../port.ts";
import { type GivenUse, parseArguments, toolName } from "./tool-use.ts";
import { balancedEnd, matchAt } from "./value-places.ts";

/** Calls that a server has left in the text of a reply. */
interface TextCalls {
  /** The place at which they begin. */
  readonly start: number;
  readonly calls: readonly GivenUse[];
  /** The reason why they cannot be run, as a clause; null: they can. */
  readonly problem: string | null;
}

type Tools = readonly Pick<ToolSpec, "name">[];

/**
 * Beginnings of calls, with the parsers of vLLM and SGLang that read them; "": none is known. The
 * first that fits counts.
 */
const FORMATS: readonly (readonly [mark: RegExp, vllm: string, sglang: string])[] = [
  [/<tool_call>\s{0,9}[\w.-]{1,99}\s{0,9}<arg_key>/, "glm45", "glm45"],
  [/(?:<tool_call>\s{0,9})?<function=/, "qwen3_coder", "qwen3_coder"],
  [/<tool_calls>/, "jamba", ""],
  [/<\/?tool_call>/, "hermes", "qwen25"],
  [/<seed:tool_call>/, "seed_oss", ""],
  [/<minimax:tool_call>/, "minimax_m2", "minimax-m2"],
  [/\[TOOL_CALLS\]/, "mistral", "mistral"],
  [/<\|python_tag\|>/, "llama3_json", "llama3"],
  [/<\|tool_calls?_(?:section_)?begin\|>/, "kimi_k2", "kimi_k2"],
  [/<[|｜]tool▁calls▁begin[|｜]>\s{0,9}<[|｜]tool▁call▁begin[|｜]>function/, "deepseek_v3", "deepseekv3"],
  [/<[|｜]tool▁/, "deepseek_v31", "deepseekv31"],
  [/<｜tool_calls?_begin｜>/, "step3", "step3"],
  [/<｜DSML｜/, "deepseek_v32", "deepseekv32"],
  [
    /<\|start\|>assistant(?!<\|channel\|>(?:final|analysis<))|<\|channel\|>(?:commentary|analysis to=)|commentary to=/,
    "openai",
    "gpt-oss",
  ],
  [/<\|tool_call>/, "gemma4", "gemma4"],
  [/<start_function_call>/, "functiongemma", ""],
  [/```tool_code/, "pythonic", "pythonic"],
  [/<\|tool_call\|>/, "granite", ""],
  [/functools\[/, "phi4_mini_json", ""],
  [/<\|START_ACTION\|>/, "cohere_command3", "cohere_command4"],
  [/<\|tool_call_start\|>/, "lfm2", "lfm2"],
  [/<\|action_start\|>/, "internlm", "interns1"],
  [/<TOOLCALL>|<invoke |```tool_call|<\|tools_prefix\|>/, "", ""],
  [/<(?:[a-z]{1,20}[:|_])?(?:tool|function)_calls?[ >]/, "", ""],
];
const MARKS = FORMATS.map(([mark]) => mark.source).join("|");
const MARK = new RegExp(` {0,3}(${MARKS})`, "y");

/** Frames of a template between calls and around them. */
const FRAME =
  /\s+|<\|start\|>assistant|<\/?[\w:|｜.▁-]{1,99}>|\[\/?(?:TOOL_CALLS|ARGS)\]|\[CALL_ID\]\w{1,99}|functools|commentary|analysis|to=|function(?=<[|｜])|json(?=<\||\{)|```(?:json|tool_call|tool_code)?|print\(|>>>|Action(?: Input)?:|[[\],;)]/y;

/** Marks that some templates write behind prose on its line. Behind a quote they are spoken of. */
const INLINE = /(?<=[^\s"'`“‘>])[ \t]?(?=\[TOOL_CALLS\]|<\|tool_calls_section_begin\|>|<[|｜]tool▁calls▁begin[|｜]>)/;

/** A call is not looked for behind so many frames and calls. */
const MOST_STEPS = 500;

/**
 * The calls that a text ends with: they begin a line, outside of fences and quotations. null: the
 * text holds none, though it may speak of them.
 * @param text without white space at its beginning and end
 */
export function textCalls(text: string, tools: Tools): TextCalls | null {
  const line = startOf(text, tools);
  const start = line ?? text.search(INLINE);
  if (start < 0) return null;
  const calls: GivenUse[] = [];
  let at = start;
  for (let steps = 0; at < text.length && steps < MOST_STEPS; steps++) {
    const found = callsAt(text, at);
    const frame = found ? null : matchAt(FRAME, text, at);
    if (found) calls.push(...found.calls);
    const end = found?.end ?? (frame ? endOf(frame) : at);
    if (end === at) break;
    at = end;
  }
  const problem = problemOf(calls, tools, at === text.length);
  if (line !== null) return { start, calls, problem };
  return problem === null ? { start, calls, problem: "it does not begin a line" } : null;
}

function problemOf(calls: readonly GivenUse[], tools: Tools, isWhole: boolean): string | null {
  if (calls.length === 0) return "it cannot be read as a call, or it is not whole";
  if (!isWhole) return "other text follows it, or it is not whole";
  const names = calls.map(({ name }) => toolName(name, tools));
  const foreign = names.find((name) => !tools.some((tool) => tool.name === name));
  return foreign === undefined ? null : `there is no tool ${foreign}`;
}

/**
 * The cure if a text is a call that its server has left there, or ends with one; else null. A text
 * is not one if its model was shown the mark with which the call begins.
 * @param shown texts that the model was shown
 */
export function leftCallCure(given: string, tools: Tools, shown: readonly string[]): string | null {
  const text = given.trim();
  const found = textCalls(text, tools);
  if (found === null) return null;
  const mark = matchAt(MARK, text, found.start)?.[1] ?? text.slice(found.start, found.start + 20);
  const isSpokenOf = found.start > 0 && found.problem !== null && !found.problem.startsWith("there is no tool");
  if (isSpokenOf || shown.some((one) => one.includes(mark))) return null;
  const [, vllm = "", sglang = ""] = FORMATS.find(([format]) => format.test(mark)) ?? [];
  const names = `vLLM --enable-auto-tool-choice --tool-call-parser ${vllm || "NAME"}, SGLang --tool-call-parser ${sglang || "NAME"}`;
  return `start it with its parser of calls (${names}, llama-server --jinja)`;
}

/**
 * The place of the line at which calls begin, outside of fences. A fence with a call may be the
 * whole text.
 */
function startOf(text: string, tools: Tools): number | null {
  const begins = beginningsOf(tools);
  const fence = / {0,3}(?:```|~~~)(?:json|xml)?\s{0,9}/y;
  let isFenced = false;
  for (let at = 0; at >= 0 && at < text.length; at = text.indexOf("\n", at) + 1 || -1) {
    if (!isFenced && matchAt(begins, text, at)) return at;
    const opening = matchAt(fence, text, at);
    if (opening && at === 0 && matchAt(begins, text, opening[0].length)) return 0;
    if (opening) isFenced = !isFenced;
  }
  return null;
}

/** The last pattern that was made: most replies come to calls with the same tools. */
let made: { readonly names: string; readonly begins: RegExp } | undefined;

/** A pattern of the beginnings of calls, with or without a mark. */
function beginningsOf(tools: Tools): RegExp {
  const names = tools.map(({ name }) => name).join("\n");
  if (made?.names !== names) {
    const begins = new RegExp(` {0,3}(?:${[MARKS, ...tools.map(({ name }) => naming(name))].join("|")})`, "y");
    made = { names, begins };
  }
  return made.begins;
}

/**
 * A pattern of calls of a tool without a mark, such as `NAME(`, `<NAME>`, `>>>NAME`, `Action:
 * NAME`, and JSON that names it.
 */
function naming(name: string): string {
  const own = name.replace(/\W/g, "\\$&");
  const marked = `[\`"*]{0,2}${own}[\`"*]{0,2}`;
  const key = '"(?:name|tool_name|tool|function|action|recipient_name)"';
  return [
    `\\[?(?:print\\()?(?:functions\\.|default_api\\.)?${own}(?:\\.call)?\\(`,
    `${own}\\s{0,3}(?:[:=]>?)?\\s{0,9}\\{`,
    `<${own}>|\\[${own}\\]\\s{0,3}[\\n{]|>>>\\s{0,3}${own}\\b`,
    `<\\w{1,20} name="${own}"|<\\w{1,20}>\\s{0,9}<(?:name|tool_name|function)>\\s{0,9}${own}\\s{0,9}<`,
    `(?:Action|Tool|Function)(?: call)?:\\s{0,3}${marked}\\s{0,3}[\\n:({]`,
    `(?:Call(?:ing)?|Using|Invoking)(?: (?:the )?(?:tool|function))?:?\\s{1,3}${marked}\\s{0,3}(?:with(?: arguments)?)?:?\\s{0,3}\\{`,
    `[[{][^]{0,300}?${key}\\s{0,9}:\\s{0,9}"(?:functions\\.)?${own}"|\\{\\s{0,9}"${own}"\\s{0,9}:\\s{0,9}\\{`,
  ].join("|");
}

interface Found {
  readonly calls: readonly GivenUse[];
  readonly end: number;
}

/** Heads of calls whose arguments follow one by one, and such an argument. */
const LISTED: readonly (readonly [head: RegExp, argument: RegExp])[] = [
  [
    /<(?:｜DSML｜)?(?:function|invoke)(?:=| name=)"?([\w.-]{1,99})"?\s{0,9}>/y,
    /\s*<(?:｜DSML｜)?parameter(?:=| name=)"?(\w{1,99})"?[^>]{0,99}>\n?([\s\S]*?)\n?<\/(?:｜DSML｜)?parameter>/y,
  ],
  [/([\w.-]{1,99})\s{0,9}(?=<arg_key>)/y, /\s*<arg_key>(\w{1,99})<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/y],
  [/call:([\w.-]{1,99})\{/y, /,?\s*(\w{1,99}):(?:<\|"\|>|<escape>)([\s\S]*?)(?:<\|"\|>|<escape>)\}?/y],
  [/<(?!\w{0,99}call)(\w{1,99})>(?=\s{0,9}<\w)/y, /\s*<(\w{1,99})>\n?([\s\S]*?)\n?<\/\1>/y],
  [
    /([\w.]{1,99}?)(?:\.call)?\((?=\s{0,9}\w{1,99}\s{0,9}=)/y,
    /\s*(\w{1,99})\s{0,9}=\s{0,9}()("""(?:[^"\\]|\\.|""?(?!"))*"""|'''(?:[^'\\]|\\.|''?(?!'))*'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')\s{0,9}[,)]/sy,
  ],
];

/** The calls that begin at a place of a text; null: none do, or they are not whole. */
function callsAt(text: string, at: number): Found | null {
  for (const [head, argument] of LISTED) {
    const begun = matchAt(head, text, at);
    if (begun) return listedCall(text, begun, argument);
  }
  return jsonCalls(text, at) ?? namedCall(text, at);
}

function listedCall(text: string, head: RegExpExecArray, argument: RegExp): Found | null {
  const args: { [key: string]: unknown } = {};
  const from = endOf(head);
  let end = from;
  for (let next = matchAt(argument, text, end); next; next = matchAt(argument, text, end)) {
    const [, key = "", value, literal] = next;
    args[key] = literal === undefined ? value : readLiteral(literal);
    end = endOf(next);
  }
  if (end > from) return { calls: [{ id: null, name: head[1], arguments: args }], end };
  // Llama 3.1 writes `<function=NAME>{…}`.
  const whole = text[from] === "{" ? balancedEnd(text, from) : undefined;
  if (whole === undefined) return null;
  return { calls: [{ id: null, name: head[1], arguments: text.slice(from, whole) }], end: whole };
}

/** An object that names a tool and its arguments, or a list of such. */
function jsonCalls(text: string, at: number): Found | null {
  const end = text[at] === "{" ? balancedEnd(text, at) : undefined;
  if (end === undefined) return null;
  const value = argumentsIn(text.slice(at, end));
  if (!isRecord(value)) return null;
  const list: readonly unknown[] = Array.isArray(value.tool_calls) ? value.tool_calls : [value];
  const calls = list.map(jsonCall);
  return calls.every((call) => call !== null) ? { calls, end } : null;
}

function jsonCall(one: unknown): GivenUse | null {
  const call = isRecord(one) && isRecord(one.function) ? one.function : one;
  if (!isRecord(call)) return null;
  const name = call.name ?? call.tool_name ?? call.tool ?? call.function ?? call.action;
  const given = call.arguments ?? call.parameters ?? call.input ?? call.args ?? call.action_input;
  return typeof name === "string" && given !== undefined ? { id: null, name, arguments: given } : null;
}

/** The name of a tool that is not a word of a frame, and the bracket behind it. */
const NAME =
  /(?!(?:functools|commentary|analysis|json|print)\b)((?:functions\.)?[\w-]{1,99})(?::\d{1,9})?(?:(\()|\s{0,3}[:=]>?(?=\s{0,9}\{))?/y;

/** A name, and behind frames the object of its arguments. */
function namedCall(text: string, at: number): Found | null {
  const name = matchAt(NAME, text, at);
  if (!name) return null;
  let from = endOf(name);
  for (let frame = matchAt(FRAME, text, from); frame; frame = matchAt(FRAME, text, from)) from = endOf(frame);
  const end = text[from] === "{" ? balancedEnd(text, from) : undefined;
  if (end === undefined) return null;
  const source = text.slice(from, end);
  const literal = name[2] === undefined ? undefined : readLiteral(source);
  return { calls: [{ id: null, name: name[1], arguments: literal ?? source }], end };
}

function argumentsIn(text: string): unknown {
  try {
    return parseArguments(text);
  } catch {
    return undefined;
  }
}

/** The place behind a match. */
function endOf({ index, 0: match }: RegExpExecArray): number {
  return index + match.length;
}

/**
 * The value of a literal of JavaScript or Python: JSON that may have other quotes, bare keys and
 * commas behind last fields. Nothing is run. undefined: the source is something else, or its
 * escapes mean different things in the two languages.
 */
export function readLiteral(source: string): Json | undefined {
  return parseJson(source.replace(TOKENS, jsonOf));
}

/** Strings, which need not be closed, keys without quotes, and commas behind last fields. */
const TOKENS =
  /"""(?:[^"\\]|\\.|""?(?!"))*(?:""")?|'''(?:[^'\\]|\\.|''?(?!'))*(?:''')?|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\$]|\\.|\$(?!\{))*`?|(?<![\w$])[A-Za-z_$][\w$]*(?=\s{0,99}:)|,(?=\s{0,99}[}\]])/gs;

function jsonOf(token: string): string {
  if (token === ",") return "";
  const [quotes] = /^(?:"""|'''|["'`])/.exec(token) ?? [];
  if (quotes === undefined) return JSON.stringify(token);
  const isClosed = token.length >= 2 * quotes.length && token.endsWith(quotes);
  if (!isClosed) return NOT_JSON;
  return `"${token.slice(quotes.length, -quotes.length).replace(PIECES, stringPiece)}"`;
}

const NOT_JSON = "?";

/** Pieces of a string that JSON writes otherwise, or knows. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON has them as escapes
const PIECES = /\\(['`$])|\\x(?=[\da-fA-F]{2})|\\\n|\\["\\/bfnrtu]|["\u0000-\u001f]/g;

function stringPiece(piece: string, bare: string | undefined): string {
  if (bare !== undefined) return bare;
  if (piece === "\\x") return "\\u00";
  if (piece === "\\\n") return "";
  return piece.startsWith("\\") ? piece : JSON.stringify(piece).slice(1, -1);
}
