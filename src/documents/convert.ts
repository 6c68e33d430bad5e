import { constants } from "node:buffer";
import { hash } from "node:crypto";
import {
  isIgnoredName,
  MAX_RULE_FILE_BYTES,
  MAY_BE_SECRET,
  mayBeSecret,
  noRules,
  RULES_TOO_LARGE,
  refusedRules,
  withRuleText,
} from "../context/load/ignore-rules.ts";
import { type Decoding, decodeText } from "../context/text/decode.ts";
import { type Member, membersOfTar, openParts, type Parts, unpackedFile } from "./archives.ts";
import {
  CUT_OFF,
  damaged,
  encrypted,
  type Growing,
  growing,
  SCRIPTED,
  textTooLarge,
  UNREAD_LOG,
  Unreadable,
} from "./growing.ts";
import { extensionOf, type FileKind, type Kind, kindOf, zippedKind } from "./kinds.ts";
import { type Answer, type Job, type ReadText, type Refused, readText } from "./messages.ts";
import { contentTypes, loseUnopened, mainOf, manifestType } from "./office.ts";
import type { RowsRequest } from "./rows.ts";

/** A reading: its job, and the function that is told to which place it has come. */
interface Reading extends Job {
  progress(place: string): void;
}

/** Reads an original. What cannot be read is refused by name, never thrown. */
export async function convert(bytes: Buffer, job: Job, progress: (place: string) => void): Promise<Answer> {
  const reading = { ...job, progress };
  try {
    if (job.rows) return await readTable(bytes, reading, job.rows);
    const inner = withinPacked(bytes, job);
    const zip = inner.kind === "zip" ? await openZip(inner.bytes, reading) : undefined;
    const members = membersIn(inner, zip);
    if (members) return await readMembers(members, { ...reading, decoding: forListed(job.decoding) });
    const read = await readOne(inner, inner.isCut ? { ...reading, decoding: forListed(job.decoding) } : reading, zip);
    const text = inner.isCut ? cutShort(read, inner.bytes) : read;
    return { isArchive: false, texts: [{ ...text, name: job.name }], refused: [] };
  } catch (error) {
    return { isArchive: false, texts: [], refused: [refusal(job.name, error)] };
  }
}

async function readTable(bytes: Buffer, reading: Reading, request: RowsRequest): Promise<Answer> {
  const { name, kind, file, room } = reading;
  const text = growing(room, reading.progress);
  if (kind === "ole" && !(await import("./mail/outlook.ts")).isMessage(bytes)) await READERS.ole(bytes, text, reading);
  const table = await (await import("./rows.ts")).readRows({ kind, name, bytes, file }, request, text);
  return { isArchive: false, texts: [readText(table, kind, bytes, text.end())], refused: [] };
}

/**
 * The decoding of texts that nobody named one by one, or of which the last character may be cut
 * off.
 */
function forListed(decoding: Decoding): Decoding {
  return decoding.bad === "none" ? { ...decoding, bad: "few" } : decoding;
}

/** A text with the loss of what its file would have had behind it. */
function cutShort(read: ReadText, bytes: Buffer): ReadText {
  const {
    original = { kind: "text", sha256: hash("sha256", bytes), bytes: bytes.length },
    places = [],
    lost = [],
  } = read;
  return { ...read, original, places, lost: [...lost, { kind: CUT_OFF, count: 1, where: [] }] };
}

interface Content {
  readonly name: string;
  readonly kind: FileKind | null;
  readonly bytes: Buffer;
}

interface Unpacked extends Content {
  /** It was packed, and its file ends too early. */
  readonly isCut: boolean;
}

/** The original itself, or what was packed in it by gzip or zstd. */
function withinPacked(bytes: Buffer, { name, kind, plain }: Job): Unpacked {
  if (kind !== "gz" && kind !== "zst") return { name, kind, bytes, isCut: false };
  const inner = name.replace(/\.tgz$/i, ".tar").replace(/\.(gz|zst|zstd)$/i, "");
  const { bytes: content, isCut } = unpackedFile(kind, bytes);
  return { ...contentOf(inner, content, plain), isCut };
}

function contentOf(name: string, bytes: Buffer, plain: readonly string[]): Content {
  return { name, kind: plain.includes(extensionOf(name)) ? null : kindOf(bytes, name), bytes };
}

/** A zip that is open. */
interface Zip {
  /** The kind of the document that its parts make up; `zip` if they are files of an archive. */
  readonly kind: Kind;
  readonly parts: Parts;
  /** The document's text, which is empty yet. */
  readonly text: Growing;
}

