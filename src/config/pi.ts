import { dirname, join } from "node:path";
import * as v from "valibot";
import { nearest } from "../platform/nearest.ts";
import { readVariables } from "./config.ts";
import { projectSettings, readObject, readProjectObject, readUserFile, userSettings } from "./files.ts";
import { lowered } from "./lowered.ts";
import { INGEST_DEFAULTS, INGEST_ENTRIES } from "./pi-ingest.ts";
import { exempted, READ_CACHE_ENTRIES } from "./pi-read-cache.ts";
import { READING_DEFAULTS, READING_ENTRIES } from "./pi-reading.ts";
import { invalidConfig } from "./problems.ts";
import { KEYS, type Settings, variableOf } from "./settings.ts";
import { given } from "./texts.ts";

const MODEL = "must be PROVIDER/ID, as /model lists them";
const SWITCH = "must be true or false";
const NAMES = "must be a list of names of tools";
const WAIT = "must be a number of seconds from 0 to 3600";
const PART = "must be a part of the model's window, from 0.1 to 0.9";
const TOKENS = "must be a whole number of tokens from 100 to 100000";
const ANSWERS = "must be a whole number of answers from 0 to 100";
const COMPACTION = 'must be "objects" or "pi"';

const part = v.pipe(v.number(PART), v.minValue(0.1, PART), v.maxValue(0.9, PART));
const tokens = v.pipe(v.number(TOKENS), v.safeInteger(TOKENS), v.minValue(100, TOKENS), v.maxValue(100_000, TOKENS));
const answers = v.pipe(v.number(ANSWERS), v.safeInteger(ANSWERS), v.minValue(0, ANSWERS), v.maxValue(100, ANSWERS));

const PiSchema = v.strictObject({
  /** Model of sub-calls; default: the one that Pi uses. */
  sub_model: v.exactOptional(v.pipe(v.string(MODEL), v.regex(/^[^/\s]+\/\S+$/, MODEL))),
  /** Goes on with the turn once an interrupted call is finished. */
  auto_continue: v.exactOptional(v.boolean(SWITCH)),
  /** Tools beyond reading that sub-agents may ask for: bash, write, edit. */
  allowed_tool_overrides: v.exactOptional(v.array(v.string(NAMES), NAMES)),
  /** Ask for each call that wants one. */
  require_approval: v.exactOptional(v.boolean(SWITCH)),
  /** Time that a prompt waits for an interrupted call to be finished, s. */
  prompt_wait_s: v.exactOptional(v.pipe(v.number(WAIT), v.minValue(0, WAIT), v.maxValue(3600, WAIT))),
  /** Old texts of the conversation are sent as stubs. */
  externalize: v.exactOptional(v.boolean(SWITCH)),
  /** The part of the window from which on an epoch happens, and the part that it comes down to. */
  externalize_at: v.exactOptional(part),
  externalize_to: v.exactOptional(part),
  /** Smaller texts stay, tokens. */
  externalize_min_tokens: v.exactOptional(tokens),
  /** The message in the place of folded turns, tokens. */
  manifest_tokens: v.exactOptional(tokens),
  /** Answers of the model for which a result of our tools stays. */
  warm_turns: v.exactOptional(answers),
  /** The compactor if a request would still be too large. */
  compaction: v.exactOptional(v.picklist(["objects", "pi"], COMPACTION)),
  ...READING_ENTRIES,
  ...INGEST_ENTRIES,
  ...READ_CACHE_ENTRIES,
});

/** Defaults for the conversation's old texts. */
export const OUTSIDE_DEFAULTS = {
  externalize: true,
  externalize_at: 0.6,
  externalize_to: 0.3,
  externalize_min_tokens: 200,
  manifest_tokens: 2000,
  warm_turns: 3,
  compaction: "objects",
} as const;

/** An epoch that freed less than this part of the window would be followed by the next one at once. */
const LEAST_PART = 0.1;

type PiKeys = v.InferOutput<typeof PiSchema>;

/** Beside Pi's own model: each level may keep four guests of about 33 MB alive. */
const MOST_DEPTH = 3;

/** Settings inside Pi: limits and roots as everywhere, and keys that only Pi has. */
export type PiSettings = Readonly<Omit<Settings, "model" | "base_url" | "api_key_env" | "price"> & PiKeys>;

