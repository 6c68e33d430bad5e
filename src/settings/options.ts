import * as v from "valibot";
import { isRecord } from "../platform/json.ts";
import { isLimit, type Settings } from "./settings.ts";
import { type Key, ROWS, type SETTINGS } from "./table.ts";

export { SETTINGS } from "./table.ts";

// Options of sessions and fields of runs, by the paths that the table has for them: `maxDepth`, `limits.max_execution_ms`.

/** The options of a session that settings fill. */
export type SettingOptions = ValuesAt<"option">;

/** The fields of a run that settings fill. */
type RunFields = ValuesAt<"run">;

/** The options of a session that settings fill. A setting without an option is left out. */
export const optionsOf = (settings: Settings): SettingOptions => placed("option", settings);

/** The fields of a run that settings fill. */
export const runFieldsOf = (settings: Settings): RunFields => placed("run", settings);

/**
 * The options of a job's session: what its run asks for, within what its worker allows. Of each limit the lesser counts, and
 * what no run may set is the worker's alone.
 */
export function optionsOfJob(run: object, worker: object): SettingOptions;
export function optionsOfJob(run: object, worker: object): object {
  const options = {};
  for (const [key, { option, run: field }] of ROWS) {
    if (option === undefined) continue;
    const allowed = valueAt(worker, option);
    const asked = field === undefined ? allowed : valueAt(run, field);
    place(options, option, isLimit(key) ? least(asked, allowed) : asked);
  }
  return options;
}

/** Schemas of the fields that settings fill, for values that may be absent; without a group those that stand in none. */
export function schemasAt<P extends Place>(place: P): Schemas<P>;
export function schemasAt<P extends Place, Group extends GroupOf<P>>(place: P, group: Group): SchemasIn<P, Group>;
export function schemasAt(place: Place, group = ""): object {
  const schemas: Record<string, v.GenericSchema> = {};
  for (const [, row] of ROWS) {
    const names = row[place]?.split(".") ?? [];
    const [name = "", within = ""] = names.toReversed();
    if (names.length === 0 || within !== group) continue;
    const usual = typeof row.default === "string" ? row.default : undefined;
    schemas[name] = v.optional(row.default === null ? v.nullable(row.schema) : row.schema, usual);
  }
  return schemas;
}

/** The least of two numbers. Undefined and null, which is no limit, do not count. */
function least(a: unknown, b: unknown): number | undefined {
  const numbers = [a, b].filter((one) => typeof one === "number");
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}

function placed<P extends Place>(where: P, settings: Settings): ValuesAt<P>;
function placed(where: Place, settings: Settings): object {
  const fields = {};
  for (const [key, { [where]: path }] of ROWS) {
    if (path !== undefined) place(fields, path, settings[key]);
  }
  return fields;
}

/** Sets a field of an object or of a group in it, unless the value is undefined. */
function place(fields: object, path: string, value: unknown): void {
  if (value === undefined) return;
  const [group = "", name] = path.split(".");
  if (name === undefined) {
    Reflect.set(fields, group, value);
    return;
  }
  Reflect.set(fields, group, { ...Object(Reflect.get(fields, group)), [name]: value });
}

function valueAt(fields: object, path: string): unknown {
  const [group = "", name] = path.split(".");
  const value: unknown = Reflect.get(fields, group);
  if (name === undefined) return value;
  return isRecord(value) ? value[name] : undefined;
}

type Place = "option" | "run";

type Row<K extends Key> = (typeof SETTINGS)[K];

type PathOf<P extends Place, K extends Key> = K extends Key
  ? Row<K> extends { readonly [place in P]: infer Path extends string }
    ? Path
    : never
  : never;

/** The name of a field that stands in no group. */
type NameOf<P extends Place, K extends Key> = PathOf<P, K> extends `${string}.${string}` ? never : PathOf<P, K>;

type Behind<Group extends string, Path extends string> = Path extends `${Group}.${infer Name}` ? Name : never;
type NameIn<P extends Place, Group extends string, K extends Key> = Behind<Group, PathOf<P, K>>;

type GroupIn<Path extends string> = Path extends `${infer Group}.${string}` ? Group : never;

/** The groups of fields in a place, such as `limits`. */
type GroupOf<P extends Place> = GroupIn<PathOf<P, Key>>;

type ValuesAt<P extends Place> = { readonly [K in Key as NameOf<P, K>]?: Settings[K] } & {
  readonly [Group in GroupOf<P>]?: { readonly [K in Key as NameIn<P, Group, K>]?: Settings[K] };
};

type UsualOf<K extends Key> = Row<K> extends { readonly default: infer Usual } ? Usual : undefined;

type FieldSchema<K extends Key> = v.OptionalSchema<
  UsualOf<K> extends null ? v.NullableSchema<Row<K>["schema"], undefined> : Row<K>["schema"],
  UsualOf<K> extends string ? UsualOf<K> : undefined
>;

type Schemas<P extends Place> = { readonly [K in Key as NameOf<P, K>]: FieldSchema<K> };

type SchemasIn<P extends Place, Group extends string> = {
  readonly [K in Key as NameIn<P, Group, K>]: FieldSchema<K>;
};
