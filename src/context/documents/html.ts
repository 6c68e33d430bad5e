import { type Growing, growing } from "./growing.ts";
import { type HtmlList, itemsOfLists, LISTS, labelIn, listOf } from "./html-lists.ts";
import { type MathForm, mathForm } from "./html-math.ts";
import { type HtmlTable, openTable } from "./html-tables.ts";
import { boundedNumber, type Shift, shifting } from "./labels.ts";
import { type Attributes, parse } from "./markup.ts";

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
const GAPS = words("title p h1 h2 h3 h4 h5 h6 blockquote pre table ul ol figure section article listing xmp plaintext");
const BLOCKS = words(
  "address aside body caption center dd details dialog dir div dl dt fieldset figcaption footer foreignObject form header hr html legend li main menu nav summary tbody text textarea tfoot thead tr",
);
/** Boxes within a line: their words are parted from those beside them. */
const BOXES = words("button option select iframe object embed applet video audio canvas");
const HEADINGS = words("h1 h2 h3 h4 h5 h6");
const PRE = words("pre listing xmp plaintext textarea");

/** Elements that nobody sees, or only where scripts do not run. Of a drawing its words are shown. */
const SILENT = words("script style template noscript noframes noembed datalist rp svg annotation annotation-xml");
/** Elements that show what is not in the page. Words in them are for programs that cannot show it. */
const EMBEDDED = words("iframe object embed applet frame video audio canvas");
const READINGS = words("rt rtc");

/** The look of the words in an element, and in those within it that do not say otherwise. */
interface Style {
  readonly isShown: boolean;
  readonly isPre: boolean;
  /** Spaces between its elements do not show. */
  readonly isMath: boolean;
  readonly shift: Shift;
  /** The loss that its words are if they are not shown; undefined: none, or it was told. */
  loss?: string | undefined;
  /** The element that says so, and how deep it lies. */
  readonly by: string;
  readonly depth: number;
}

/** A field that shows one of its options: the first, or the one that is selected. */
interface Field {
  /** The words before it. */
  readonly before: string;
  hasOption: boolean;
}

/** An element of an equation that is open. */
interface MathPart extends MathForm {
  readonly depth: number;
  /** The number of its arguments so far. */
  arguments: number;
}

/** The state of a pass through HTML. */
interface Html {
  readonly text: Growing;
  readonly isWithin: boolean;
  depth: number;
  style: Style;
  /** Styles of the elements around. */
  readonly outer: Style[];
  /** The words of the block or cell that is open, and the last that were added to them. */
  words: string;
  last: string;
  shifted: ReturnType<typeof shifting>;
  /** The beginning of the next line: a label, or the sign of a heading. */
  mark: string;
  readonly lists: HtmlList[];
  readonly tables: HtmlTable[];
  field: Field | null;
  readonly equation: MathPart[];
  /** The number of lists so far, and the numbers of their items if some count down. */
  listed: number;
  readonly items: readonly number[];
}

