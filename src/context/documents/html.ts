import { type Growing, growing } from "./growing.ts";
import { type Attributes, parse } from "./markup.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const GAPS = words("title p h1 h2 h3 h4 h5 h6 blockquote pre table ul ol figure section article");
const BLOCKS = words(
  "address aside body dd details dialog div dl dt fieldset figcaption footer form header hr html li main nav tbody tfoot thead tr summary caption",
);
const LEFT_OUT = words("script style template noscript svg iframe object");

/** The state of a pass through HTML. */
const begun = (text: Growing, lists: (number | null)[] = [], row: string[] | null = null) => ({
  text,
  /** The number of open elements that are left out. */
  leftOut: 0,
  pre: 0,
  /** The words of the block or cell that is open, and what stands before them once there are some. */
  words: "",
  mark: "",
  /** The numbers of the open lists; null for one without numbers. */
  lists,
  /** The cells of the open row, and whether another one is open. */
  ...{ row, isCell: false },
});
type Html = ReturnType<typeof begun>;

/** Reads HTML as text with headings, lists and rows of tables. */
export function readHtml(source: string, text: Growing): void {
  const html = begun(text);
  parse(source, false, {
    onopentag: (name, attributes) => open(html, name, attributes),
    ontext(given) {
      if (html.leftOut > 0) return;
      html.words += given;
      if (html.pre > 0 && !html.isCell) put(html, taken(html, false));
    },
    onclosetag: (name) => close(html, name),
  });
  put(html, taken(html));
  text.line();
}

/** The text of HTML, whose losses are told to another text. */
export function textOfHtml(source: string, { lose, unread }: Pick<Growing, "lose" | "unread">): string {
  const text = growing(Number.POSITIVE_INFINITY);
  readHtml(source, { ...text, lose, unread });
  return text.soFar();
}

function open(html: Html, name: string, { alt = "" }: Attributes): void {
  if (LEFT_OUT.has(name)) {
    if (name === "iframe" || name === "object") html.text.lose("embedded object");
    html.leftOut += 1;
  }
  if (html.leftOut > 0) return;
  end(html, name);
  if (name === "br" && endLine(html)) html.text.add("\n");
  else if (name === "img") {
    html.text.lose("image");
    html.words += alt.trim() === "" ? "" : `[image: ${alt.trim()}]`;
  } else if (/^h[1-6]$/.test(name)) mark(html, `${"#".repeat(Number(name[1]))} `);
  else if (name === "ul" || name === "ol") html.lists.push(name === "ol" ? 0 : null);
  else if (name === "li") mark(html, bullet(html.lists));
  else if (name === "pre") html.pre += 1;
  else if (name === "tr") html.row ??= [];
  else if ((name === "td" || name === "th") && html.row) html.isCell = true;
}

function close(html: Html, name: string): void {
  if (LEFT_OUT.has(name)) html.leftOut = Math.max(0, html.leftOut - 1);
  if (html.leftOut > 0 || LEFT_OUT.has(name)) return;
  if ((name === "td" || name === "th") && html.isCell) {
    html.row?.push(taken(html));
    html.isCell = false;
  } else if (name === "tr" && html.row && !html.isCell) {
    put(html, html.row.join(" | "));
    html.row = null;
  } else if (name === "pre") html.pre = Math.max(0, html.pre - 1);
  else if (name === "ul" || name === "ol") html.lists.pop();
  end(html, name);
  if (name === "li" || /^h[1-6]$/.test(name)) html.mark = "";
}

/** Takes the words that are open, with one space where there are several. */
function taken(html: Html, isFilled = true): string {
  const { words } = html;
  html.words = "";
  return isFilled ? words.replace(/\s+/g, " ").trim() : words;
}

function put(html: Html, said: string): void {
  if (said === "") return;
  html.text.add(`${html.mark}${said}`);
  html.mark = "";
}

function mark(html: Html, said: string): void {
  if (html.isCell) html.words += said;
  else html.mark = said;
}

/** Ends the line. A cell has one line: in it this is a space, and the result false. */
function endLine(html: Html): boolean {
  if (html.isCell) html.words += " ";
  else put(html, taken(html));
  return !html.isCell;
}

function bullet(lists: (number | null)[]): string {
  const depth = lists.length - 1;
  const number = lists[depth] ?? null;
  if (number !== null) lists[depth] = number + 1;
  return `${"  ".repeat(Math.min(Math.max(depth, 0), 8))}${number === null ? "-" : `${number + 1}.`} `;
}

/** Ends the line at the beginning or end of a block. */
function end(html: Html, name: string): void {
  const hasGap = GAPS.has(name);
  if (!(hasGap || BLOCKS.has(name)) || !endLine(html)) return;
  if (hasGap && html.lists.length === 0) html.text.gap();
  else html.text.line();
}
