import type { AnyNode, CallExpression, NewExpression, TaggedTemplateExpression } from "acorn";
import { parse, parseExpressionAt } from "acorn";
import { offsetOf } from "./checks.ts";
import { nodesAround } from "./declarations.ts";

type Call = CallExpression | NewExpression | TaggedTemplateExpression;

/**
 * The engine says `not a function` and leaves the name out. Its place is the last one at which the
 * call or its arguments were worked on, so of calls within calls each may be meant.
 *
 * @param names known to be functions
 * @returns what was called, as `row.sizee`, or `row.sizee or list.push`; null if that cannot be
 * told
 */
export function calledAt(code: string, line: number, column: number, names: ReadonlySet<string>): string | null {
  const program = programOf(code);
  if (!program) return null;
  // The engine counts columns of a cell's first line from 0 in some places, so an offset may be one
  // too small.
  const offset = offsetOf(code, line, column);
  const calls = nodesAround(program, offset).filter(isCall);
  const called = calls.map(calleeOf).filter((callee) => !(callee.type === "Identifier" && names.has(callee.name)));
  const texts = [...new Set(called.map((callee) => textOf(callee, code)))].reverse();
  return texts.length > 0 && texts.length <= MOST ? texts.join(" or ") : null;
}

/** More calls than this within each other tell nobody anything. */
const MOST = 3;

function programOf(code: string): AnyNode | null {
  const options = { ecmaVersion: "latest", allowAwaitOutsideFunction: true, allowReturnOutsideFunction: true } as const;
  try {
    return parse(code, options);
  } catch {
    return objectIn(code, options);
  }
}

/** A cell may be an object literal, which is no program. */
function objectIn(code: string, options: Parameters<typeof parseExpressionAt>[2]): AnyNode | null {
  try {
    return parseExpressionAt(code, code.indexOf("{"), options);
  } catch {
    return null;
  }
}

const isCall = (node: AnyNode): node is Call => /^(?:Call|New|TaggedTemplate)Expression$/.test(node.type);

const calleeOf = (call: Call): AnyNode => (call.type === "TaggedTemplateExpression" ? call.tag : call.callee);

/** The source of what is called, with the arguments of calls in it left out. */
function textOf(node: AnyNode, code: string): string {
  if (node.type === "MemberExpression") {
    const { object, property, computed, optional } = node;
    const name = code.slice(property.start, property.end);
    return `${textOf(object, code)}${computed ? `[${short(name)}]` : `${optional ? "?." : "."}${name}`}`;
  }
  if (node.type === "CallExpression") return `${textOf(node.callee, code)}(…)`;
  if (node.type === "ChainExpression") return textOf(node.expression, code);
  if (node.type === "Identifier" || node.type === "ThisExpression" || node.type === "Super") {
    return code.slice(node.start, node.end);
  }
  const text = short(code.slice(node.start, node.end));
  return /^(?:Literal|Array|Template)/.test(node.type) ? text : "(…)";
}

const short = (text: string) => (text.length > SHOWN_UNITS || text.includes("\n") ? "(…)" : text);

const SHOWN_UNITS = 40;
