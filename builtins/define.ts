import * as v from "valibot";
import { argumentError, type CallScope, type ErrorCode, type Json } from "../runtime/index.ts";
import type { Services } from "./services.ts";

/** Facts of a builtin, from which documentation, editor types and the prompt line are generated. */
export interface Described {
  readonly name: string;
  /**
   * TypeScript signatures as a cell sees them, one a line; for a namespace those of its members.
   */
  readonly signature: string;
  /** One sentence, with shapes and units. */
  readonly summary: string;
  /**
   * The sentence of rlm_exec about it, if the beginning of the summary leaves out what the model
   * must know.
   */
  readonly brief?: string;
  /** A cell that runs unchanged, over any context. */
  readonly example: string;
  /** Declarations of the types that the signature names. */
  readonly types?: string;
  /** Its error codes, each with when it comes: a clause without a full stop. */
  readonly errors?: Readonly<Partial<Record<ErrorCode, string>>>;
}

/** Sources of host functions: the session's context, and the builtins themselves. */
export interface HostServices extends Services {
  readonly described: readonly Described[];
}

/** A host function by its guest name, with arguments already checked. */
export type HostFunction = (services: HostServices, args: readonly Json[], scope: CallScope) => Json;

/**
 * Looks at the arguments of a call when it is made, and returns as how many sub-calls it counts.
 *
 * @throws RlmError with what is wrong: the guest's promise rejects
 */
export type CallCheck = (services: Services, args: readonly Json[], scope: CallScope, name: string) => number;

/** A builtin. Without guest code, cells call its function or its call by its name. */
export interface Builtin extends Described {
  /** The file beside it with guest code, which lives in the guest's heap and calls what follows. */
  readonly source?: URL;
  /**
   * Functions that answer at once, inside the machine's thread, by full name, such as
   * `helpers.check`. Read-only or idempotent.
   */
  readonly host?: Readonly<Record<string, HostFunction>>;
  /** Calls that the host answers later, and that the cell awaits. */
  readonly calls?: Readonly<Record<string, CallCheck>>;
  /** Other global names that the guest code installs. */
  readonly aliases?: readonly string[];
}

/**
 * Parameters in their order: positional arguments are checked against them. null counts as left
 * out.
 */
type Params = Readonly<Record<string, v.GenericSchema>>;
type Arguments<P extends Params> = v.InferOutput<v.ObjectSchema<P, undefined>>;

/** Schemas of parameters, with messages that follow the parameter's name. */
export const integer = v.pipe(v.number("must be an integer"), v.integer("must be an integer"));
export const string = v.string("must be a string");
/** A regular expression: a string, or a RegExp as the bridge hands it over. */
export const pattern = v.pipe(
  v.union([v.string(), v.object({ source: v.string(), flags: v.string() })], "must be a string or a RegExp"),
  v.transform((given) => (typeof given === "string" ? { source: given, flags: "" } : given)),
);
export const optional = <S extends v.GenericSchema>(schema: S) => v.optional(schema);

/** A builtin that answers at once, and what answers it. */
export interface Defined extends Described, Required<Pick<Builtin, "host">> {
  readonly run: HostFunction;
}

export function defineBuiltin<P extends Params>(
  definition: Described & {
    params: P;
    run(services: Services, args: Arguments<P>, scope: CallScope): Json;
  },
): Defined {
  const { params, run, ...described } = definition;
  const check = argumentCheck(definition.name, params);
  const answer: HostFunction = (services, args, scope) => run(services, check(args), scope);
  return { ...described, run: answer, host: { [definition.name]: answer } };
}

/**
 * Turns positional arguments into named ones, or throws a TypeError that names the first wrong one.
 */
export function argumentCheck<P extends Params>(name: string, params: P): (args: readonly Json[]) => Arguments<P> {
  const names = Object.keys(params);
  const schema = v.object(params);
  return (args) => {
    if (args.length > names.length) {
      throw argumentError("TypeError", `${name} takes ${usage(names)}`, `Leave out what comes after ${names.length}.`);
    }
    const pairs = names.map((key, index): [string, Json | undefined] => [key, args[index]]);
    const named = Object.fromEntries(
      pairs.filter(([key, value]) => value !== undefined && !(value === null && isOptional(params[key]))),
    );
    const checked = v.safeParse(schema, named);
    if (checked.success) return checked.output;
    const [issue] = checked.issues;
    const key = String(issue.path?.[0].key ?? "an argument");
    const wrong = key in named ? `${issue.message}, got ${shown(named[key])}` : "is missing";
    throw argumentError(
      "TypeError",
      `${name}: ${key} ${wrong}`,
      `Call it as ${name}(${names.join(", ")}); help("${name}") explains it.`,
    );
  };
}

const isOptional = (schema: v.GenericSchema | undefined) => schema?.type === "optional";

const usage = (names: readonly string[]) =>
  names.length === 0 ? "no arguments" : `${names.length} argument${names.length > 1 ? "s" : ""} (${names.join(", ")})`;

function shown(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
