import { resolve } from "node:path";
import * as v from "valibot";
import { given, type Settings, SettingsSchema } from "../../config/index.ts";
import { indexFolder } from "../../home.ts";
import type { Json, SessionOptions } from "../../index.ts";
import type { DurableFlags } from "../flags/store-flags.ts";
import { FORMATS } from "../render/formats.ts";
import type { ResultPlace } from "../running/delivery.ts";
import { sessionOptions } from "./settings.ts";

/** With what a session of the command was begun: it goes on with these where flags say nothing else. Never a key. */
export interface KeptSettings {
  readonly settings: Settings;
  /** What relative paths of its cells were relative to. */
  readonly cwd: string;
  readonly on_restart?: "send" | "fail";
  readonly cache?: boolean;
  readonly keep_steps?: boolean;
  /** Where the last result goes. */
  readonly output: ResultPlace;
}

/** Earlier versions have kept none. */
const NOWHERE: ResultPlace = { file: null, format: null };

const KeptSchema = v.object({
  settings: SettingsSchema,
  cwd: v.string(),
  on_restart: v.exactOptional(v.picklist(["send", "fail"])),
  cache: v.exactOptional(v.boolean()),
  keep_steps: v.exactOptional(v.boolean()),
  output: v.optional(v.object({ file: v.nullable(v.string()), format: v.nullable(v.picklist(FORMATS)) }), NOWHERE),
});

/** What a session's row has; null for one that the command did not make. */
export function keptSettings(settings: Json): KeptSettings | null {
  const read = v.safeParse(KeptSchema, settings);
  return read.success ? read.output : null;
}

/** What is to be kept: the settings that hold now, its roots and contexts as absolute paths. */
export function settingsToKeep(
  settings: Settings,
  contexts: readonly string[],
  flags: Pick<DurableFlags, "onRestart" | "cache" | "keepSteps">,
  output: ResultPlace,
  before: KeptSettings | null,
): KeptSettings {
  const here = before?.cwd ?? process.cwd();
  const paths = [...(settings.roots ?? []), ...contexts.filter((path) => path !== "-")].map((path) => resolve(path));
  const roots = [...new Set([...(before?.settings.roots ?? []), ...paths])];
  const {
    on_restart = before?.on_restart,
    cache = before?.cache,
    keep_steps = before?.keep_steps,
  } = given({
    on_restart: flags.onRestart,
    cache: flags.cache,
    keep_steps: flags.keepSteps,
  });
  return { settings: { ...settings, roots }, cwd: here, output, ...given({ on_restart, cache, keep_steps }) };
}

/** With one more context that the user named. */
export function withRoot(kept: KeptSettings, path: string): KeptSettings {
  const { roots = [] } = kept.settings;
  return { ...kept, settings: { ...kept.settings, roots: [...new Set([...roots, resolve(path)])] } };
}

/** What is kept, as the session takes it. */
export function optionsOf({ settings, cwd, on_restart, cache, keep_steps }: KeptSettings): SessionOptions {
  const indexDir = indexFolder(process.env);
  return {
    ...sessionOptions(settings),
    roots: settings.roots ?? [],
    cwd,
    ...(indexDir === undefined ? {} : { indexDir }),
    ...(on_restart === undefined ? {} : { onRestart: on_restart }),
    ...(cache === undefined ? {} : { cache }),
    ...(keep_steps === undefined ? {} : { keepSteps: keep_steps }),
  };
}
