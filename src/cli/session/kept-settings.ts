import { resolve } from "node:path";
import * as v from "valibot";
import type { Json, SessionOptions } from "../../index.ts";
import { indexFolder } from "../../platform/home.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import { RecordedSchema, recordedOf, type Settings } from "../../settings/index.ts";
import { FORMATS } from "../flags/declared.ts";
import type { OptionFlags, ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import { documentOptions, sessionOptions } from "./settings.ts";

/** The settings of one command. Never a key. */
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

/** The settings that a session of the command records. */
export interface RecordedSettings {
  /** Those of the command that made the session. It continues them unless flags say otherwise. */
  readonly first: KeptSettings;
  /** Those of the newest command, for what it leaves unfinished; null: they are the first ones. */
  readonly newest: KeptSettings | null;
}

const OfCommand = v.object({
  settings: RecordedSchema,
  cwd: v.string(),
  model_chosen: v.optional(v.boolean(), false),
  output: v.object({ file: v.nullable(v.string()), format: v.nullable(v.picklist(FORMATS)) }),
  on_restart: v.optional(v.picklist(["send", "fail"])),
  cache: v.optional(v.boolean()),
  keep_steps: v.optional(v.boolean()),
});

const KeptSchema = v.object({ ...OfCommand.entries, unfinished: v.optional(v.nullable(OfCommand), null) });

/** The settings of a session's row; null if the command did not make the session. */
export function keptSettings(row: Json): RecordedSettings | null {
  const read = v.safeParse(KeptSchema, row);
  if (!read.success) return null;
  const { unfinished, ...first } = read.output;
  return { first: settingsOf(first), newest: unfinished && settingsOf(unfinished) };
}

function settingsOf(read: v.InferOutput<typeof OfCommand>): KeptSettings {
  const { settings, cwd, output, model_chosen: isModelChosen, ...fields } = read;
  const { on_restart: onRestart, cache, keep_steps: keepSteps } = fields;
  return { settings, cwd, output, options: withoutUndefined({ onRestart, cache, keepSteps }), isModelChosen };
}

/** The settings as a row keeps them. */
export function rowOf(
  { first, newest }: RecordedSettings,
  more: { readonly folder?: string; readonly client?: string } = {},
): Json {
  const isSame = newest === null || JSON.stringify(fieldsOf(newest)) === JSON.stringify(fieldsOf(first));
  const unfinished = isSame ? {} : { unfinished: fieldsOf(newest) };
  // What is undefined is left out.
  return jsonOf({ ...fieldsOf(first), ...more, ...unfinished });
}

function fieldsOf({ settings, cwd, options, output, isModelChosen }: KeptSettings): object {
  const chosen = isModelChosen ? { model_chosen: true } : {};
  const { onRestart: on_restart, cache, keepSteps: keep_steps } = options;
  return { settings, cwd, output, ...chosen, on_restart, cache, keep_steps };
}

/**
 * Settings that are to be kept: those that hold now, with roots and contexts as absolute paths. Each process says where spans go,
 * and which programs convert documents.
 */
export function settingsToKeep(
  all: Settings,
  { contexts, options }: Pick<SessionFlags, "contexts" | "options">,
  output: ResultPlace,
  before: KeptSettings | null,
  isModelChosen: boolean,
): KeptSettings {
  const settings = recordedOf(all);
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

/** Kept settings without some roots, and with others. */
export function withRoots(kept: KeptSettings, without: readonly string[], more: readonly string[] = []): KeptSettings {
  const roots = (kept.settings.roots ?? []).filter((root) => !without.includes(root));
  return { ...kept, settings: { ...kept.settings, roots: [...new Set([...roots, ...more])] } };
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
    ...withoutUndefined({ indexDir, convert: documentOptions().convert }),
  };
}