async function openZip(bytes: Buffer, { room, progress }: Reading): Promise<Zip> {
  const text = growing(room, progress);
  const parts = await openParts(bytes, text.lose);
  return { kind: kindOfZip(parts), parts, text };
}

/** The members of an archive; null if it is one document. */
function membersIn({ kind, bytes, isCut }: Unpacked, zip: Zip | undefined): readonly Member[] | null {
  if (kind === "tar") return membersOfTar(bytes, isCut);
  return zip?.kind === "zip" ? zip.parts.members : null;
}

function kindOfZip(parts: Parts): Kind {
  const mimetype = parts.bytes("mimetype")?.toString("latin1", 0, 100) || manifestType(parts);
  const isOffice = parts.names.has(parts.nameOf("[Content_Types].xml"));
  return zippedKind(parts.names, mimetype, isOffice ? contentTypes(parts)(mainOf(parts, "")) : null);
}

async function readMembers(members: readonly Member[], reading: Reading): Promise<Answer> {
  const texts: ReadText[] = [];
  let { room } = reading;
  const { isLeftOut, refused } = ignoredIn(members);
  for (const [at, member] of members.entries()) {
    if (isLeftOut(member.name)) continue;
    if (at % 20 === 19) reading.progress(`file ${at + 1}`);
    try {
      if (member.refusal !== undefined) throw new Unreadable("left_out", member.refusal);
      if (!reading.secrets && mayBeSecret(member.name)) throw new Unreadable("left_out", MAY_BE_SECRET);
      const read = await readOne(contentOf(member.name, member.read(), reading.plain), { ...reading, room });
      room -= read.text.length;
      texts.push(withLogs(read, members));
    } catch (error) {
      // The whole does not fit, and a part of it may mislead.
      const why = unreadable(error);
      if (/^(text_too_large|unpacks_too_much)$/.test(why.reason)) throw why;
      refused.push(refusal(member.name, why));
    }
  }
  return { isArchive: true, texts, refused };
}

/** A database of an archive, with the loss of its log: SQLite would have to write to it. */
function withLogs(read: ReadText, members: readonly Member[]): ReadText {
  const { name, original, lost = [] } = read;
  if (original?.kind !== "sqlite") return read;
  const logs = members.filter((member) => member.name === `${name}-wal` || member.name === `${name}-journal`);
  const unread = logs.map((log) => ({ kind: UNREAD_LOG, count: 1, where: [log.name] }));
  return { ...read, lost: [...lost, ...unread] };
}

/**
 * The members that the archive's .gitignore files exclude, and those of a repository's own folder.
 * Rules that were not applied are told.
 */
function ignoredIn(members: readonly Member[]) {
  const good = new Set(members.filter(({ refusal }) => refusal === undefined).map(({ name }) => name));
  const files = members.filter(({ name }) => good.has(name) && /(^|\/)\.gitignore$/.test(name));
  const refused: Refused[] = [];
  let rules = noRules("");
  for (const file of files.sort((a, b) => a.name.length - b.name.length)) {
    const refuse = (problem: string) => refused.push({ name: file.name, reason: "left_out", problem });
    try {
      const content = file.read();
      if (content.length > MAX_RULE_FILE_BYTES) {
        refuse(RULES_TOO_LARGE);
        continue;
      }
      const added = withRuleText(rules, file.name.replace(/\/?\.gitignore$/, ""), content);
      rules = added.rules;
      if (added.refused > 0) refuse(refusedRules(added.refused));
    } catch (error) {
      // It is told as a member that cannot be read, too.
      refuse(`its rules are not applied: it ${refusal(file.name, error).problem}`);
    }
  }
  const isLeftOut = (name: string) =>
    name.split("/").includes(".git") || (good.has(name) && isIgnoredName(rules, name, false));
  return { isLeftOut, refused };
}

/** @param zip the content, if it is a zip that is open already */
async function readOne({ name, kind, bytes }: Content, reading: Reading, zip?: Zip): Promise<ReadText> {
  if (kind === null) return { name, ...plainText(bytes, reading) };
  if (kind === "zip") return readZipped(name, bytes, zip ?? (await openZip(bytes, reading)));
  const text = growing(reading.room, reading.progress);
  await READERS[kind](bytes, text, reading);
  // Other OLE files are refused.
  return readText(name, kind === "ole" ? "msg" : kind, bytes, text.end());
}

