import { resolve } from "node:path";
import * as v from "valibot";
import { firstly } from "../../../runtime/index.ts";
import { canonical } from "../../context/index.ts";
import { type Json, RlmError, type SessionOptions } from "../../index.ts";
import { indexFolder } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { jsonOf, withoutUndefined } from "../../platform/json.ts";
import { isWithin } from "../../platform/paths.ts";
import { inLine, jsonText, visible } from "../../platform/visible.ts";
import { RecordedSchema, recordedOf, type Settings, usualLimit, variableOf } from "../../settings/index.ts";
import type { Signer } from "../../settings/signed-settings.ts";
import type { SessionRow } from "../../store/index.ts";
import { FORMATS, OPTION_FLAGS } from "../flags/declared.ts";
import type { AskedWorkflow, OptionFlags, ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import { commandLine } from "../flags/usage.ts";
import { flagOf } from "../flags/values.ts";
import type { Output } from "../render/terminal.ts";
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
  /** The workflow that the session runs, which may ask the user's agents; null: none. */
  readonly workflow: AskedWorkflow | null;
}

/** The settings that a session of the command records. */
export interface RecordedSettings {
  /** Those of the command that made the session. It continues them unless flags say otherwise. */
  readonly first: KeptSettings;
  /** Those of the newest command, for what it leaves unfinished; null: they are the first ones. */
  readonly newest: KeptSettings | null;
}

const OfWorkflow = v.object({
  name: v.string(),
  file: v.string(),
  text: v.string(),
  asked: v.string(),
  mark: v.string(),
  typed: v.array(v.string()),
  reuse: v.nullable(v.object({ session: v.string(), only: v.exactOptional(v.string()) })),
  unreported: v.exactOptional(v.literal(true)),
});

const OfCommand = v.object({
  settings: RecordedSchema,
  cwd: v.string(),
  model_chosen: v.optional(v.boolean(), false),
  workflow: v.optional(v.nullable(OfWorkflow), null),
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
  const { settings, cwd, output, workflow, model_chosen: isModelChosen, ...fields } = read;
  const { on_restart: onRestart, cache, keep_steps: keepSteps } = fields;
  const options = withoutUndefined({ onRestart, cache, keepSteps });
  return { settings, cwd, output, options, isModelChosen, workflow };
}

/** The settings as a row keeps them. */
export function rowOf(
  { first, newest }: RecordedSettings,
  more: { readonly folder?: string; readonly client?: string } = {},
): Json {
  const isSame = newest === null || JSON.stringify(fieldsOf(newest)) === JSON.stringify(fieldsOf(first));
  const unfinished = isSame ? {} : { unfinished: fieldsOf(newest) };
  // Undefined fields are left out.
  return jsonOf({ ...fieldsOf(first), ...more, ...unfinished });
}

function fieldsOf({ settings, cwd, options, output, isModelChosen, workflow }: KeptSettings): object {
  const chosen = isModelChosen ? { model_chosen: true } : {};
  const run = workflow ? { workflow } : {};
  const { onRestart: on_restart, cache, keepSteps: keep_steps } = options;
  return { settings, cwd, output, ...chosen, ...run, on_restart, cache, keep_steps };
}

/**
 * Settings that are to be kept: those that hold now, with roots and contexts as absolute paths.
 * Each process says where spans go, and which programs convert documents or are agents.
 */
export function settingsToKeep(
  all: Settings,
  { contexts, options, workflow }: Pick<SessionFlags, "contexts" | "options" | "workflow">,
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
    workflow: workflowToKeep(workflow, before?.workflow ?? null),
  };
}

