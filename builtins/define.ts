import { type Static, type TProperties, Type } from "typebox";
import { Compile } from "typebox/compile";
import { argumentError, type CallScope, type Json } from "../runtime/index.ts";
import type { Services } from "./services.ts";

/** What documentation, editor types and the prompt line are generated from. */
export interface Described {
  readonly name: string;
  /** TypeScript signatures as a cell sees them, one a line; for a namespace those of its members. */
  readonly signature: string;
  /** One sentence, with shapes and units. */
  readonly summary: string;
  /** A cell that runs as it stands, over any context. */
  readonly example: string;
  /** Declarations of the types that the signature names. */
  readonly types?: string;
}

/** A host function by its guest name, with arguments already checked. */
export type HostFunction = (services: Services, args: readonly Json[], scope: CallScope) => Json;

/** Answers at once, inside the worker. Read-only or idempotent. */
export interface SyncBuiltin extends Described {
  readonly kind: "sync";
  readonly run: HostFunction;
}

/** Its answer comes later, from the host; the cell awaits it. */
export interface AsyncBuiltin extends Described {
  readonly kind: "async";
  readonly check: (args: readonly Json[]) => void;
}

/** Lives in the guest's heap, as guest code in the file beside it; `host` are the functions that this code calls. */
export interface GuestBuiltin extends Described {
  readonly kind: "guest";
  readonly source: URL;
  /** By full name, such as `helpers.check`: only guest modules can call it. */
  readonly host: Readonly<Record<string, HostFunction>>;
  /** Other global names that the guest code installs. */
  readonly aliases: readonly string[];
}

export type Builtin = SyncBuiltin | AsyncBuiltin | GuestBuiltin;

/** Parameters in their order: positional arguments are checked against them. Optional ones may be undefined or null. */
type Params = TProperties;

export function defineBuiltin<P extends Params>(
  definition: Described & {
    params: P;
    run(services: Services, args: Static<ReturnType<typeof Type.Object<P>>>, scope: CallScope): Json;
  },
): SyncBuiltin {
  const { params, run, ...described } = definition;
  const check = argumentCheck(definition.name, params);
  return { ...described, kind: "sync", run: (services, args, scope) => run(services, check(args), scope) };
}

export function defineAsyncBuiltin<P extends Params>(definition: Described & { params: P }): AsyncBuiltin {
  const { params, ...described } = definition;
  return { ...described, kind: "async", check: argumentCheck(definition.name, params) };
}

export function defineGuestBuiltin(
  definition: Described & { source: URL; host?: Readonly<Record<string, HostFunction>>; aliases?: readonly string[] },
): GuestBuiltin {
  return { ...definition, kind: "guest", host: definition.host ?? {}, aliases: definition.aliases ?? [] };
}

/** Turns positional arguments into named ones, or throws a TypeError that names the first wrong one. */
export function argumentCheck<P extends Params>(
  name: string,
  params: P,
): (args: readonly Json[]) => Static<ReturnType<typeof Type.Object<P>>> {
  const names = Object.keys(params);
  const schema = Type.Object(params);
  let compiled: ReturnType<typeof Compile<typeof schema>> | undefined;
  return (args) => {
    compiled ??= Compile(schema);
    const named: Record<string, Json> = {};
    names.forEach((key, index) => {
      const value = args[index];
      const optional = Type.IsOptional(params[key]);
      if (value !== undefined && !(optional && value === null)) named[key] = value;
    });
    if (args.length > names.length) {
      throw argumentError("TypeError", `${name} takes ${usage(names)}`, `Leave out what comes after ${names.length}.`);
    }
    if (compiled.Check(named)) return named;
    const missing = names.find((key) => !(key in named) && !Type.IsOptional(params[key]));
    const [first] = compiled.Errors(named).filter(({ keyword }) => keyword !== "required");
    const key = first?.instancePath.split("/")[1] ?? missing ?? "";
    const wrong = first ? `${first.message}, got ${shown(named[key])}` : "is missing";
    throw argumentError(
      "TypeError",
      `${name}: ${key} ${wrong}`,
      `Call it as ${name}(${names.join(", ")}); \`docs/builtins.md\` has the types.`,
    );
  };
}

const usage = (names: readonly string[]) =>
  names.length === 0 ? "no arguments" : `${names.length} argument${names.length > 1 ? "s" : ""} (${names.join(", ")})`;

function shown(value: Json | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
