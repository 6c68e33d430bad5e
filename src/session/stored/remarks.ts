import * as v from "valibot";
import type { Json } from "../../../runtime/index.ts";
import { isRecord } from "../../platform/json.ts";
import type { SessionRow, Store } from "../../store/index.ts";

/** Notes on a session, for people. They change nothing, so the signature of the settings does not cover them. */
export interface RemarkOptions {
  /** Purpose of the session, which lists show: a line of up to 200 characters. An empty one removes it. */
  readonly label?: string | undefined;
}

const LABEL_UNITS = 200;

export const REMARKS = {
  label: v.optional(line(LABEL_UNITS)),
} satisfies { readonly [name in keyof Required<RemarkOptions>]: v.GenericSchema };

export const REMARK_NAMES = ["label"] as const satisfies readonly (keyof RemarkOptions)[];

/** Remarks as lists and descriptions have them; null for one that was not made. */
export type SessionRemarks = { readonly [name in keyof Required<RemarkOptions>]: string | null };

/**
 * A text that keeps its line: no control characters, and none that turn
 * the direction of what follows.
 */
function line(characters: number) {
  const message = `a line of up to ${characters} characters`;
  return v.pipe(
    v.string(message),
    v.regex(new RegExp(`^[^\\p{Cc}\\p{Zl}\\p{Zp}\\u202a-\\u202e\\u2066-\\u2069]{0,${characters}}$`, "u"), message),
  );
}

const KeptSchema = v.object({ remarks: v.object(REMARKS) });

/** The remarks in a row. A row with a damaged one has none. */
export function remarksOf({ settings }: Pick<SessionRow, "settings">): SessionRemarks {
  const read = v.safeParse(KeptSchema, settings);
  const { label } = read.success ? read.output.remarks : {};
  return { label: label || null };
}

/** The remarks of a copy of a session. One without a name says of which it is. */
export function remarksOfCopy(parent: Pick<SessionRow, "settings" | "name">, name: string | null): SessionRemarks {
  const { label } = remarksOf(parent);
  if (name !== null || parent.name === null) return { label };
  const copy = `copy of ${parent.name}${label === null ? "" : `: ${label}`}`;
  return { label: copy.slice(0, LABEL_UNITS).toWellFormed() };
}

/** Settings that keep these remarks. */
export function withRemarks(settings: Json, remarks: { readonly [name in keyof RemarkOptions]?: string | null }): Json {
  const { remarks: _before, ...rest } = isRecord(settings) ? settings : {};
  const made = Object.entries(remarks).flatMap(([name, text]) => (text ? [[name, text]] : []));
  if (made.length > 0) return { ...rest, remarks: Object.fromEntries(made) };
  return settings === null ? null : rest;
}

/**
 * The remarks among the options of a session: those that are not given stay as the row has them.
 */
export function remarksNow(row: Pick<SessionRow, "settings"> | null, options: RemarkOptions): SessionRemarks {
  const { label = row && remarksOf(row).label } = options;
  return { label };
}

/**
 * Replaces the settings of a session. Remarks that are not given stay. A row that has all of it
 * already is not written. The caller holds the lease.
 */
export async function keepSettings(
  store: Pick<Store, "find" | "commit">,
  id: string,
  settings: Json,
  remarks: RemarkOptions = {},
): Promise<void> {
  const row = await store.find(id);
  const kept = withRemarks(settings, remarksNow(row, remarks));
  if (JSON.stringify(kept) !== JSON.stringify(row?.settings)) await store.commit(id, { settings: kept });
}
