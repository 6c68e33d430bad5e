import { firstly } from "../../../runtime/index.ts";
import { canonical } from "../../context/index.ts";
import { RlmError } from "../../index.ts";
import { displayName } from "../../platform/ids.ts";
import { isWithin } from "../../platform/real-path.ts";
import { inLine, jsonText, visible } from "../../platform/visible.ts";
import { type Settings, usualLimit, variableOf } from "../../settings/index.ts";
import type { Signer } from "../../settings/signed-settings.ts";
import type { SessionRow } from "../../store/index.ts";
import { OPTION_FLAGS } from "../flags/declared.ts";
import type { SessionFlags } from "../flags/session-flags.ts";
import { commandLine } from "../flags/usage.ts";
import { flagOf } from "../flags/values.ts";
import type { Output } from "../render/terminal.ts";
import { type KeptSettings, keptSettings, type RecordedSettings } from "./kept-settings.ts";

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
  const kept = keptSettings(row.settings);
  if (!kept) return null;
  const doubt = signer.doubt(row.settings, row.id);
  return doubt === null ? { kept, doubt } : { kept: null, doubt, refused: kept };
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
    ...otherPlaces(refused, now),
  ];
  const open = others.filter(({ isSettled }) => !isSettled);
  const what = `the settings stored with ${displayName(row)} are ignored: ${inLine(doubt)}`;
  const listed = others.slice(0, LISTED);
  return {
    /** True if the user has not decided on some of them yet: the recorded settings then stay as they are. */
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

/** The number of roots that are compared, more than a person types. Each is looked up in the file system. */
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