/** Reads HTML as text with headings, lists and rows of tables. @param isWithin it is a page within another one */
export function readHtml(source: string, text: Growing, isWithin = false): void {
  const html: Html = {
    text,
    isWithin,
    depth: 0,
    style: { isShown: true, isPre: false, isMath: false, shift: "", by: "", depth: 0 },
    outer: [],
    words: "",
    last: "",
    shifted: shifting(),
    mark: "",
    lists: [],
    tables: [],
    field: null,
    equation: [],
    listed: 0,
    items: /\breversed\b/i.test(source) ? itemsOfLists(source) : [],
  };
  parse(source, false, {
    onopentag: (name, attributes) => open(html, name, attributes),
    ontext: (given) => take(html, given),
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

function open(html: Html, name: string, attributes: Attributes): void {
  html.depth += 1;
  if (LISTS.has(name)) html.listed += 1;
  const around = html.style;
  const change = changeBy(html, name, attributes);
  if (change) {
    html.outer.push(around);
    html.style = { ...around, loss: undefined, ...change, by: name, depth: html.depth };
  }
  const isThere = around.isShown && change?.loss !== HIDDEN;
  if (isThere || html.style.isShown) end(html, name);
  if (html.style.isMath && html.style.isShown) openMath(html, name, attributes);
  if (isThere && EMBEDDED.has(name)) embed(html, name, attributes);
  if (html.style.isShown) ON[name]?.(html, attributes, name);
}

function close(html: Html, name: string): void {
  const { isShown, depth } = html.style;
  if (isShown) ON[`/${name}`]?.(html, {}, name);
  if (html.equation.at(-1)?.depth === html.depth) add(html, html.equation.pop()?.end ?? "");
  if (depth === html.depth) html.style = html.outer.pop() ?? html.style;
  html.depth -= 1;
  if (!isShown && !html.style.isShown) return;
  end(html, name);
  if (name === "li" || HEADINGS.has(name)) html.mark = "";
}

const HIDDEN = "hidden text";

/** The look that an element gives to its words, where it differs from the one around. */
function changeBy(html: Html, name: string, attributes: Attributes): Partial<Style> | undefined {
  const { isShown, by } = html.style;
  if (!isShown) return by === "svg" && /^(text|foreignObject)$/.test(name) ? { isShown: true } : undefined;
  if (name === "nav" && attributes.hidden !== undefined) return { isShown: false };
  if (isHidden(name, attributes)) return { isShown: false, loss: HIDDEN };
  if (SILENT.has(name) || EMBEDDED.has(name)) return { isShown: false };
  if (READINGS.has(name)) return { isShown: false, loss: "reading of characters" };
  if (name === "option" && html.field && !isChosen(html, html.field, attributes)) return { isShown: false };
  if (name === "math" || name === "mtext") return { isMath: name === "math" };
  if (PRE.has(name)) return { isPre: true };
  if (name === "sup" || attributes["epub:type"] === "noteref") return { shift: "^" };
  if (name === "sub") return { shift: "_" };
  return undefined;
}

/** True for an element that does not show until a script does it. All of a page shows at the latest when it is complete. */
function isHidden(name: string, { hidden, style = "" }: Attributes): boolean {
  return name !== "body" && (hidden !== undefined || style.replace(/\s/g, "").toLowerCase().includes("display:none"));
}

function isChosen(html: Html, field: Field, { selected }: Attributes): boolean {
  const isFirst = !field.hasOption;
  field.hasOption = true;
  if (selected !== undefined) html.words = "";
  return isFirst || selected !== undefined;
}

/** Writes what stands before an element of an equation, and begins it. */
function openMath(html: Html, name: string, attributes: Attributes): void {
  const part = html.equation.at(-1);
  if (part?.depth === html.depth - 1) {
    add(html, part.before[Math.min(part.arguments, part.before.length - 1)] ?? "");
    part.arguments += 1;
  }
  const form = mathForm(name, attributes);
  if (form) html.equation.push({ ...form, depth: html.depth, arguments: 0 });
  if (name === "mtable") html.text.lose("equation");
}

function embed(html: Html, name: string, { srcdoc }: Attributes): void {
  if (srcdoc === undefined || html.isWithin) {
    html.text.lose("embedded object", name);
    return;
  }
  endLine(html);
  readHtml(srcdoc, html.text, true);
}

/** The work at an element, `/name` at its end. */
const ON: Readonly<Record<string, (html: Html, attributes: Attributes, name: string) => void>> = {
  br(html) {
    if (endLine(html)) html.text.add("\n");
  },
  img(html, { alt = "" }) {
    html.text.lose("image");
    if (alt.trim() !== "") add(html, `[image: ${alt.trim()}]`);
  },
  input(html, { type = "", value = "", checked, alt = "" }) {
    const kind = type.toLowerCase();
    if (kind === "checkbox" || kind === "radio") add(html, checked === undefined ? " [ ] " : " [x] ");
    else if (!/^(hidden|password|file|color|range)$/.test(kind)) add(html, ` ${kind === "image" ? alt : value} `);
  },
  select(html, { multiple, size }) {
    if (multiple !== undefined || boundedNumber(size, 1) > 1) return;
    html.field = { before: html.words, hasOption: false };
    html.words = "";
  },
  "/select"(html) {
    html.words = (html.field?.before ?? "") + html.words;
    html.field = null;
  },
  q: (html) => add(html, "“"),
  "/q": (html) => add(html, "”"),
  tspan: (html, { x, dy }) => add(html, x === undefined && dy === undefined ? "" : " "),
  li: (html, { value }) => mark(html, `${indent(html)}${labelIn(html.lists.at(-1), value)} `),
  ul: enterList,
  ol: enterList,
  menu: enterList,
  dir: enterList,
  "/ul": leaveList,
  "/ol": leaveList,
  "/menu": leaveList,
  "/dir": leaveList,
  h1: heading,
  h2: heading,
  h3: heading,
  h4: heading,
  h5: heading,
  h6: heading,
  table(html) {
    writeRows(html);
    html.tables.push(openTable());
  },
  "/table"(html) {
    endRow(html);
    writeRows(html);
    html.tables.pop();
  },
  thead: beginGroup,
  tbody: beginGroup,
  tfoot: beginGroup,
  tr(html) {
    endRow(html);
    html.tables.at(-1)?.beginRow();
  },
  "/tr": endRow,
  td: beginCell,
  th: beginCell,
  "/td": endCell,
  "/th": endCell,
};

function heading(html: Html, _: Attributes, name: string): void {
  mark(html, `${"#".repeat(Number(name[1]))} `);
}

function enterList(html: Html, attributes: Attributes, name: string): void {
  const items = html.items[html.listed - 1] ?? 0;
  html.lists.push(listOf(name, attributes, items, (style) => html.text.lose("list number", style)));
}

function leaveList(html: Html): void {
  html.lists.pop();
}

const indent = ({ lists }: Html) => "  ".repeat(Math.min(Math.max(lists.length - 1, 0), 8));

const isInCell = ({ tables }: Html) => tables.at(-1)?.isInCell() ?? false;

function beginGroup(html: Html, _: Attributes, name: string): void {
  endRow(html);
  html.tables.at(-1)?.beginGroup(name);
}

function beginCell(html: Html, attributes: Attributes): void {
  endCell(html);
  if (endLine(html)) html.text.line();
  html.tables.at(-1)?.beginCell(attributes);
}

function endCell(html: Html): void {
  if (isInCell(html)) html.tables.at(-1)?.endCell(cellWords(html));
}

function endRow(html: Html): void {
  endCell(html);
  html.tables.at(-1)?.endRow();
}

/** Writes the rows of the table that is open, up to here. */
function writeRows(html: Html): void {
  const rows = html.tables.at(-1)?.taken(isInCell(html) ? cellWords(html) : "") ?? [];
  for (const row of rows) {
    put(html, row);
    html.text.line();
  }
}

/** Takes the words of the cell that is open: a line for each block. */
function cellWords(html: Html): string {
  const { words } = html;
  begin(html);
  return words
    .replace(/ +/g, " ")
    .replace(/ ?\n[ \n]*/g, "\n")
    .trim();
}

/** Takes the words that are open, with one space where there are several. */
function taken(html: Html): string {
  const { words } = html;
  begin(html);
  return words.replace(/\s+/g, " ").trim();
}

/** Begins words that follow nothing. */
function begin(html: Html): void {
  html.words = "";
  html.last = "";
  html.shifted = shifting();
}

function take(html: Html, given: string): void {
  const { style } = html;
  if (style.isShown) {
    const said = style.isMath ? given.trim() : isInCell(html) ? given.replace(/\s+/g, " ") : given;
    // Soft hyphens show at the end of a line alone, and what is called or multiplied in an equation never.
    add(html, html.shifted(html.last, said.replace(/[\u00ad\u2061-\u2064]/g, ""), style.shift));
    if (!style.isPre || isInCell(html)) return;
    put(html, html.words);
    html.words = "";
  } else if (style.loss !== undefined && /\S/.test(given)) {
    html.text.lose(style.loss);
    style.loss = undefined;
  }
}

function add(html: Html, said: string): void {
  html.words += said;
  html.last = said;
}

function put(html: Html, said: string): void {
  if (said === "") return;
  html.text.add(`${html.mark}${said}`);
  html.mark = "";
}

/** Sets what stands before the next words. In an item that begins with another list or a heading there is something already. */
function mark(html: Html, said: string): void {
  if (isInCell(html)) add(html, said);
  else if (said.startsWith("#")) html.mark = said + html.mark.trimStart();
  else html.mark = html.mark === "" ? said : html.mark + said.trimStart();
}

/** Ends the line. False in a cell, which is a line of its row. */
function endLine(html: Html): boolean {
  if (isInCell(html)) add(html, "\n");
  else put(html, taken(html));
  return !isInCell(html);
}

/** Ends the line at the beginning or end of a block. */
function end(html: Html, name: string): void {
  if (BOXES.has(name)) add(html, " ");
  const hasGap = GAPS.has(name);
  if (!(hasGap || BLOCKS.has(name)) || !endLine(html)) return;
  if (hasGap && html.lists.length === 0) html.text.gap();
  else html.text.line();
}
