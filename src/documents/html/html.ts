import { type Growing, growing, Unreadable } from "../growing.ts";
import { type Shift, type Shifting, shifting } from "../labels.ts";
import { type Attributes, parse } from "../markup.ts";
import { type HtmlList, itemsOfLists, LISTS, labelIn, listOf } from "./lists.ts";
import { type HtmlTable, openTable } from "./tables.ts";

/** The same for each of these elements. */
const each = <const T>(names: string, what: T) => names.split(" ").map((name) => [name, what] as const);

/**
 * The ends of lines at the beginnings and ends of elements. Words of a box are parted from those
 * beside them.
 */
const ENDS = new Map<string, "gap" | "line" | "box">([
  ...each("title p h1 h2 h3 h4 h5 h6 blockquote pre table ul ol figure section article listing xmp plaintext", "gap"),
  ...each("address aside body caption center dd details dialog dir div dl dt fieldset figcaption footer", "line"),
  ...each("foreignObject form header hr html legend li main menu nav summary tbody td text textarea tfoot", "line"),
  ...each("th thead tr", "line"),
  ...each("button option select iframe object embed applet video audio canvas tspan", "box"),
]);

/** The look of the words in an element, and in those within it that do not say otherwise. */
interface Look {
  readonly isShown: boolean;
  readonly isPre: boolean;
  /** Spaces between its elements do not show. */
  readonly isMath: boolean;
  readonly shift: Shift;
  /** The loss that its words are if they are not shown; undefined: none, or it was told. */
  loss?: string | undefined;
}

// These looks are told apart by which of them an element has.
const SILENT = { isShown: false };
const EMBEDDED = { isShown: false };
const RAISED = { shift: "^" } as const;
const LOWERED = { shift: "_" } as const;

/** The looks of elements, where they differ from those around. */
const LOOKS = new Map<string, Partial<Look>>([
  // Nobody sees these, or only where scripts do not run. Of a drawing the words are shown.
  ...each("script style template noscript noframes noembed datalist rp svg annotation annotation-xml", SILENT),
  // These show what is not in the page, and words in them are for programs that cannot show it.
  ...each("iframe object embed applet frame video audio canvas", EMBEDDED),
  ...each("rt rtc", { isShown: false, loss: "reading of characters" }),
  ...each("pre listing xmp plaintext textarea", { isPre: true }),
  ["math", { isMath: true }],
  ["mtext", { isMath: false }],
  ["sup", RAISED],
  ["sub", LOWERED],
]);
const HIDDEN = { isShown: false, loss: "hidden text" };

/** A look that an element has of its own. */
interface OwnLook extends Look {
  readonly by: string;
  /** The depth of the element. */
  readonly depth: number;
}

/** A field that shows one of its options: the first, or the one that is selected. */
interface Field {
  /** The words before it. */
  readonly before: string;
  hasOption: boolean;
}

/** An element of an equation that is open. */
interface MathPart {
  readonly signs: readonly string[];
  readonly depth: number;
  /** The number of its arguments so far. */
  arguments: number;
}

/** The state of a pass through HTML. */
interface Html {
  readonly text: Growing;
  depth: number;
  look: OwnLook;
  /** Looks of the elements around. */
  readonly outer: OwnLook[];
  /** The words of the block or cell that is open, and the last that were added to them. */
  words: string;
  last: string;
  /** Present once a word of them was raised or lowered. */
  shifted: Shifting | null;
  /** The beginning of the next line: a label, or the sign of a heading. */
  mark: string;
  readonly lists: HtmlList[];
  readonly tables: HtmlTable[];
  field: Field | null;
  readonly equation: MathPart[];
  /** The number of lists so far, and the numbers of their items if some count down. */
  listed: number;
  readonly items: readonly number[];
  /** True if a style sheet of the page says which numbers lists have. */
  hasNumbersByStyle: boolean;
}

/** Reads HTML as text with headings, lists and rows of tables. */
export function readHtml(source: string, text: Growing): void {
  const html: Html = {
    text,
    depth: 0,
    look: { isShown: true, isPre: false, isMath: false, shift: "", by: "", depth: 0 },
    outer: [],
    words: "",
    last: "",
    shifted: null,
    mark: "",
    lists: [],
    tables: [],
    field: null,
    equation: [],
    listed: 0,
    items: /\breversed\b/i.test(source) ? itemsOfLists(source) : [],
    hasNumbersByStyle: false,
  };
  parse(source.replace(INVISIBLE, ""), false, {
    onopentag: (name, attributes) => open(html, name, attributes),
    ontext: (given) => take(html, given),
    onclosetag: (name) => close(html, name),
  });
  put(html, taken(html));
  text.line();
}

/**
 * Soft hyphens, which show at the end of a line alone, and signs of an equation that says them
 * without writing.
 */
const INVISIBLE = /[\u00ad\u2061-\u2064]|&shy;|&#(?:173|xad|x206[1-4]|8289|829[0-2]);/gi;

/**
 * The text of HTML that is a part of something else, as far as it can be read. Its losses are told
 * to another text.
 */