/** Pi has models and keys of its own. */
const MODELS_OF_PI: readonly string[] = ["model", "base_url", "api_key_env"];
const NOT_IN_PI: readonly string[] = [...MODELS_OF_PI, "price"];

const OWN_KEYS: readonly string[] = Object.keys(PiSchema.entries);

/** Every key of belay.json. */
export const PI_KEYS: readonly string[] = [...OWN_KEYS, ...KEYS.filter((key) => !NOT_IN_PI.includes(key))];

/** Keys that a project may lower. */
const LOWERED_KEYS = ["confirm_calls", "max_ingest_files", "max_ingest_bytes"] as const;
const LOWERED = { ...READING_DEFAULTS, ...INGEST_DEFAULTS };
type Lowered = { readonly [key in (typeof LOWERED_KEYS)[number]]?: number };

/** Keys that a project may only switch off. */
const PROJECT_OFF = ["externalize", "read_cache"] as const;

/** A project may choose the model, switch these off, lower these, exempt files, and set nothing else of Pi's own keys. */
const OF_PROJECTS: readonly string[] = ["sub_model", "read_cache_exclude", ...PROJECT_OFF, ...LOWERED_KEYS];
const PI_USER_ONLY = OWN_KEYS.filter((key) => !OF_PROJECTS.includes(key));

/** Places in which Pi's configuration is looked for. */
export interface PiConfigPlaces {
  /** The project; its file is `.pi/belay.json`. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Pi's folder; the user's file is `belay.json` there. */
  readonly agentDir: string;
  /** `~/.belay/config.json`, below both. */
  readonly userFile: string;
}

export const projectFileOf = ({ cwd }: Pick<PiConfigPlaces, "cwd">) => join(cwd, ".pi", "belay.json");
export const agentFileOf = ({ agentDir }: Pick<PiConfigPlaces, "agentDir">) => join(agentDir, "belay.json");

/** The settings of the project's file, unchecked. @throws RlmError `invalid_config` */
function readPiProject(places: Pick<PiConfigPlaces, "cwd">): Readonly<Record<string, unknown>> {
  const path = projectFileOf(places);
  return readProjectObject(path, dirname(path));
}

/**
 * The settings inside Pi: `BELAY_*` variables before the project's file before the one in the agent dir before
 * `~/.belay/config.json`. The project's may lower limits and choose a model (semantics 37).
 *
 * @throws RlmError `invalid_config`, naming the file and the key
 */
export function readPiConfig(places: PiConfigPlaces): PiSettings {
  const agentFile = agentFileOf(places);
  const projectFile = projectFileOf(places);
  const user = partOf(readObject(agentFile), agentFile);
  const below = readUserFile(places.userFile);
  const users = { ...below, ...userSettings(user.settings, agentFile) };
  const project = partOf(readPiProject(places), projectFile);
  const refused = PI_USER_ONLY.find((key) => Object.hasOwn(project.own, key));
  if (refused) throw invalidConfig(`${projectFile}: a project may not set ${refused}`, `Set it in ${agentFile}.`);
  const on = PROJECT_OFF.find((key) => project.own[key] === true);
  if (on) throw invalidConfig(`${projectFile}: a project may set ${on} to false only`, `Set it in ${agentFile}.`);
  checkParts(user.own, agentFile);
  const named = { path: projectFile, folder: places.cwd, userFile: agentFile };
  const projects = projectSettings(project.settings, named);
  const asked = readVariables(places.env);
  const limits = lowered(users, projects, asked, { projectFile, userFile: agentFile });
  checkDepth([
    { place: `${variableOf("max_depth")} is`, depth: asked.max_depth },
    { place: `${projectFile}: max_depth is`, depth: projects.max_depth },
    { place: `${agentFile}: max_depth is`, depth: user.settings.max_depth },
    { place: `${places.userFile}: max_depth is`, depth: below.max_depth, cure: ` in ${agentFile}` },
  ]);
  const {
    model: _model,
    base_url: _url,
    api_key_env: _key,
    ...settings
  } = { ...users, ...projects, ...limits, ...asked };
  const lesser = loweredOwn(user.own, project.own, { projectFile, userFile: agentFile });
  return { ...given(settings), ...user.own, ...project.own, ...lesser, ...exempted(user.own, project.own) };
}

