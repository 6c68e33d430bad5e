import { LIMIT_DEFAULTS, type Settings, variableOf } from "../../config/index.ts";
import { canonical, isWithin } from "../../context/index.ts";
import { sessionLabel } from "../../ids.ts";
import { RlmError } from "../../index.ts";
import type { Signer } from "../../signed-settings.ts";
import type { SessionRow } from "../../store/index.ts";
import { SESSION_OPTIONS, type SessionFlags } from "../flags/session-flags.ts";
import { commandLine } from "../flags/usage.ts";
import type { Output } from "../render/terminal.ts";
import { type KeptSettings, keptSettings } from "./kept-settings.ts";

/** What a session's row says that it was begun with. A store may come from somebody else, so it counts only if signed. */
export type Recorded =
  | { readonly kept: KeptSettings; readonly doubt: null }
  /** Why it does not count, as a sentence's end. */
  | { readonly kept: null; readonly doubt: string; readonly refused: KeptSettings };

/** null for a session that the command did not make. */
export function recordedSettings(row: SessionRow, signer: Signer): Recorded | null {
  const kept = keptSettings(row.settings);
  if (!kept) return null;
  const doubt = signer.doubt(row.settings, row.id);
  return doubt === null ? { kept, doubt } : { kept: null, doubt, refused: kept };
}

/** Recorded settings that do not count, as far as this command has others. */
export interface Doubted {
  /** Whether the user has said nothing yet on some of them: what was recorded is then left as it is. */
  readonly isOpen: boolean;
  /** Names all of them, with what to type. */
  warn(stderr: Output): void;
  /** To be called before what was begun goes on: it would go on otherwise than it began. @throws RlmError */
  refuse(): void;
}

export function doubtedSettings(
  row: SessionRow,
  { doubt, refused }: Extract<Recorded, { kept: null }>,
  now: KeptSettings,
  flags: SessionFlags,
): Doubted {
  const others = otherSettings(refused, now, flags);
  const open = others.filter(({ isSettled }) => !isSettled);
  const what = `the settings that ${sessionLabel(row)} recorded do not count: ${doubt}`;
  const listed = others.slice(0, LISTED);
  return {
    isOpen: open.length > 0,
    warn(stderr) {
      if (others.length === 0) return;
      const lines = listed.map(({ typed, here }) => `  ${typed}  (now: ${here})\n`);
      const more = others.length > LISTED ? `  and ${others.length - LISTED} more\n` : "";
      stderr.write(`${what}\n${lines.join("")}${more}${ADVICE}\n`, "yellow");
    },
    refuse() {
      if (open.length === 0) return;
      const typed = open.slice(0, LISTED).map((other) => other.typed);
      const suggestion = `Add to the command: ${typed.join(" ")} (or other values).`;
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

function otherSettings(
  refused: KeptSettings,
  now: KeptSettings,
  { settings, contexts, durable }: SessionFlags,
): Other[] {
  const others: Other[] = [];
  for (const [key, recorded] of Object.entries({ ...refused.settings, roots: undefined })) {
    const here = valueIn(now.settings, key);
    if (recorded === undefined || recorded === here) continue;
    others.push({
      typed: typedAs(key, String(recorded)),
      here: shown(here),
      isSettled: Object.hasOwn(settings, key) || (!hasFlag(key) && Boolean(process.env[variableOf(key)])),
    });
  }
  const namesRoots = settings.roots !== undefined || contexts.length > 0;
  for (const root of rootsBeyond(refused.settings.roots ?? [], now.settings.roots ?? [])) {
    others.push({ typed: words("--root", root), here: "not allowed", isSettled: namesRoots });
  }
  const { on_restart: restart = "send", cache = false, keep_steps: steps = false } = refused;
  if (restart !== (now.on_restart ?? "send")) {
    const isSettled = durable.onRestart !== undefined;
    others.push({ typed: words("--on-restart", restart), here: now.on_restart ?? "send", isSettled });
  }
  if (cache && !now.cache) others.push({ typed: "--cache", here: "off", isSettled: true });
  if (steps && !now.keep_steps) others.push({ typed: "--keep-steps", here: "off", isSettled: true });
  const { file, format } = refused.output;
  if (file !== null && file !== now.output.file) {
    others.push({ typed: words("--output", file), here: shown(now.output.file ?? "stdout"), isSettled: true });
  }
  if (format !== null && format !== now.output.format) {
    others.push({ typed: words("--format", format), here: now.output.format ?? "none", isSettled: true });
  }
  if (refused.cwd !== now.cwd) others.push({ typed: words("cd", refused.cwd), here: shown(now.cwd), isSettled: true });
  return others;
}

function valueIn(settings: Settings, key: string): unknown {
  const set = new Map<string, unknown>(Object.entries(settings)).get(key);
  return set ?? new Map<string, unknown>(Object.entries(LIMIT_DEFAULTS)).get(key) ?? undefined;
}

/** Nobody types more of them; and each is looked up in the file system. */
const ROOTS = 100;

function rootsBeyond(recorded: readonly string[], here: readonly string[]): string[] {
  const allowed = here.map((root) => canonical(root));
  return recorded.slice(0, ROOTS).filter((root) => !allowed.some((folder) => isWithin(folder, canonical(root))));
}

const flagOf = (key: string) => key.replaceAll("_", "-");
const hasFlag = (key: string) => SESSION_OPTIONS.some(({ name }) => name === flagOf(key));

function typedAs(key: string, value: string): string {
  return hasFlag(key) ? words(`--${flagOf(key)}`, value) : `${variableOf(key)}=${value}`;
}

/** For a shell, without `belay`. What stands in a store must not make lines of its own. */
function words(flag: string, value: string): string {
  return commandLine([flag, shown(value)]).slice("belay ".length);
}

function shown(value: unknown): string {
  const text = String(value ?? "none");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return /[\u0000-\u001f\u007f-\u009f]/.test(text) ? JSON.stringify(text) : text;
}
