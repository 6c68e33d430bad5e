export { convertedIn, isHiddenPart, isOfBytes, lossText } from "../documents/conversions.ts";
export { CUT_OFF, GUESSED_ENCODING, type Loss, OLD_VALUE, UNPLACED } from "../documents/growing.ts";
export type { Converters, DocumentOptions } from "../documents/kinds.ts";
export { kindOf, MOST_ORIGINAL_BYTES } from "../documents/kinds.ts";
export {
  type Context,
  type ContextStats,
  type Document,
  type Documents,
  isSmall,
  type SmallContext,
} from "./context.ts";
export { excerptOf, isAll, type Range } from "./excerpt.ts";
export { count, find } from "./find/find.ts";
export { type FoundLine, openLineFinder } from "./find/found-lines.ts";
export { type DocumentHits, findInDocuments, HITS_COUNTED } from "./find/in-documents.ts";
export { isSearchedInPlace, linesInPlace } from "./find/lines-in-place.ts";
export { compileFind, escapePattern, type FindPattern } from "./find/pattern.ts";
export { Unsearched } from "./find/stream-search.ts";
export { growingHistory, type HistoryMessage, historyContext, messageText } from "./history.ts";
export { largeNote } from "./large-note.ts";
export { namedBy } from "./large-writing.ts";
export { isGone } from "./load/deleted.ts";
export { documentsNamed } from "./load/documents-named.ts";
export { type SearchedText, type SearchReading, textsAt, textsOfStream } from "./load/each-text.ts";
export { documentsOfFile, readListed, rulesOf, separatorOf, tableOf } from "./load/file-content.ts";
export { isIgnored, rulesAbove, topRules, withRuleFile } from "./load/gitignore.ts";
export type { IgnoreRules } from "./load/ignore-rules.ts";
export { MAY_BE_SECRET, mayBeSecret } from "./load/ignore-rules.ts";
export { type KnownLoad, openKnownLoads } from "./load/known-loads.ts";
export { knownLoad, load, type Source } from "./load/load.ts";
export { matchGlob, type PathsSource, pathsName } from "./load/paths.ts";
export type { Known, LoadOptions, LoadProgress } from "./load/reading.ts";
export {
  canonical,
  forbiddenBy,
  isAllowed,
  locate,
  openRoots,
  type Roots,
  readFolder,
} from "./load/roots.ts";
export type { ContextSize } from "./load/size.ts";
export { compareUnits, isInGit, type WalkOptions, walk } from "./load/walk.ts";
export { findObject, hashOf, type ObjectSource, objectId, objectOf, type TextObject } from "./objects.ts";
export { type Pause, pauses } from "./pauses.ts";
export { queryWords } from "./search/query-words.ts";
export {
  DELETED_KIND,
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
export { openLookup } from "./text/lookup.ts";
export { openPlaces, partsOf } from "./text/places.ts";
export { type DocumentSpan, openTable, spansOf } from "./text/table.ts";
export { openText, type TextData, textFromParts, textFromString } from "./text/text.ts";
