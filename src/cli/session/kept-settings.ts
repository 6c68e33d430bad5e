import { existsSync } from "node:fs";
import { resolve } from "node:path";
import * as v from "valibot";
import { type Settings, SettingsSchema } from "../../config/index.ts";
import type { Json, SessionOptions } from "../../index.ts";
import { indexFolder } from "../../platform/home.ts";
import { given } from "../../platform/json.ts";
import { FORMATS, OPTION_FLAGS } from "../flags/declared.ts";
import type { Flag } from "../flags/flag.ts";
import type { OptionFlags, ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import { documentOptions, sessionOptions } from "./settings.ts";

/** The settings that a session of the command began with. It goes on with them unless flags say otherwise. Never a key. */
export interface KeptSettings {
  readonly settings: Settings;
  /** Relative paths of its cells are relative to this folder. */
  readonly cwd: string;
  /** Options that flags have filled. */
  readonly options: OptionFlags;
  /** The place of the last result. */
  readonly output: ResultPlace;
  /** The command has chosen the model, since nothing named one. */
  readonly isModelChosen: boolean;
}

/** Flags that are kept with a session, by the option that each fills. */
export const KEPT_FLAGS: readonly (readonly [option: string, flag: Flag])[] = Object.entries(OPTION_FLAGS).filter(
  ([, flag]: [string, Flag]) => flag.kept,
);

/** The field of a row's settings that keeps a flag. */
const fieldOf = ({ name }: Flag) => name.replaceAll("-", "_");

/** Earlier versions have kept none. */
const NOWHERE: ResultPlace = { file: null, format: null };

const KeptSchema = v.looseObject({
  settings: v.omit(SettingsSchema, ["otlp", "convert"]),
  cwd: v.string(),
  model_chosen: v.optional(v.boolean(), false),
  output: v.optional(v.object({ file: v.nullable(v.string()), format: v.nullable(v.picklist(FORMATS)) }), NOWHERE),
});

/** The settings of a session's row; null if the command did not make the session. */
export function keptSettings(row: Json): KeptSettings | null {
  const read = v.safeParse(KeptSchema, row);
  if (!read.success) return null;
  const { settings, cwd, output, model_chosen: isModelChosen, ...fields } = read.output;
  const options = optionsIn(fields);
  return options && { settings, cwd, output, options, isModelChosen };
}

/** The options that fields of a row fill; null if one of them has a wrong value. */
function optionsIn(fields: Readonly<Record<string, unknown>>): OptionFlags | null;
function optionsIn(fields: Readonly<Record<string, unknown>>): object | null {
  const found = KEPT_FLAGS.filter(([, flag]) => Object.hasOwn(fields, fieldOf(flag)));
  if (!found.every(([, flag]) => flag.type.accepts(fields[fieldOf(flag)]))) return null;
  return Object.fromEntries(found.map(([option, flag]) => [option, fields[fieldOf(flag)]]));
}

/** The settings as a row keeps them. */
export function rowOf(
  { settings, cwd, options, output, isModelChosen }: KeptSettings,
  more: { readonly folder?: string } = {},
): Json {
  const values = new Map<string, unknown>(Object.entries(options));
  const kept = KEPT_FLAGS.filter(([option]) => values.has(option));
  const fields = kept.map(([option, flag]) => [fieldOf(flag), values.get(option)]);
  const chosen = isModelChosen ? { model_chosen: true } : {};
  return JSON.parse(JSON.stringify({ settings, cwd, output, ...chosen, ...Object.fromEntries(fields), ...more }));
}

/**
 * Settings that are to be kept: those that hold now, with roots and contexts as absolute paths. Each process says where spans go,
 * and which programs convert documents.
 */
export function settingsToKeep(
  { otlp: _, convert: __, ...settings }: Settings,
  { contexts, options }: Pick<SessionFlags, "contexts" | "options">,
  output: ResultPlace,
  before: KeptSettings | null,
  isModelChosen: boolean,
): KeptSettings {
  const paths = [...(settings.roots ?? []), ...contexts.filter((path) => path !== "-")].map((path) => resolve(path));
  const roots = [...new Set([...(before?.settings.roots ?? []), ...paths])];
  return {
    settings: { ...settings, roots },
    cwd: before?.cwd ?? process.cwd(),
    options: { ...before?.options, ...options },
    output,
    isModelChosen,
  };
}

/** Recorded roots that do not exist any more. */
export function goneRoots({ settings: { roots = [] } }: Pick<KeptSettings, "settings">): readonly string[] {
  return roots.filter((root) => !existsSync(root));
}

export function withoutRoots(kept: KeptSettings, left: readonly string[]): KeptSettings {
  const { roots = [] } = kept.settings;
  return { ...kept, settings: { ...kept.settings, roots: roots.filter((root) => !left.includes(root)) } };
}

/** Kept settings with one more context that the user named. */
export function withRoot(kept: KeptSettings, path: string): KeptSettings {
  const { roots = [] } = kept.settings;
  return { ...kept, settings: { ...kept.settings, roots: [...new Set([...roots, resolve(path)])] } };
}

/** The kept settings, as the session takes them. */
export function optionsOf({ settings, cwd, options, isModelChosen }: KeptSettings): SessionOptions {
  const indexDir = indexFolder(process.env);
  return {
    ...sessionOptions(settings),
    ...options,
    modelChosen: isModelChosen,
    roots: settings.roots ?? [],
    cwd,
    ...given({ indexDir, convert: documentOptions().convert }),
  };
}
