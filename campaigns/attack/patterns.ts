import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AST } from "@eslint-community/regexpp";
import { parseRegExpLiteral } from "@eslint-community/regexpp";
import { parseSync } from "rolldown/utils";
import * as v from "valibot";
import { ROOT } from "../../scripts/process.ts";

// Regular expressions of the host, which backtrack: which take linear time by their form, and what bounds the texts of the others.

/** A regular expression in the code: a literal, or the arguments of `RegExp` as they stand there. */
export interface FoundPattern {
  /** `src/a.ts:12` */
  readonly place: string;
  readonly pattern: string;
  readonly isLiteral: boolean;
}

/** A pattern that a look at its form does not clear. */
export interface ListedPattern {
  readonly pattern: string;
  readonly reason: string;
  /** The longest text that it meets, UTF-16 units; null: a reader in `texts.ts` is timed in its place. */
  readonly units: number | null;
}

const LIST = v.array(v.object({ reason: v.string(), units: v.nullable(v.number()), patterns: v.array(v.string()) }));

/** The list of `patterns.json`. */
export const LISTED: readonly ListedPattern[] = v
  .parse(LIST, JSON.parse(readFileSync(new URL("./patterns.json", import.meta.url), "utf8")))
  .flatMap(({ patterns, ...why }) => patterns.map((pattern) => ({ pattern, ...why })));

/** All patterns of the host's code. Guest code runs in its machine, whose time is bounded. */
export function patternsOfHost(): readonly FoundPattern[] {
  const files = ["src", "runtime", "builtins"].flatMap((folder) => globSync(`${folder}/**/*.ts`, { cwd: ROOT }));
  return files.toSorted().flatMap((file) => patternsIn(file, readFileSync(join(ROOT, file), "utf8")));
}

export function patternsIn(file: string, source: string): FoundPattern[] {
  const found: FoundPattern[] = [];
  const add = (at: number, pattern: string, isLiteral: boolean) =>
    found.push({ place: `${file}:${source.slice(0, at).split("\n").length}`, pattern, isLiteral });
  visit(parseSync(file, source).program, (node) => {
    if (node.type === "Literal" && "regex" in node) add(node.start, source.slice(node.start, node.end), true);
    const isMade = node.type === "NewExpression" || node.type === "CallExpression";
    if (isMade && Reflect.get(Object(Reflect.get(node, "callee")), "name") === "RegExp")
      add(node.start, source.slice(node.start, node.end), false);
  });
  return found;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value;

function visit(value: unknown, each: (node: Node) => void): void {
  if (Array.isArray(value)) for (const item of value) visit(item, each);
  if (!isNode(value)) return;
  each(value);
  for (const part of Object.values(value)) visit(part, each);
}

/** Repetitions up to this many count as a constant. */
const FEW = 1000;

/**
 * True if the form of a pattern shows that all its matches in a text take linear time together. Each alternative has at most one
 * unbounded repetition, of single characters, which ends it, or begins at one place of the text, or cannot be entered in the midst
 * of what it repeats.
 */
export function isLinear(literal: string): boolean {
  const { pattern, flags } = parseRegExpLiteral(literal);
  return pattern.alternatives.every((alternative) => {
    const [repeated, ...others] = repetitionsIn(alternative);
    if (!repeated) return true;
    if (others.length > 0 || !isCharacter(repeated.element)) return false;
    const elements = flat(alternative);
    const at = elements.indexOf(repeated);
    if (at < 0) return false;
    const isOnce = isStart(elements[0]) && !flags.multiline;
    if (at === elements.length - 1 || isOnce) return true;
    const own = charactersOf(repeated.element, flags.raw);
    const before = elements.slice(0, at).flatMap((element) => neededIn(element, flags.raw));
    return before.some((needed) => !needed.some((is, index) => is && own[index]));
  });
}

const isStart = (element: AST.Element | undefined) => element?.type === "Assertion" && element.kind === "start";

const isCharacter = ({ type }: AST.Element) => ["Character", "CharacterSet", "CharacterClass"].includes(type);

function repetitionsIn(node: AST.Alternative | AST.Element): AST.Quantifier[] {
  if (node.type === "Quantifier") return [...(node.max > FEW ? [node] : []), ...repetitionsIn(node.element)];
  if ("alternatives" in node) return node.alternatives.flatMap(repetitionsIn);
  return "elements" in node && node.type === "Alternative" ? node.elements.flatMap(repetitionsIn) : [];
}

/** The elements of an alternative. A group of one alternative counts as its elements. */
function flat({ elements }: AST.Alternative): AST.Element[] {
  return elements.flatMap((element) => {
    const [only, ...more] = isGroup(element) ? element.alternatives : [];
    return only && more.length === 0 ? flat(only) : [element];
  });
}

const isGroup = (element: AST.Element) => element.type === "Group" || element.type === "CapturingGroup";

/** The characters, as far as they are tried, of each single one that an element needs. */
function neededIn(element: AST.Element, flags: string): (readonly boolean[])[] {
  if (isCharacter(element)) return [charactersOf(element, flags)];
  if (element.type === "Quantifier") return element.min > 0 ? neededIn(element.element, flags) : [];
  if (!isGroup(element)) return [];
  const first = element.alternatives.map(({ elements }) => elements.flatMap((one) => neededIn(one, flags))[0]);
  const [one, ...others] = first.flatMap((needed) => (needed ? [needed] : []));
  if (!one || others.length < first.length - 1) return [];
  return [one.map((is, index) => is || others.some((other) => other[index] === true))];
}

/** Latin letters and signs, and one or more of other scripts and of each kind of space. */
const TRIED = [
  ...Array.from({ length: 0x250 }, (_, code) => code),
  ...[0x391, 0x3b1, 0x410, 0x5d0, 0x627, 0x905, 0xe01, 0x200b, 0x200d, 0x2014, 0x2026, 0x2028, 0x2029, 0x3000, 0x3042],
  ...[0x4e00, 0xac00, 0xd800, 0xdc00, 0xfe0f, 0xfeff, 0xff0b],
].map((code) => String.fromCharCode(code));

function charactersOf({ raw }: AST.Element, flags: string): readonly boolean[] {
  const one = new RegExp(`^(?:${raw})$`, flags.replaceAll(/[gym]/g, ""));
  return TRIED.map((character) => one.test(character));
}
