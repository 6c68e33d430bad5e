import { LIMITS } from "../../runtime/index.ts";
import { amount } from "../platform/figures.ts";
import { type Converted, CUT_OFF, HIDDEN, type Loss, type Original, UNPLACED } from "./growing.ts";

/**
 * Facts about the documents of a context that became text when they were loaded, by their wire
 * names.
 */
export interface ConvertedStats {
  count: number;
  /** Documents whose text lacks something. */
  lossy: number;
  /** Losses of all of them by kind. */
  lost: Record<string, number>;
  /** The first 1,000. */
  files: ConvertedFile[];
}

interface ConvertedFile extends Original {
  readonly id: string;
  /** The number of its places that have a label. */
  readonly places: number;
  readonly lost: readonly Loss[];
}

/**
 * Files with as many places as a context that has these documents may still have. Behind them
 * stands one without a label.
 */
export function withPlacesWithin<File extends Partial<Converted>>(
  files: readonly File[],
  documents: Iterable<Partial<Converted>>,
): readonly File[] {
  return files.map(openPlacesRoom(documents));
}

/** Takes places away from file after file, as many as a context with these documents has no room for. */
export function openPlacesRoom(
  documents: Iterable<Partial<Converted>>,
): <File extends Partial<Converted>>(file: File) => File {
  let room = LIMITS.documentPlaces;
  for (const document of documents) room -= labelled(document);
  return (file) => {
    const { places = [], lost = [] } = file;
    const over = labelled(file) - Math.max(0, room);
    room -= labelled(file);
    if (over <= 0) return file;
    const most = labelled(file) - over;
    const [[unit] = [0]] = places.slice(most);
    const loss = { kind: UNPLACED, count: over, where: [] };
    return { ...file, places: [...places.slice(0, most), [unit, ""]], lost: [...lost, loss] };
  };
}

/** A document of a context. */
interface Named extends Partial<Converted> {
  readonly id: string;
}

/** The facts about those of the documents that were converted; undefined if none was. */
export function convertedIn(documents: readonly Named[]): ConvertedStats | undefined {
  const converted = openConverted();
  for (const document of documents) converted.add(document);
  return converted.told();
}

/** Counts the documents that were converted. */
interface ConvertedCount {
  add(document: Named): void;
  /** Undefined if none was converted. */
  told(): ConvertedStats | undefined;
}

/** Begins a count. @param begun the facts about the documents that are there already */
export function openConverted(begun?: ConvertedStats): ConvertedCount {
  const files = [...(begun?.files ?? [])];
  const lost = { ...begun?.lost };
  let count = begun?.count ?? 0;
  let lossy = begun?.lossy ?? 0;
  return {
    add({ id, original, places, lost: losses = [] }) {
      if (!original) return;
      count += 1;
      if (losses.length > 0) lossy += 1;
      for (const loss of losses) lost[loss.kind] = (lost[loss.kind] ?? 0) + loss.count;
      if (files.length < LISTED) files.push({ id, ...original, places: labelled({ places }), lost: losses });
    },
    told: () => (count === 0 ? undefined : { count, lossy, lost, files }),
  };
}

const LISTED = 1000;

/** `31 images`, `1 page without text`. */
export function lossText(kind: string, count: number): string {
  if (isOfBytes(kind)) return amount(count, kind, `bytes that are${kind.slice(BYTE.length)}`);
  const [one, ...others] = kind.split(/(?= with(?:out)? )/);
  return amount(count, kind, IRREGULAR[kind] ?? `${one}s${others.join("")}`);
}

/** True for bytes of a text that became U+FFFD. */
export const isOfBytes = (kind: string) => kind.startsWith(BYTE);

/** True for what is read although people do not see it. */
export const isHiddenPart = (kind: string) => HIDDEN_KINDS.has(kind);

const HIDDEN_KINDS: ReadonlySet<string> = new Set(Object.values(HIDDEN));
const BYTE = "byte that is";
const IRREGULAR: Readonly<Record<string, string>> = {
  "deleted by a tracked change": "deleted by tracked changes",
  "fraction of a second": "fractions of a second",
  "header or footer": "headers or footers",
  "reading of characters": "readings of characters",
  "repeated property": "repeated properties",
  "text box": "text boxes",
  [CUT_OFF]: "rests of files that are cut off",
  [UNPLACED]: "places over 100,000",
};

function labelled({ places = [] }: { readonly places?: Converted["places"] | undefined }): number {
  return places.filter(([, label]) => label !== "").length;
}
