import { isUtf8 } from "node:buffer";
import PostalMime, { type Address, addressParser, decodeWords, type Email } from "postal-mime";
import { isJapanese, withoutMark } from "../../context/text/decode.ts";
import { decodedHtml, labelOf } from "../decoded.ts";
import { CUT_OFF, type Growing, GUESSED_ENCODING, growing, Unreadable } from "../growing.ts";
import { readHtml, textOfHtml } from "../html/html.ts";
import { isCut, keepFooters } from "./base64.ts";

/** Words of a mail, as plain text or as HTML. */
interface Shown {
  readonly words: string;
  readonly isHtml: boolean;
}

/** The label of the place of a part: `header`, `body`. */
type Label = (part: string) => string;

/** Reads one mail: its headers, then its body. */
export async function readMail(bytes: Buffer, text: Growing, label: Label = (part) => part): Promise<void> {
  const mail = await openMail(bytes, text);
  writeMail(headersOf(mail), await shownIn(mail.root, text, 0), text, label);
}

/** Writes a mail: its headers, then what is shown of its body. */
export function writeMail(headers: string, shown: readonly Shown[], text: Growing, label: Label = (part) => part) {
  text.part(label("header"));
  text.add(headers);
  text.part(label("body"));
  for (const { words, isHtml } of shown) {
    text.gap();
    if (isHtml) readHtml(words, text);
    else text.add(`${words.trim()}\n`);
  }
  if (shown.length === 0) text.lose("part without text", label("body"));
}

function headersOf({ headers, date }: OpenMail): string {
  const people = (name: string) =>
    names(headers.flatMap(({ key, value }) => (key === name ? addressParser(value) : [])));
  const subjects = headers.flatMap(({ key, value }) => (key === "subject" ? [decodeWords(value)] : []));
  const written = headers.find(({ key }) => key === "date")?.value;
  const moment = atItsOffset(date, written);
  const shown = headerLines({ From: people("from"), To: people("to"), Cc: people("cc"), Date: moment });
  return `${shown}${subjects.map((subject) => headerLines({ Subject: subject })).join("")}`;
}

/** A moment of ISO 8601 at the offset with which it was written: in another one it may have another day. */
function atItsOffset(date: string | undefined, written = ""): string | undefined {
  const [, sign, hours, minutes] = /\s([+-])(\d\d)(\d\d)(?!\d)/.exec(written) ?? [];
  const offset = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes));
  const local = new Date(Date.parse(date ?? "") + offset * 60_000);
  if (!offset || Number.isNaN(local.getTime())) return date;
  return `${local.toISOString().slice(0, -1)}${sign}${hours}:${minutes}`;
}

/** A line for each header that a mail has. */
export function headerLines(headers: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(headers).map(([name, value]) =>
    value ? `${name}: ${value.replace(/[\r\n]+/g, " ")}\n` : "",
  );
  return lines.join("");
}

/** People in one line, with their addresses. Of a group, its members too. */
export function names(addresses: readonly Address[]): string {
  const one = ({ name, address = "", group }: Address): string => {
    if (group) return `${name}: ${names(group)}`;
    return name && address && name !== address ? `${name} <${address}>` : name || address;
  };
  return addresses.map(one).join(", ");
}

/** Mails within each other that are opened. Each is parsed by itself. */
const MOST_FORWARDED = 10;

/**
 * Types that are shown as they are. One without a slash is none, and a `multipart` is asked for
 * only if it has no parts.
 */
const PLAIN =
  /^(text\/(plain|rfc822-headers)|message\/(delivery-status|disposition-notification|feedback-report)|multipart\/.*|[^/]*)$/;
/** The ways of packing a part for the way that are known. */
const DECODED = /base64|quoted-printable|^([78]-?bit|binary)?$/;
/** Types of parts that say nothing of their own: signatures, and the same mail for a program. */
const SILENT = /^(application\/(pgp|(x-)?pkcs7)-signature|text\/x-amp-html)$/;

/** The words of a part that people see. Files and what is not shown are losses. */
async function shownIn(part: MimePart, text: Growing, depth: number): Promise<readonly Shown[]> {
  const { value: type, params } = part.contentType.parsed;
  const isEncrypted = type === "multipart/encrypted" || /enveloped/i.test(params["smime-type"] ?? "");
  if (part.childNodes.length > 0 && !isEncrypted) {
    // Words before and behind the parts are for programs that do not know them.
    const shown = await Promise.all(part.childNodes.map((inner) => shownIn(inner, text, depth)));
    return type === "multipart/alternative" ? fullest(shown) : shown.flat();
  }
  const isFile = isEncrypted || part.contentDisposition.parsed.value === "attachment";
  const bytes = Buffer.from(part.content ?? new ArrayBuffer(0));
  if (!isFile && /^message\/(rfc822|global)$/.test(type) && depth < MOST_FORWARDED) {
    const mail = await openMail(bytes, text);
    return [...asShown(headersOf(mail)), ...(await shownIn(mail.root, text, depth + 1))];
  }
  const isHtml = type === "text/html";
  if (!isFile && (isHtml || PLAIN.test(type))) {
    const { encoding } = part.contentTransferEncoding;
    if (!DECODED.test(encoding)) text.lose("undecoded part", encoding);
    if (isCut(part)) text.lose(CUT_OFF);
    const words = decodedBy(params.charset ?? "", bytes, text);
    return asShown(/^flowed$/i.test(params.format ?? "") ? unfolded(words, params) : words, isHtml);
  }
  if (!SILENT.test(type)) text.lose(isEncrypted ? "encrypted part" : "attachment", fileName(part, text) ?? type);
  return [];
}