function plainText(bytes: Buffer, { decoding, room }: Reading): Omit<ReadText, "name"> {
  const decoded = decodeText(bytes, decoding);
  if ("reason" in decoded) throw new Unreadable("left_out", decoded.reason);
  const { bytes: text, ...found } = decoded;
  if (text.length > room) throw textTooLarge(room);
  return { text, ...found };
}

type Reader = (bytes: Buffer, text: Growing, reading: Reading) => void | Promise<void>;

const nested = () => {
  throw new Unreadable("left_out", "an archive in an archive");
};

/**
 * Readers are imported when a file of their kind comes: to load all of them takes longer than to
 * read a short document.
 */
const READERS: Readonly<Record<Exclude<FileKind, "zip">, Reader>> = {
  pdf: async (bytes, text) => (await import("./pdf/pdf.ts")).readPdf(bytes, text),
  async html(bytes, text, { decoding }) {
    const [{ decodedHtml }, { readHtml }] = await Promise.all([import("./decoded.ts"), import("./html/html.ts")]);
    const source = decodedHtml(bytes, text, decoding.encoding);
    readHtml(source, text);
    if (text.isBlank() && /<script\b/i.test(source)) throw new Unreadable("no_text", SCRIPTED);
  },
  ipynb: async (bytes, text) => (await import("./notebook.ts")).readNotebook(bytes, text),
  eml: async (bytes, text) => (await import("./mail/mail.ts")).readMail(bytes, text),
  mbox: async (bytes, text) => (await import("./mail/mail.ts")).readMailbox(bytes, text),
  parquet: async (bytes, text) => (await import("./tables.ts")).readParquet(bytes, text),
  sqlite: async (bytes, text, { file = bytes }) => (await import("./tables.ts")).readSqlite(file, text),
  async ole(bytes, text) {
    const { isMessage, readMessage } = await import("./mail/outlook.ts");
    if (isMessage(bytes)) return readMessage(bytes, text);
    // An Office file with a password is an OLE file that holds the real one.
    if (bytes.includes(Buffer.from("EncryptedPackage", "utf16le"))) throw encrypted();
    throw new Unreadable("old_office", "is an Office file of before 2007, which `soffice --convert-to` converts");
  },
  rtf() {
    throw new Unreadable("old_office", "is an RTF file, which `soffice --convert-to docx` converts");
  },
  gz: nested,
  zst: nested,
  tar: nested,
};

const ZIPPED: Readonly<Partial<Record<Kind, (parts: Parts, text: Growing) => Promise<void>>>> = {
  docx: async (parts, text) => (await import("./word/docx.ts")).readDocx(parts, text),
  pptx: async (parts, text) => (await import("./pptx.ts")).readPptx(parts, text),
  xlsx: async (parts, text) => (await import("./sheets/xlsx.ts")).readXlsx(parts, text),
  odt: async (parts, text) => (await import("./odf/odf.ts")).readOdf(parts, text),
  odp: async (parts, text) => (await import("./odf/odf.ts")).readOdf(parts, text),
  odg: async (parts, text) => (await import("./odf/odf.ts")).readOdf(parts, text),
  ods: async (parts, text) => (await import("./sheets/ods.ts")).readOds(parts, text),
  epub: async (parts, text) => (await import("./html/epub.ts")).readEpub(parts, text),
};

async function readZipped(name: string, bytes: Buffer, { kind, parts, text }: Zip): Promise<ReadText> {
  await (ZIPPED[kind] ?? nested)(parts, text);
  if (kind !== "epub") loseUnopened(parts, text);
  return readText(name, kind, bytes, text.end());
}

function refusal(name: string, error: unknown): Refused {
  const { reason, message } = unreadable(error);
  return { name, reason, problem: message };
}

/** Codes of failures that say nothing of the document: the code of its reader could not be loaded. */
const OF_READER = new Set([
  ...["ERR_ACCESS_DENIED", "ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED", "ERR_DLOPEN_FAILED"],
  ...["EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "EIO"],
]);

function unreadable(error: unknown): Unreadable {
  if (error instanceof Unreadable) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (OF_READER.has(code)) return new Unreadable("reader_failed", `cannot be read: its reader could not run (${code})`);
  const said = error instanceof Error ? error.message : String(error);
  // The words of V8 and of Node.
  const isTooLong = /^(Invalid string length|Cannot create a string longer)/.test(said);
  return isTooLong ? textTooLarge(constants.MAX_STRING_LENGTH) : damaged(said);
}
