export { convertedIn, isOfBytes, lossText } from "../documents/conversions.ts";
export { CUT_OFF, GUESSED_ENCODING, type Loss, UNPLACED } from "../documents/growing.ts";
export type { Converters, DocumentOptions } from "../documents/kinds.ts";
export { kindOf, MOST_ORIGINAL_BYTES } from "../documents/kinds.ts";
export { tableOf } from "../documents/table-of.ts";
export { isWithin } from "../platform/real-path.ts";
export type { Context, ContextStats, Document, Pause } from "./context.ts";
export { excerptOf, isAll, type Range } from "./excerpt.ts";
export { type DocumentHits, findInDocuments, HITS_COUNTED } from "./find/documents.ts";
export { compileFind, count, escapePattern, type FindPattern, find } from "./find/find.ts";
export { type FoundLine, openLineFinder } from "./find/found-lines.ts";
export { growingHistory, type HistoryMessage, historyContext, messageText } from "./history.ts";
export { type SearchedText, type SearchReading, textsAt, textsOfStream } from "./load/each-text.ts";
export { documentsOfFile, rulesOf, separatorOf } from "./load/file-content.ts";
export { isIgnored, rulesAbove, topRules, withRuleFile } from "./load/gitignore.ts";
export { matchGlob } from "./load/glob.ts";
export type { IgnoreRules } from "./load/ignore-rules.ts";
export { type KnownLoad, openKnownLoads } from "./load/known-loads.ts";
export { knownLoad, load, type Source } from "./load/load.ts";
export { documentsNamed, type PathsSource, pathsName } from "./load/paths.ts";
export type { Known, LoadOptions } from "./load/reading.ts";
export {
  canonical,
  forbiddenBy,
  isAllowed,
  locate,
  openRoots,
  type Roots,
  readFolder,
} from "./load/roots.ts";
export { MAY_BE_SECRET, mayBeSecret } from "./load/secrets.ts";
export { tooLarge } from "./load/size.ts";
export { TooLong } from "./load/text-blocks.ts";
export { readListed } from "./load/text-file.ts";
export { compareUnits, isInGit, type WalkOptions, walk } from "./load/walk.ts";
export { findObject, type ObjectSource, objectId, objectOf, type TextObject } from "./objects.ts";
export { pauses } from "./pauses.ts";
export { queryWords } from "./search/query-words.ts";
export {
  isUnread,
  NOTHING_SKIPPED,
  type SkippedFile,
  type SkippedStats,
  skippedStats,
  type ToldSkips,
  toldSkips,
  unreadSentence,
} from "./skipped.ts";
export { decodedChunks, HEAD_BYTES, packedBy, shownEncoding } from "./text/decode.ts";
export { openPlaces, partsOf } from "./text/places.ts";
export { openText, type TextData, textFromPartsInSlices, textFromString } from "./text/text.ts";