/** Words that are shown, if there are some. */
export const asShown = (words: string, isHtml = false): Shown[] => (words.trim() === "" ? [] : [{ words, isHtml }]);

/**
 * A line that its sender folded at a space, with that. Quoted lines and those before them stay, and
 * what begins a signature.
 */
const FOLDED = /^(?!>|-- \r?$)(.{0,998})( )\r?\n(?!>)/gm;

/** Plain text without folds. */
function unfolded(words: string, { delsp = "" }: Readonly<Record<string, string>>): string {
  return words.replace(/^ /gm, "").replace(FOLDED, /^yes$/i.test(delsp) ? "$1" : "$1$2");
}

/**
 * The way of saying the same that people need: the plain one, unless it lacks a third of the words
 * of the HTML.
 */
export function fullest(ways: readonly (readonly Shown[])[]): readonly Shown[] {
  const said = ways.filter((way) => way.length > 0);
  const plain = said.find((way) => way.every(({ isHtml }) => !isHtml));
  const html = said.findLast((way) => way.some(({ isHtml }) => isHtml));
  return plain && html ? better(plain, html) : (plain ?? html ?? []);
}

/** The plain words, unless they lack a third of those of the HTML, as a stub does. */
function better(plain: readonly Shown[], html: readonly Shown[]): readonly Shown[] {
  const known = new Set(wordsIn(plain.map(({ words }) => words).join("\n")));
  const isLacking = (read: (html: string) => string) => {
    const all = wordsIn(html.map(({ words, isHtml }) => (isHtml ? read(words) : words)).join("\n"));
    const missing = all.filter((word) => !known.has(word)).length;
    return missing > 0 && missing * 3 >= all.length;
  };
  // Reading HTML takes time. Its styles and what else stands between its tags are words that are
  // missing, too.
  return isLacking(withoutTags) && isLacking(textOf) ? html : plain;
}

/** The text of HTML, whose losses are told when it is read for good. */
const textOf = (html: string) => textOfHtml(html, growing(0));

/** The words between the tags and named signs of HTML. */
const withoutTags = (html: string) => html.replace(/<[^<>]*>|&#?\w+;/g, " ");

const wordsIn = (said: string) =>
  said
    .toLowerCase()
    .split(/[^\p{L}\p{M}\p{N}]+/u)
    .filter((word) => word !== "");

/**
 * The line with which a program that keeps mailboxes begins a message, before the first line of a
 * header.
 */
const BEGIN = /(?<=\n\r?\n)From [^\n]*\b\d{4}(?: [+-]\d{4}| [A-Z]{1,5})?[ \t]*\r?(?=\n[\w-]+:(?!\/\/))/g;

/**
 * Reads the mails of a mailbox. One begins at its start, and behind an empty line with
 * `From … YEAR` and a header.
 */
export async function readMailbox(given: Buffer, text: Growing): Promise<void> {
  const bytes = withoutMark(given);
  const starts = [0, ...Array.from(bytes.toString("latin1").matchAll(BEGIN), ({ index }) => index)];
  for (const [at, start] of starts.entries()) {
    const mail = bytes.subarray(bytes.indexOf("\n", start) + 1, starts[at + 1]);
    const label = (part: string) => `message ${at + 1} ${part}`;
    try {
      await readMail(mail.includes(">From ") ? withoutSigns(mail) : mail, text, label);
    } catch (error) {
      // One odd mail costs no other. A text that is too large is refused whole.
      if (error instanceof Unreadable && error.reason === "text_too_large") throw error;
      text.lose("damaged message", label("body"));
    }
  }
}

/** A mail as it was before lines of it that begin with `From ` got a sign. */
const withoutSigns = (mail: Buffer) => Buffer.from(mail.toString("latin1").replace(/^>(?=>*From )/gm, ""), "latin1");

/** A part of a mail, as postal-mime has it within. Its version is pinned for this. */
interface MimePart {
  readonly contentType: Structured;
  readonly contentDisposition: Structured;
  /** The name in lower case; "" if there is none. */
  readonly contentTransferEncoding: { readonly encoding: string };
  /**
   * Its bytes as they were before they were packed for the way. Of a part that has parts, what
   * stands around these.
   */
  readonly content: ArrayBuffer | null;
  readonly childNodes: readonly MimePart[];
}

/** A header with a value in lower case, and parameters. */
interface Structured {
  readonly parsed: { readonly value: string; readonly params: Readonly<Record<string, string>> };
}

/** A mail: its headers, and its parts. */
interface OpenMail extends Pick<Email, "headers" | "date"> {
  readonly root: MimePart;
}

const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 2 ** 20, forceRfc822Attachments: true };

