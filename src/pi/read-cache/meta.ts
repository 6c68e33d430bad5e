import * as v from "valibot";

/** Under this key the details of a read's result have what was answered. */
export const META_KEY = "readcache";

const whole = v.pipe(v.number(), v.safeInteger());
const count = v.pipe(whole, v.minValue(0));
const line = v.pipe(whole, v.minValue(1));
const path = v.pipe(v.string(), v.nonEmpty());
const hash = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
const half = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/));

const shared = {
  v: v.literal(1),
  /** Absolute path of the file, as the model named it: not the real path behind links. */
  pathKey: path,
  scopeKey: v.string(),
  /** SHA-256 of the whole file at this read. */
  servedHash: hash,
  totalLines: line,
  rangeStart: line,
  rangeEnd: line,
  /** Bytes of the text that Pi would have sent. */
  bytes: count,
  /** Digest of the text that was sent: an extension behind ours may have changed it. */
  text: half,
  /** Digest of the lines from rangeStart to rangeEnd. */
  shown: half,
};

const MetaSchema = v.pipe(
  v.variant("mode", [
    v.object({ ...shared, mode: v.picklist(["full", "baseline_fallback"]), baseHash: v.exactOptional(hash) }),
    v.object({ ...shared, mode: v.picklist(["unchanged", "unchanged_range", "diff"]), baseHash: hash }),
  ]),
  v.check(
    ({ scopeKey, rangeStart, rangeEnd, totalLines }) =>
      rangeEnd >= rangeStart &&
      rangeEnd <= totalLines &&
      scopeKey === scopeOf({ start: rangeStart, end: rangeEnd, total: totalLines }),
  ),
);

/** Details that a result of `read` has about itself. */
export type Meta = Readonly<v.InferOutput<typeof MetaSchema>>;

const DetailsSchema = v.object({ [META_KEY]: v.unknown() });

/** The details of a result; null if they cannot be trusted. Never throws. */
export function metaIn(details: unknown): Meta | null {
  const found = v.safeParse(DetailsSchema, details);
  const read = v.safeParse(MetaSchema, found.success ? found.output[META_KEY] : undefined);
  return read.success ? read.output : null;
}

/** True if a result has such details already, whoever wrote them. */
export function hasMeta(details: unknown): boolean {
  return v.is(DetailsSchema, details);
}

/** The entry of a session under which a refresh is kept. */
export const REFRESH_ENTRY = "pi-readcache";

const RefreshSchema = v.object({ v: v.literal(1), kind: v.literal("invalidate"), pathKey: path, scopeKey: v.string() });

/** The data of a refresh: the next read of this scope is whole. `at`: ms since the epoch. */
export type Refresh = Readonly<v.InferOutput<typeof RefreshSchema>> & { readonly at: number };

/** The data of an entry; null if it is not a refresh. Never throws. */
export function refreshIn(data: unknown): Pick<Refresh, "pathKey" | "scopeKey"> | null {
  const read = v.safeParse(RefreshSchema, data);
  return read.success ? read.output : null;
}

/** Lines of a file, counted from 1, and how many the file has. */
export interface Lines {
  readonly start: number;
  readonly end: number;
  readonly total: number;
}

/** The scope of a whole file. */
export const FULL = "full";

/** The key of a text of these lines: `full` if they are the whole file, else `r:<start>:<end>`. */
export function scopeOf({ start, end, total }: Lines): string {
  return start === 1 && end === total ? FULL : `r:${start}:${end}`;
}
