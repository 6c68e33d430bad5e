import { isUtf8 } from "node:buffer";
import PostalMime, { decodeWords, type Email } from "postal-mime";
import { withoutMark } from "../../context/text/decode.ts";
import { decodedHtml, isJapanese, labelOf } from "../decoded.ts";
import { type Growing, GUESSED_ENCODING, Unreadable } from "../growing.ts";

/** A part of a mail, as postal-mime has it within. Its version is pinned for this. */
export interface MimePart {
  readonly contentType: Structured;
  readonly contentDisposition: Structured;
  /** Its bytes as they were before they were packed for the way. Of a part that has parts, what stands around these. */
  readonly content: ArrayBuffer | null;
  readonly childNodes: readonly MimePart[];
}

/** A header with a value in lower case, and parameters. */
interface Structured {
  readonly parsed: { readonly value: string; readonly params: Readonly<Record<string, string>> };
}

/** A mail: its headers, and its parts. */
export interface OpenMail extends Pick<Email, "headers" | "date" | "subject"> {
  readonly root: MimePart;
}

const LIMITS = { maxNestingDepth: 50, maxHeadersSize: 2 ** 20, forceRfc822Attachments: true };

/** Opens a mail. The text is told of encodings that are guessed. */
export async function openMail(bytes: Buffer, text: Growing): Promise<OpenMail> {
  const parser = new PostalMime(LIMITS);
  const { headers, date, subject } = await parser.parse(withReadableHeaders(bytes, text));
  // The texts that it returns are decoded by their labels, and labels are often wrong.
  return { headers, date, subject, root: Reflect.get(parser, "root") };
}

/** The mail without a byte order mark, with headers in UTF-8 and encoded words that say what they are. */
function withReadableHeaders(given: Buffer, text: Growing): Buffer {
  const bytes = withoutMark(given);
  const ends = ["\n\n", "\n\r\n"].map((blank) => bytes.indexOf(blank)).filter((at) => at >= 0);
  const end = Math.min(...ends, bytes.length, LIMITS.maxHeadersSize);
  const head = relabelled(decodedBy("", bytes.subarray(0, end), text), text);
  return Buffer.concat([Buffer.from(head), bytes.subarray(end)]);
}

/** The name of a part's file. */
export function fileName({ contentDisposition, contentType }: MimePart, text: Growing): string | undefined {
  const name = contentDisposition.parsed.params.filename ?? contentType.parsed.params.name;
  return name && decodeWords(relabelled(name, text));
}

/** An encoded word, and the label of one that follows. */
const WORD = /=\?([^?\s]+)\?([bq])\?([^?]*)\?=(?:\s+(?==\?([^?\s]+)\?[bq]\?[^?]*\?=))?/gi;

/** A header with encoded words of UTF-8: a label may be wrong, and a character may be parted between two words. */
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

/** The text of a part or header: UTF-8 if its bytes are that, else by its label, else by what it says itself or a guess. */
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