/** The lesser of the project's numbers and the user's. @throws RlmError `invalid_config` if the project raises one */
function loweredOwn(
  users: Lowered,
  projects: Lowered,
  { projectFile, userFile }: { readonly projectFile: string; readonly userFile: string },
): Lowered {
  const lesser: { -readonly [key in keyof Lowered]: Lowered[key] } = {};
  for (const key of LOWERED_KEYS) {
    const { [key]: usual } = LOWERED;
    const { [key]: own = usual } = users;
    const { [key]: asked } = projects;
    if (asked === undefined) continue;
    const most = Math.max(usual, own);
    if (asked > most) {
      const problem = `${projectFile}: ${key} is ${asked}; a project may lower it, and it is ${most}`;
      throw invalidConfig(problem, `Set it in ${userFile}.`);
    }
    lesser[key] = Math.min(asked, own);
  }
  return lesser;
}

/**
 * The model of sub-calls if the project's file alone names it, with that file; null: the user has chosen it.
 *
 * @throws RlmError `invalid_config`
 */
export function subModelOfProject(places: Pick<PiConfigPlaces, "cwd" | "agentDir">): {
  readonly model: string;
  readonly file: string;
  readonly userFile: string;
} | null {
  const file = projectFileOf(places);
  const userFile = agentFileOf(places);
  const { sub_model: model } = partOf(readPiProject(places), file).own;
  if (model === undefined || model === partOf(readObject(userFile), userFile).own.sub_model) return null;
  return { model, file, userFile };
}

interface Depth {
  readonly place: string;
  readonly depth: unknown;
  /** The place to set it instead: the command may go deeper by the same file. */
  readonly cure?: string;
}

/** The first of the places that names a depth counts. @throws RlmError `invalid_config` if that is deeper than Pi allows */
function checkDepth(places: readonly Depth[]): void {
  const counts = places.find(({ depth }) => depth !== undefined);
  if (typeof counts?.depth !== "number" || counts.depth <= MOST_DEPTH) return;
  const { place, depth, cure = "" } = counts;
  throw invalidConfig(
    `${place} ${depth}; in Pi it is ${MOST_DEPTH} at the most`,
    `Set it to ${MOST_DEPTH} or less${cure}.`,
  );
}

/** @throws RlmError `invalid_config` if an epoch would begin too near to where it ends */
function checkParts(own: PiKeys, path: string): void {
  const { externalize_at: at, externalize_to: to } = { ...OUTSIDE_DEFAULTS, ...own };
  // Whole hundredths are compared, since 0.4 - 0.1 is not 0.3.
  if (Math.round(to * 100) <= Math.round((at - LEAST_PART) * 100)) return;
  const problem = `${path}: externalize_to is ${to} and externalize_at ${at}; an epoch must free a tenth of the window`;
  throw invalidConfig(problem, `Set externalize_to to ${(at - LEAST_PART).toFixed(2)} at the most.`);
}

interface Part {
  readonly own: PiKeys;
  /** Those that are not only Pi's; not checked yet. */
  readonly settings: Readonly<Record<string, unknown>>;
}

function partOf(given: Readonly<Record<string, unknown>>, path: string): Part {
  const own: Record<string, unknown> = {};
  const settings: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(given)) {
    if (!PI_KEYS.includes(key)) throw unknownKey(key, path);
    if (OWN_KEYS.includes(key)) own[key] = value;
    else settings[key] = value;
  }
  const checked = v.safeParse(PiSchema, own);
  if (checked.success) return { own: checked.output, settings };
  const [issue] = checked.issues;
  throw invalidConfig(`${path}: ${String(issue.path?.[0].key)} ${issue.message}`, "Correct it, or take it out.");
}

function unknownKey(key: string, path: string) {
  const meant = MODELS_OF_PI.includes(key) ? "sub_model" : nearest(key, PI_KEYS);
  const question = meant ? `; did you mean ${meant}?` : "";
  return invalidConfig(`${path}: unknown key ${key}${question}`, `Keys are ${PI_KEYS.join(", ")}.`);
}