/** The same run stays as it was begun: its user may have chosen whose answers it takes over. */
function workflowToKeep(asked: AskedWorkflow | null, before: AskedWorkflow | null): AskedWorkflow | null {
  if (asked === null) return before;
  return before && before.asked === asked.asked && asked.reuse === null ? before : asked;
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

/** Recorded settings that this user has signed. */
interface SignedSettings {
  readonly kept: RecordedSettings;
  readonly doubt: null;
}

/** Recorded settings that do not count. */
interface RefusedSettings {
  readonly kept: null;
  /** The reason, as a sentence's end. */
  readonly doubt: string;
  readonly refused: RecordedSettings;
}

/**
 * The settings that a session's row records; null for a session that the command did not make. A
 * store may come from another user, so they count only if signed.
 */
export function recordedSettings(row: SessionRow, signer: Signer): SignedSettings | RefusedSettings | null {
  const recorded = keptSettings(row.settings);
  if (!recorded) return null;
  const doubt = signer.doubt(row.settings, row.id);
  return doubt === null ? { kept: recorded, doubt } : { kept: null, doubt, refused: recorded };
}

/** Recorded settings that do not count, as far as this command has others. */
export function doubtedSettings(
  row: SessionRow,
  { doubt, refused: recorded }: RefusedSettings,
  now: KeptSettings,
  flags: SessionFlags,
  isTakenUp: boolean,
) {
  const refused = (isTakenUp ? recorded.newest : null) ?? recorded.first;
  const others = [
    ...otherValues(refused.settings, now.settings, flags),
    ...otherRoots(refused.settings, now.settings, flags),
    ...otherOptions(refused, now, flags),
    ...otherWorkflow(refused, now),
    ...otherPlaces(refused, now),
  ];
  const open = others.filter(({ isSettled }) => !isSettled);
  const what = `the settings stored with ${displayName(row)} are ignored: ${inLine(doubt)}`;
  const listed = others.slice(0, LISTED);
  return {
    /**
     * True if the user has not decided on some of them yet: the recorded settings then stay as they
     * are.
     */
    isOpen: open.length > 0,
    /** Names all of them, with what to type. */
    warn(stderr: Output): void {
      if (others.length === 0) return;
      const lines = listed.map(({ typed, here }) => `  ${typed}  (now: ${here})\n`);
      const more = others.length > LISTED ? `  and ${others.length - LISTED} more\n` : "";
      stderr.write(`${what}\n${lines.join("")}${more}${ADVICE}\n`, "yellow");
    },
    /** Refuses to resume an exec under other settings than it began with. @throws RlmError */
    refuse(): void {
      if (open.length === 0) return;
      const line = open.find(({ isLine }) => isLine)?.typed;
      if (line !== undefined) {
        const suggestion = `Read the script; \`${line}\` with its args begins the workflow for you.`;
        throw new RlmError("settings_untrusted", `${what}. Nothing was sent`, { suggestion });
      }
      const typed = open.slice(0, LISTED).map((other) => other.typed);
      const suggestion = `${firstly("addFlags", typed.join(" "))}, or other values.`;
      throw new RlmError("settings_untrusted", `${what}. Nothing was sent`, { suggestion });
    },
  };
}

const LISTED = 20;
const ADVICE = "Add those that you want to the command. A server gets your texts and your key; a root can be read.";

/** One setting that differs: what would give it the recorded value, and its value here. */
interface Other {
  readonly typed: string;
  readonly here: string;
  /** The user has decided on it, or it grants and changes nothing that matters. */
  readonly isSettled: boolean;
  /** It is a line of its own, not a part of this one. */
  readonly isLine?: true;
}

function otherValues(refused: Settings, now: Settings, { settings }: SessionFlags): Other[] {
  const held = new Map<string, unknown>(Object.entries(now));
  return Object.entries({ ...refused, roots: undefined }).flatMap(([key, recorded]) => {
    const here = held.has(key) ? held.get(key) : usualLimit(key);
    if (recorded === undefined || recorded === here) return [];
    const isSettled = Object.hasOwn(settings, key) || (!flagOf(key) && Boolean(process.env[variableOf(key)]));
    return [{ typed: typedAs(key, String(recorded)), here: shown(here), isSettled }];
  });
}

function otherRoots(refused: Settings, now: Settings, { settings, contexts }: SessionFlags): Other[] {
  const isSettled = settings.roots !== undefined || contexts.length > 0;
  const allowed = (now.roots ?? []).map((root) => canonical(root));
  const isBeyond = (root: string) => !allowed.some((folder) => isWithin(folder, canonical(root)));
  const beyond = (refused.roots ?? []).slice(0, ROOTS).filter(isBeyond);
  return beyond.map((root) => ({ typed: words("--root", root), here: "not allowed", isSettled }));
}

/**
 * The number of roots that are compared, more than a person types. Each is looked up in the file
 * system.
 */
const ROOTS = 100;

function otherOptions(refused: KeptSettings, now: KeptSettings, { options }: SessionFlags): Other[] {
  const { onRestart: recorded = "send" } = refused.options;
  const { onRestart: here = "send" } = now.options;
  const restart = { typed: words("--on-restart", recorded), here, isSettled: options.onRestart !== undefined };
  // A switch cannot be typed so that it is off.
  const switches = (["cache", "keepSteps"] as const).filter((name) => refused.options[name] && !now.options[name]);
  const typed = switches.map((name) => ({ typed: `--${OPTION_FLAGS[name].name}`, here: "off", isSettled: true }));
  return [...(recorded === here ? [] : [restart]), ...typed];
}

/** A workflow that may ask agents: only the user begins it. */
function otherWorkflow({ workflow }: KeptSettings, now: KeptSettings): Other[] {
  if (workflow === null || now.workflow !== null) return [];
  const typed = commandLine(["workflow", shown(workflow.file)]);
  return [{ typed, here: "no agents are lent", isSettled: false, isLine: true }];
}

/** The place of the result and the folder of the cells: these grant nothing. */
function otherPlaces({ output: { file, format }, cwd }: KeptSettings, now: KeptSettings): Other[] {
  const others: Other[] = [];
  if (file !== null && file !== now.output.file) {
    others.push({ typed: words("--output", file), here: shown(now.output.file ?? "stdout"), isSettled: true });
  }
  if (format !== null && format !== now.output.format) {
    others.push({ typed: words("--format", format), here: now.output.format ?? "none", isSettled: true });
  }
  if (cwd !== now.cwd) others.push({ typed: words("cd", cwd), here: shown(now.cwd), isSettled: true });
  return others;
}

function typedAs(key: string, value: string): string {
  const flag = flagOf(key);
  return flag ? words(`--${flag.name}`, value) : `${variableOf(key)}=${value}`;
}

/** Words for a shell, without `belay`. Texts of a store must not make lines of their own. */
function words(flag: string, value: string): string {
  return commandLine([flag, shown(value)]).slice("belay ".length);
}

/** A value as it is printed. */
export function shown(value: unknown): string {
  const text = String(value ?? "none");
  const seen = visible(text);
  return seen === text && !text.includes("\n") ? text : jsonText(text);
}
