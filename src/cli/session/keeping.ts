import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Json } from "../../index.ts";
import { withoutUndefined } from "../../platform/json.ts";
import { keepSettings, type RemarkOptions, remarksOf } from "../../session/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import type { ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import type { Output } from "../render/terminal.ts";
import {
  doubtedSettings,
  type KeptSettings,
  type RecordedSettings,
  recordedSettings,
  rowOf,
  settingsToKeep,
  shown,
} from "./recorded-settings.ts";
import { readSettings, withModel } from "./settings.ts";

/** The parts of the session that exist already; all null if it lives in memory. */
interface Place {
  readonly kept: { readonly store: Store; readonly folder: string } | null;
  readonly row: SessionRow | null;
  /** The command continues with what an earlier one began. */
  readonly isTakenUp: boolean;
  /** True if nothing may be changed. */
  readonly looksOnly: boolean;
}

/**
 * Settles which settings hold in a session of the command, and what its row keeps of them: those of
 * the command that made it, and those of the newest one for what that leaves unfinished. Recorded
 * settings count only if this user signed them; else stderr says which ones do not. It also names
 * recorded roots that are gone.
 *
 * @throws RlmError `invalid_config`
 */
export async function openKeeping(opened: Place, flags: SessionFlags, stderr: Output) {
  const { kept: place, row, isTakenUp, looksOnly } = opened;
  const signer = place && openSigner(place.folder, process.env);
  const recorded = row && signer && recordedSettings(row, signer);
  const first = recorded?.kept?.first ?? null;
  const kept = (isTakenUp ? recorded?.kept?.newest : null) ?? first;
  const gone = (kept?.settings.roots ?? []).filter((root) => !existsSync(root));
  const isReload = flags.change === "reload";
  const before = kept && isReload ? withRoots(kept, gone) : kept;
  if (gone.length > 0 && !isReload) stderr.line(goneLine(gone), "yellow");
  const output = placeOfResult(flags.output, isTakenUp ? before?.output : undefined);
  const named = readSettings(flags, before?.settings);
  // A model of recorded settings that do not count is not replaced by another one.
  const { settings: all, isChosen } =
    recorded?.kept === null ? { settings: named, isChosen: false } : await withModel(named, flags);
  const wasChosen = before?.isModelChosen === true && readSettings(flags).model === undefined;
  const settings = settingsToKeep(all, flags, output, before, isChosen || wasChosen);
  const doubted = row && recorded?.kept === null ? doubtedSettings(row, recorded, settings, flags, isTakenUp) : null;
  doubted?.warn(stderr);
  // Recorded settings that do not count stay until the user has decided on them.
  const keeper = looksOnly || doubted?.isOpen ? null : signer;
  const problem = keeper?.problem() ?? null;
  if (problem !== null) stderr.write(`${UNSIGNED}: ${problem}; belay doctor says what to do\n`, "yellow");
  let now: RecordedSettings = { first: first ?? settings, newest: settings };
  let hasLoaded = false;

  const signed = (session: string): Json => keeper?.sign(rowOf(now), session) ?? row?.settings ?? null;
  const keep = async (session: string, remarks: RemarkOptions = {}): Promise<void> => {
    if (place && !looksOnly) await keepSettings(place.store, session, signed(session), remarks);
  };
  return {
    /** Settings that hold as the session is opened. */
    settings,
    /** Roots that the session recorded and that do not exist any more. */
    gone,
    /**
     * The settings of a session that is made; null: the row of an existing one stays as it is until
     * the command is accepted.
     */
    signed: (session: string): Json => (row ? null : signed(session)),
    /**
     * The row keeps the settings of a command that nothing refuses any more. That of a new session
     * has them.
     */
    async accept(session: string): Promise<void> {
      if (row) await keep(session, withoutUndefined({ label: flags.options.label }));
    },
    /** The row keeps that the end of its run has been reported. */
    async reported(session: string): Promise<void> {
      const { first, newest } = now;
      if (!first.workflow?.unreported) return;
      const { unreported: _done, ...workflow } = first.workflow;
      now = { first: { ...first, workflow }, newest: newest && { ...newest, workflow } };
      await keep(session);
    },
    /** Takes back what the row keeps of a command that failed before it ran anything. */
    async takeBack(session: string): Promise<void> {
      if (!row || !place || looksOnly) return;
      const { label } = remarksOf(row);
      if (hasLoaded) now = { ...now, newest: null };
      const settings = hasLoaded ? signed(session) : row.settings;
      await keepSettings(place.store, session, settings, { label: label ?? "" });
    },
    /**
     * Has the row keep that a context may be read, while `load` loads it. If that fails, the row is
     * as before. A load in place of the context drops the roots that are gone.
     */
    async withRoot(session: string, path: string, kind: "load" | "append", load: () => Promise<void>): Promise<void> {
      const earlier = now;
      const withPath = (settings: KeptSettings) => withRoots(settings, kind === "load" ? gone : [], [resolve(path)]);
      now = { first: withPath(now.first), newest: now.newest && withPath(now.newest) };
      await keep(session);
      try {
        await load();
        hasLoaded = true;
      } catch (error) {
        now = earlier;
        await keep(session);
        throw error;
      }
    },
    /**
     * Refuses to continue the exec of another process if settings do not count.
     *
     * @throws RlmError `settings_untrusted`
     */
    checkRecorded: () => doubted?.refuse(),
  };
}

/** Kept settings without some roots, and with others. */
function withRoots(kept: KeptSettings, without: readonly string[], more: readonly string[] = []): KeptSettings {
  const roots = (kept.settings.roots ?? []).filter((root) => !without.includes(root));
  return { ...kept, settings: { ...kept.settings, roots: [...new Set([...roots, ...more])] } };
}

/**
 * The place of the result: that of the flags, else that of the earlier command with which this one
 * continues.
 */
function placeOfResult(asked: ResultPlace, kept: ResultPlace | undefined): ResultPlace {
  return { file: asked.file ?? kept?.file ?? null, format: asked.format ?? kept?.format ?? null };
}

const UNSIGNED = "the settings of the session cannot be signed, so its next command needs its flags again";

/** A folder may hold many files that were named one by one. */
const GONE_LISTED = 5;

function goneLine(gone: readonly string[]): string {
  const more = gone.length > GONE_LISTED ? ` and ${gone.length - GONE_LISTED} more` : "";
  const names = `${gone.slice(0, GONE_LISTED).map(shown).join(", ")}${more}`;
  const does = gone.length === 1 ? "does" : "do";
  return `${names} ${does} not exist any more: P comes from the store, and sub-agents cannot read files there. --reload -c PATH loads another context`;
}
