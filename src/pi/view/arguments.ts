import * as v from "valibot";
import { amount } from "../../platform/figures.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { oneLine } from "./texts.ts";

const maybeText = v.fallback(v.optional(v.string()), undefined);

/** Arguments of any of our tools, as far as a row shows them. While the model writes them they are there in part. */
const ArgumentsSchema = v.fallback(
  v.object({
    code: maybeText,
    prompt: maybeText,
    question: maybeText,
    instructions: maybeText,
    target: v.fallback(v.optional(v.union([v.string(), v.array(v.unknown())])), undefined),
    targets: v.fallback(v.optional(v.array(v.unknown())), undefined),
    path: maybeText,
    paths: v.fallback(v.optional(v.array(v.fallback(v.string(), ""))), undefined),
    name: maybeText,
    key: maybeText,
    value: v.optional(v.unknown()),
    ops: v.fallback(v.optional(v.array(v.unknown())), undefined),
  }),
  {},
);

export interface ShownArguments {
  readonly prompt?: string | undefined;
  readonly path?: string | undefined;
  readonly code?: string | undefined;
  readonly target?: string | unknown[] | undefined;
  readonly targets?: unknown[] | undefined;
  readonly name?: string | undefined;
  readonly key?: string | undefined;
  readonly value?: unknown;
  readonly ops?: unknown[] | undefined;
}

export function readArguments(args: unknown): ShownArguments {
  const { question, instructions, paths, ...others } = v.parse(ArgumentsSchema, args);
  const prompt = others.prompt ?? question ?? instructions;
  const path = others.path ?? paths?.join(", ");
  return { ...others, ...withoutUndefined({ prompt, path }) };
}

/** The subject of a call, after its tool's name: `12 lines`, `docs`, `“question”`. @param cwd folder of the project */
export function subject(shown: ShownArguments, cwd: string): string[] {
  const { code, prompt, path, name, key, ops, target, targets } = shown;
  const place = path?.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path;
  return [
    ...[place, name, key, target].flatMap((text) => (typeof text === "string" ? oneLine(text, 60) : [])),
    ...(Array.isArray(target) ? [amount(target.length, "object")] : []),
    ...(targets === undefined ? [] : [amount(targets.length, "object")]),
    ...(prompt === undefined ? [] : [`“${oneLine(prompt, 60)}”`]),
    ...(code === undefined ? [] : [amount(code.trimEnd().split("\n").length, "line")]),
    ...(ops === undefined ? [] : [amount(ops.length, "operation")]),
  ];
}