export function textOfHtml(source: string, { lose, unread }: Pick<Growing, "lose" | "unread">): string {
  const text = growing(Number.POSITIVE_INFINITY);
  try {
    readHtml(source, { ...text, lose, unread });
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    lose("damaged part");
  }
  return text.soFar();
}

function open(html: Html, name: string, attributes: Attributes): void {
  html.depth += 1;
  const around = html.look;
  const own = lookOf(html, name, attributes);
  if (own) {
    html.outer.push(around);
    html.look = { ...around, loss: undefined, ...own, by: name, depth: html.depth };
  }
  const { isShown, isMath } = html.look;
  if (isShown || (around.isShown && own !== HIDDEN)) end(html, name);
  if (own === EMBEDDED) html.text.lose("embedded object", name);
  if (isShown && isMath) openMath(html, name, attributes);
  if (isShown) ON.get(name)?.(html, attributes, name);
}

function close(html: Html, name: string): void {
  const { isShown, depth } = html.look;
  if (isShown) AT_END.get(name)?.(html);
  if (html.equation.at(-1)?.depth === html.depth) add(html, html.equation.pop()?.signs.at(-1) ?? "");
  if (depth === html.depth) html.look = html.outer.pop() ?? html.look;
  html.depth -= 1;
  if (isShown || html.look.isShown) end(html, name);
}

/** The look that an element gives to its words. */
function lookOf(html: Html, name: string, attributes: Attributes): Partial<Look> | undefined {
  if (LISTS.has(name)) html.listed += 1;
  const { isShown, by } = html.look;
  if (!isShown) return by === "svg" && /^(text|foreignObject)$/.test(name) ? { isShown: true } : undefined;
  if (isHidden(name, attributes)) return name === "nav" ? SILENT : HIDDEN;
  if (name === "option" && html.field && !isChosen(html, html.field, attributes)) return SILENT;
  if (attributes["epub:type"] === "noteref") return RAISED;
  return LOOKS.get(name) ?? raisedBy(attributes.style);
}

/**
 * The look of words that a style of their own raises or lowers, as editors of mails and pages write
 * it.
 */
function raisedBy(style: string | undefined): Partial<Look> | undefined {
  const place = style && /vertical-align\s{0,9}:\s{0,9}(super|sub)\b/i.exec(style)?.[1];
  return place ? (place.toLowerCase() === "super" ? RAISED : LOWERED) : undefined;
}

/**
 * True for an element that does not show until a script does it. All of a page shows at the latest
 * when it is complete.
 */
function isHidden(name: string, { hidden, style = "" }: Attributes): boolean {
  if (name === "body") return false;
  return hidden !== undefined || (style !== "" && /display\s{0,9}:\s{0,9}none/i.test(style));
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
    add(html, part.signs[Math.min(part.arguments, part.signs.length - 2)] ?? "");
    part.arguments += 1;
  }
  const signs = signsAround(name, attributes);
  if (signs) html.equation.push({ signs, depth: html.depth, arguments: 0 });
  if (name === "mtable") html.text.lose("equation");
}

/** The work at the beginning of an element. */
const ON = new Map<string, (html: Html, attributes: Attributes, name: string) => void>([
  ["br", lineBreak],
  ["img", image],
  ["input", input],
  ["select", select],
  ["q", (html) => add(html, "“")],
  ["li", (html, { value }) => mark(html, `${indent(html)}${labelIn(html.lists.at(-1), value)} `)],
  ...each("ul ol menu dir", enterList),
  ...each("h1 h2 h3 h4 h5 h6", heading),
  ["table", enterTable],
  ...each("thead tbody tfoot", (html: Html) => html.tables.at(-1)?.beginGroup()),
  ["tr", (html) => html.tables.at(-1)?.beginRow()],
  ...each("td th", (html: Html, attributes: Attributes) => html.tables.at(-1)?.beginCell(attributes)),
]);

/** The work at the end of an element. */
const AT_END = new Map<string, (html: Html) => void>([
  ["select", endSelect],
  ["q", (html) => add(html, "”")],
  ...each("ul ol menu dir", (html: Html) => void html.lists.pop()),
  ...each("li h1 h2 h3 h4 h5 h6", endMarked),
  ["table", leaveTable],
  ["tr", (html) => html.tables.at(-1)?.endRow()],
  ...each("td th", (html: Html) => html.tables.at(-1)?.endCell()),
]);

function lineBreak(html: Html): void {
  if (endLine(html)) html.text.add("\n");
}

function image(html: Html, { alt = "" }: Attributes): void {
  html.text.lose("image");
  if (alt.trim() !== "") add(html, `[image: ${alt.trim()}]`);
}

function input(html: Html, { type = "", value = "", checked, alt = "" }: Attributes): void {
  const kind = type.toLowerCase();
  if (kind === "checkbox" || kind === "radio") add(html, checked === undefined ? " [ ] " : " [x] ");
  else if (!/^(hidden|password|file|color|range)$/.test(kind)) add(html, ` ${kind === "image" ? alt : value} `);
}

function select(html: Html, { multiple }: Attributes): void {
  if (multiple !== undefined) return;
  html.field = { before: html.words, hasOption: false };
  html.words = "";
}

