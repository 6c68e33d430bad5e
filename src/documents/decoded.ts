import { isUtf8 } from "node:buffer";
import { decodeText, isJapanese, JAPANESE, markOf, mendUtf8 } from "../context/text/decode.ts";
import { type Growing, GUESSED_ENCODING, Unreadable } from "./growing.ts";
import { parse } from "./markup.ts";

/** The bytes of HTML in which a declaration of its encoding is looked for. */
const HEAD_BYTES = 64 * 1024;
const UTF_8 = "utf-8";
/** The encoding of HTML that declares none, as browsers have it. */
const GUESSED = "windows-1252";

/**
 * The text of HTML. A byte order mark decides, then NUL in every second place of its beginning,
 * then its bytes if they are UTF-8, then what a user or the HTML itself says. A guess and bytes
 * that are not of the encoding are losses.
 *
 * @param encoding the user's word: a label of the Encoding Standard
 * @throws Unreadable if it is not text
 */
export function decodedHtml(bytes: Buffer, text: Growing, encoding?: string): string {
  const head = bytes.subarray(0, HEAD_BYTES);
  const wide = markOf(bytes)?.label ?? wideIn(bytes);
  if (wide !== undefined) return decodedAs(wide, bytes, text);
  const isValid = isUtf8(bytes);
  if (isValid && !SIGNS_OF_OTHERS.some((sign) => bytes.includes(sign))) return decodedAs(UTF_8, bytes, text);
  const said = encoding ?? declaredIn(head);
  if (said === undefined && isJapanese(bytes)) {
    text.lose(GUESSED_ENCODING, JAPANESE);
    return decodedAs(JAPANESE, bytes, text);
  }
  // ISO-2022 is ASCII with escapes, and UTF-16 may be ASCII with NUL: both are UTF-8 too.
  const isOther = /^(iso-2022|csiso2022|hz-)/i.test(said ?? "") || head.includes(0);
  if (isValid && !isOther) return decodedAs(UTF_8, bytes, text);
  const label = labelOf(said);
  if (label !== undefined && label !== UTF_8) return decodedAs(label, bytes, text);
  if (encoding !== undefined || isNearlyUtf8(bytes)) return decodedAs(UTF_8, bytes, text);
  text.lose(GUESSED_ENCODING, GUESSED);
  return decodedAs(GUESSED, bytes, text);
}

/** Signs of ISO-2022, HZ and UTF-16. Few pages in UTF-8 have one. */
const SIGNS_OF_OTHERS = ["\u001b", "\u000e", "~{", "\0"];

function decodedAs(label: string, bytes: Buffer, text: Growing): string {
  const read = decodeText(bytes, { encoding: label, bad: "all" });
  if ("reason" in read) throw new Unreadable("left_out", read.reason);
  for (const { kind, count, where } of read.lost ?? []) {
    for (let n = 0; n < count; n++) text.lose(kind, where[n]);
  }
  return Buffer.from(read.bytes.buffer, read.bytes.byteOffset, read.bytes.length).toString();
}

/**
 * The text of a part of a document, or of JSON: by its byte order mark, or else by its XML declaration, or else
 * as UTF-8.
 *
 * @param lose called if bytes are not of the encoding: they become U+FFFD
 */
export function decodedXml(bytes: Buffer, lose: () => void): string {
  const wide = markOf(bytes)?.label ?? wideIn(bytes);
  const label = wide ?? labelOf(xmlEncoding(bytes.toString("latin1", 0, XML_HEAD_BYTES)));
  // A declaration that can be read byte by byte is not in UTF-16, though some programs write so.
  const isUtf8Text = label === undefined || (wide === undefined && label.startsWith("utf-16"));
  const encoding = isUtf8Text ? UTF_8 : label;
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    lose();
    return new TextDecoder(encoding).decode(bytes);
  }
}

const XML_HEAD_BYTES = 200;

/** The encoding that an XML declaration names. */
const xmlEncoding = (head: string) => /^<\?xml[^>]*encoding\s*=\s*["']([^"']+)/.exec(head)?.[1];

/** UTF-16 without a mark, by its first two letters: HTML and XML begin with ASCII. */
function wideIn([a, b, c, d]: Buffer): string | undefined {
  if (a && b === 0 && c && d === 0) return "utf-16le";
  return a === 0 && b && c === 0 && d ? "utf-16be" : undefined;
}

/** The encoding that HTML declares in an element `meta`, or XHTML in its first line. */
function declaredIn(bytes: Buffer): string | undefined {
  const head = bytes.toString("latin1");
  const labels: string[] = [];
  parse(head, false, {
    onopentag(name, { charset, content = "" }) {
      const said = charset ?? CHARSET.exec(content)?.[1];
      if (name === "meta" && said !== undefined) labels.push(said.trim());
    },
  });
  const inFirstLine = xmlEncoding(head);
  if (inFirstLine !== undefined) labels.push(inFirstLine);
  // The bytes read here are not UTF-16. Fonts stand behind x-user-defined, of which browsers have
  // the bytes as windows-1252.
  const usable = labels.filter((said) => !/^(utf-16|x-user-defined)/.test(labelOf(said) ?? ""));
  return usable.find((said) => labelOf(said) !== undefined) ?? usable[0];
}

const CHARSET = /charset\s*=[\s"']*([^\s"';]+)/i;

/** The Encoding Standard's own name of an encoding; undefined if it has none. */
export function labelOf(said: string | undefined): string | undefined {
  try {
    return said ? new TextDecoder(said).encoding : undefined;
  } catch {
    return undefined;
  }
}

/**
 * True for UTF-8 with a few damaged characters. In text of another encoding hardly any byte beyond
 * ASCII is valid.
 */
function isNearlyUtf8(bytes: Buffer): boolean {
  let beyond = 0;
  for (let at = 0; at < bytes.length; at++) beyond += (bytes[at] ?? 0) >> 7;
  return mendUtf8(bytes, UTF_8).invalid * 10 < beyond;
}
