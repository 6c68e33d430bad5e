import type { Json } from "../../index.ts";
import { keepSettings } from "../../session/index.ts";
import { openSigner } from "../../signed-settings.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import type { ResultPlace, SessionFlags } from "../flags/session-flags.ts";
import type { Output } from "../render/terminal.ts";
import { type KeptSettings, rowOf, settingsToKeep, withRoot } from "./kept-settings.ts";
import { doubtedSettings, recordedSettings } from "./recorded-settings.ts";
import { readSettings } from "./settings.ts";

/** The settings that hold in a session of the command, and what its row keeps of them. */
export interface Keeping {
  /** Those that hold as the session is opened. */
  readonly settings: KeptSettings;
  /** What the row is to keep; null: it stays as it is. */
  signed(session: string): Json;
  /** The user names one more context: the row keeps that it may be read. Comes before the load itself. */
  addRoot(session: string, path: string): Promise<void>;
  /** To be called before what another process began goes on. @throws RlmError `settings_untrusted` */
  checkRecorded(): void;
}

/** The parts of the session that exist already; all null if it lives in memory. */
interface Place {
  readonly kept: { readonly store: Store; readonly folder: string } | null;
  readonly row: SessionRow | null;
  /** The command goes on with what an earlier one began. */
  readonly isTakenUp: boolean;
  /** Nothing may be changed. */
  readonly looksOnly: boolean;
}

/**
 * Settles which settings hold. Those that the session recorded count only if this user signed them; else stderr says
 * which ones do not.
 *
 * @throws RlmError `invalid_config`
 */
export function openKeeping({ kept, row, isTakenUp, looksOnly }: Place, flags: SessionFlags, stderr: Output): Keeping {
  const signer = kept && openSigner(kept.folder, process.env);
  const recorded = row && signer && recordedSettings(row, signer);
  const before = recorded?.kept ?? null;
  const output = placeOfResult(flags.output, isTakenUp ? before?.output : undefined);
  const all = readSettings(flags, before?.settings);
  const settings = settingsToKeep(all, flags, output, before);
  let now = settings;
  const doubted = row && recorded?.kept === null ? doubtedSettings(row, recorded, now, flags) : null;
  doubted?.warn(stderr);
  // Recorded settings that do not count stay until the user has decided on them.
  const keeper = looksOnly || doubted?.isOpen ? null : signer;
  const problem = keeper?.problem() ?? null;
  if (problem !== null) stderr.write(`${UNSIGNED}: ${problem}; belay doctor says what to do\n`, "yellow");

  const signed = (session: string): Json => keeper?.sign(rowOf(now), session) ?? null;
  return {
    settings,
    signed,
    async addRoot(session, path) {
      now = withRoot(now, path);
      if (keeper && kept) await keepSettings(kept.store, session, signed(session));
    },
    checkRecorded: () => doubted?.refuse(),
  };
}

/** If a command goes on with an earlier one, the result goes to the place that the earlier one named, unless flags say otherwise. */
function placeOfResult(asked: ResultPlace, kept: ResultPlace | undefined): ResultPlace {
  return { file: asked.file ?? kept?.file ?? null, format: asked.format ?? kept?.format ?? null };
}

const UNSIGNED = "the settings of the session cannot be signed, so its next command needs its flags again";