keepFooters(Object.getPrototypeOf(Reflect.get(new PostalMime(), "root")));

/** Opens a mail. The text is told of encodings that are guessed. */
async function openMail(bytes: Buffer, text: Growing): Promise<OpenMail> {
  const parser = new PostalMime(LIMITS);
  const { headers, date } = await parser.parse(withReadableHeaders(bytes, text));
  // The texts that it returns are decoded by their labels, and labels are often wrong.
  const root: MimePart = Reflect.get(parser, "root");
  if (isOpenEnded(root, bytes)) text.lose(CUT_OFF);
  return { headers, date, root };
}

/** True for a mail in parts that lacks the line behind the last one. */
function isOpenEnded({ childNodes, contentType }: MimePart, bytes: Buffer): boolean {
  const { boundary } = contentType.parsed.params;
  return childNodes.length > 0 && boundary !== undefined && !bytes.includes(`--${boundary}--`);
}

/**
 * The mail without a byte order mark, with headers in UTF-8 and encoded words that say what they
 * are.
 */
function withReadableHeaders(given: Buffer, text: Growing): Buffer {
  const bytes = withoutMark(given);
  const ends = ["\n\n", "\n\r\n"].map((blank) => bytes.indexOf(blank)).filter((at) => at >= 0);
  const end = Math.min(...ends, bytes.length, LIMITS.maxHeadersSize);
  const head = relabelled(decodedBy("", bytes.subarray(0, end), text), text);
  return Buffer.concat([Buffer.from(head), bytes.subarray(end)]);
}

/** The name of a part's file. */
function fileName({ contentDisposition, contentType }: MimePart, text: Growing): string | undefined {
  const name = contentDisposition.parsed.params.filename ?? contentType.parsed.params.name;
  return name && decodeWords(relabelled(name, text));
}

/** An encoded word, and the label of one that follows. */
const WORD = /=\?([^?\s]+)\?([bq])\?([^?]*)\?=(?:\s+(?==\?([^?\s]+)\?[bq]\?[^?]*\?=))?/gi;

/**
 * A header with encoded words of UTF-8: a label may be wrong, and a character may be parted between
 * two words.
 */
function relabelled(header: string, text: Growing): string {
  let held: Buffer[] = [];
  return header.replace(WORD, (_, label: string, kind: string, packed: string, next?: string) => {
    held.push(/b/i.test(kind) ? Buffer.from(packed, "base64") : unquoted(packed));
    if (next?.toLowerCase() === label.toLowerCase()) return "";
    // Behind a star it may name a language.
    const [charset = ""] = label.split("*");
    const word = Buffer.from(decodedBy(charset, Buffer.concat(held), text)).toString("base64");
    held = [];
    return `=?utf-8?B?${word}?=${next === undefined ? "" : " "}`;
  });
}

function unquoted(packed: string): Buffer {
  const said = packed.replaceAll("_", " ");
  const codes = said.replace(/=([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(codes, "latin1");
}

/** Names of encodings that mails use and the Encoding Standard has not. */
const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    cp932: "shift_jis",
    cp936: "gbk",
    cp949: "euc-kr",
    cp950: "big5",
    "latin-1": "latin1",
    // A part that says so and is not goes by a guess.
    "us-ascii": "utf-8",
    ascii: "utf-8",
  }),
);

/** Encodings whose bytes are UTF-8, too, but mean something else. */
const SEVEN_BITS = /^(utf-16|utf-7|ucs-2|iso-2022|hz)/;

/**
 * The text of a part or header: UTF-8 if its bytes are that, else by its label, else by what it
 * says itself or a guess.
 */
export function decodedBy(label: string, bytes: Buffer, text: Growing): string {
  const said = label
    .trim()
    .toLowerCase()
    .replace(/^x-(?!sjis|user)/, "")
    .replace(/^(iso-2022-jp)-.*/, "$1");
  const isOther = SEVEN_BITS.test(said);
  const isUnsaid = /^(us-)?(ascii)?$/.test(said) && isJapanese(bytes);
  if (isUtf8(bytes) && !isOther && !isUnsaid) return bytes.toString("utf8");
  const encoding = labelOf(ALIASES.get(said) ?? said);
  if (encoding === undefined && isOther) text.lose(GUESSED_ENCODING, said);
  try {
    return decodedHtml(bytes, text, encoding === "utf-8" ? undefined : encoding);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    text.lose("character without a meaning", error.message);
    return "";
  }
}
