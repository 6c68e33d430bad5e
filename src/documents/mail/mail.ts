import { type Address, addressParser } from "postal-mime";
import { withoutMark } from "../../context/text/decode.ts";
import { type Growing, growing, Unreadable } from "../growing.ts";
import { readHtml, textOfHtml } from "../html/html.ts";
import { decodedBy, fileName, type MimePart, type OpenMail, openMail } from "./mime.ts";

/** Words of a mail, as plain text or as HTML. */
export interface Shown {
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

function headersOf({ headers, date, subject }: OpenMail): string {
  const people = (name: string) =>
    names(headers.flatMap(({ key, value }) => (key === name ? addressParser(value) : [])));
  return headerLines({ From: people("from"), To: people("to"), Cc: people("cc"), Date: date, Subject: subject });
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

/** Types that are shown as they are. One without a slash is none, and a `multipart` is asked for only if it has no parts. */
const PLAIN =
  /^(text\/(plain|rfc822-headers)|message\/(delivery-status|disposition-notification|feedback-report)|multipart\/.*|[^/]*)$/;
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
    const words = decodedBy(params.charset ?? "", bytes, text);
    return asShown(/^flowed$/i.test(params.format ?? "") ? unfolded(words, params) : words, isHtml);
  }
  if (!SILENT.test(type)) text.lose(isEncrypted ? "encrypted part" : "attachment", fileName(part, text) ?? type);
  return [];
}

/** Words that are shown, if there are some. */
export const asShown = (words: string, isHtml = false): Shown[] => (words.trim() === "" ? [] : [{ words, isHtml }]);

/** A line that its sender folded at a space, with that. Quoted lines and those before them stay, and what begins a signature. */
const FOLDED = /^(?!>|-- \r?$)(.{0,998})( )\r?\n(?!>)/gm;

/** Plain text without folds. */
function unfolded(words: string, { delsp = "" }: Readonly<Record<string, string>>): string {
  return words.replace(/^ /gm, "").replace(FOLDED, /^yes$/i.test(delsp) ? "$1" : "$1$2");
}

/** The way of saying the same that people need: the plain one, unless it lacks a third of the words of the HTML. */
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
  // Reading HTML takes time. Its styles and what else stands between its tags are words that are missing, too.
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

/** The line with which a program that keeps mailboxes begins a message, before the first line of a header. */
const BEGIN = /(?<=\n\r?\n)From [^\n]*\b\d{4}(?: [+-]\d{4}| [A-Z]{1,5})?[ \t]*\r?(?=\n[\w-]+:(?!\/\/))/g;

/** Reads the mails of a mailbox. One begins at its start, and behind an empty line with `From … YEAR` and a header. */
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