function endSelect(html: Html): void {
  html.words = (html.field?.before ?? "") + html.words;
  html.field = null;
}

/** Ends an item or a heading. What stands before its words does not wait for others. */
function endMarked(html: Html): void {
  endLine(html);
  html.mark = "";
}

function heading(html: Html, _: Attributes, name: string): void {
  mark(html, `${"#".repeat(Number(name[1]))} `);
}

function enterList(html: Html, attributes: Attributes, name: string): void {
  const items = html.items[html.listed - 1] ?? 0;
  const isStyled = attributes.type !== undefined || attributes.style !== undefined;
  if (name === "ol" && html.hasNumbersByStyle && !isStyled) html.text.lose("list number", "style sheet");
  html.lists.push(listOf(name, attributes, items, (style) => html.text.lose("list number", style)));
}

const indent = ({ lists }: Html) => "  ".repeat(Math.min(Math.max(lists.length - 1, 0), 8));

const isInCell = ({ tables }: Html) => tables.at(-1)?.isInCell() ?? false;

function enterTable(html: Html): void {
  writeRows(html);
  html.tables.push(openTable(() => taken(html)));
}

function leaveTable(html: Html): void {
  html.tables.at(-1)?.endRow();
  writeRows(html);
  html.tables.pop();
}

/** Writes the rows of the table that is open, up to here. */
function writeRows(html: Html): void {
  for (const row of html.tables.at(-1)?.taken() ?? []) {
    put(html, row);
    html.text.line();
  }
}

/** The end of a line in the words of a cell. Text has none. */
const LINE_END = "\0";

/** Takes the words that are open: a line, or for a cell one for each block. */
function taken(html: Html): string {
  const { words } = html;
  if (words === "") return words;
  html.words = "";
  html.last = "";
  html.shifted = null;
  if (!words.includes(LINE_END)) return inLine(words);
  return words.split(LINE_END).map(inLine).filter(Boolean).join("\n");
}

const inLine = (words: string) => words.replace(/\s+/g, " ").trim();

function take(html: Html, given: string): void {
  const { look } = html;
  if (look.isShown) {
    if (look.shift !== "") html.shifted ??= shifting();
    const said = look.isMath ? given.trim() : given;
    add(html, html.shifted?.(html.last, said, look.shift) ?? said);
    if (!look.isPre || isInCell(html)) return;
    put(html, html.words);
    html.words = "";
  } else if (look.by === "style") {
    html.hasNumbersByStyle ||= NUMBERS_BY_STYLE.test(given);
  } else if (look.loss !== undefined && /\S/.test(given)) {
    html.text.lose(look.loss);
    look.loss = undefined;
  }
}

/**
 * Rules of a style sheet by which the items of lists have other numbers than decimal ones, or
 * numbers of several levels.
 */
const NUMBERS_BY_STYLE =
  /\b(?:ol|li)\b[^{}]{0,200}\{[^{}]{0,500}(?:counters?\(|list-style[^;}]{0,40}\b(?:lower|upper)-(?:alpha|latin|roman))/i;

function add(html: Html, said: string): void {
  html.words += said;
  html.last = said;
}

function put(html: Html, said: string): void {
  if (said === "") return;
  html.text.add(`${html.mark}${said}`);
  html.mark = "";
}

/**
 * Sets what stands before the next words. In an item that begins with another list or a heading
 * there is something already.
 */
function mark(html: Html, said: string): void {
  if (isInCell(html)) add(html, said);
  else if (said.startsWith("#")) html.mark = said + html.mark.trimStart();
  else html.mark = html.mark === "" ? said : html.mark + said.trimStart();
}

/** Ends the line. False in a cell, which is a line of its row. */
function endLine(html: Html): boolean {
  const isLine = !isInCell(html);
  if (isLine) put(html, taken(html));
  else add(html, LINE_END);
  return isLine;
}

/** Ends the line at the beginning or end of a block. */
function end(html: Html, name: string): void {
  const kind = ENDS.get(name);
  if (kind === "box") add(html, " ");
  else if (kind !== undefined && endLine(html)) {
    if (kind === "gap" && html.lists.length === 0) html.text.gap();
    else html.text.line();
  }
}

/**
 * Lines that elements of MathML become. `{}` is an argument. What stands before the last one stands
 * before those behind it, too.
 */
const FORMS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    mfrac: "({})/({})",
    msqrt: "√({}{})",
    mroot: "({})^(1/({}))",
    msup: "{}^({})",
    mover: "{}^({})",
    msub: "{}_({})",
    munder: "{}_({})",
    msubsup: "{}_({})^({})",
    munderover: "{}_({})^({})",
    mtable: "{}; {}",
    mtr: "{} {}",
  }),
);

/**
 * The signs around the arguments of an element of MathML in a line; undefined if its words stand as
 * they are.
 */
function signsAround(name: string, { open = "(", close = ")", separators = "," }: Attributes): string[] | undefined {
  const form = name === "mfenced" ? `${open}{}${separators.charAt(0)}{}${close}` : FORMS.get(name);
  return form?.split("{}");
}
