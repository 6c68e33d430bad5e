import {
  CROSSING,
  type Curve,
  type CurvePoint,
  cellsOf,
  crossingLine,
  curvesOf,
  type EvalRow,
  type Item,
  lineOf,
  lossesOf,
  lossLine,
  type Method,
  TITLES,
  unreadLine,
} from "../../eval/index.ts";
import { amount, compact, dollars, duration } from "../../platform/figures.ts";
import { cutText } from "../../platform/visible.ts";
import { escaped } from "../../view/index.ts";

/** An evaluation as its page shows it. */
interface ShownEvaluation {
  readonly rows: readonly EvalRow[];
  readonly items: readonly Item[];
  readonly methods: readonly Method[];
  /** Names and values of settings. */
  readonly facts: readonly (readonly [string, string])[];
  /** The line that shows a job. */
  show(row: EvalRow): string;
}

/** Rules of the page beside those of the page of a session. */
export const PAGE_RULES = `.curves{display:flex;flex-wrap:wrap;gap:8px 28px}.curves figure{flex:1 1 22rem}
svg{width:100%;height:auto}svg text{font-size:11px;fill:var(--dim)}svg .axis{stroke:var(--line)}
svg .at{stroke:var(--accent);stroke-dasharray:2 3}svg polyline{fill:none;stroke-width:2}
.m0{stroke:var(--paid);color:var(--paid)}.m1{stroke:var(--lost);color:var(--lost);stroke-dasharray:7 3}
.m2{stroke:var(--cached);color:var(--cached);stroke-dasharray:2 3}.m3{stroke:var(--kept);color:var(--kept);stroke-dasharray:9 3 2 3}
.m4{stroke:var(--pending);color:var(--pending);stroke-dasharray:4 4}svg text.of{stroke:none;fill:currentColor}
.wide{overflow-x:auto;overflow-wrap:normal}.wide :is(td+td,th){white-space:nowrap}.wide table{table-layout:auto;width:auto}.wide th:first-child{width:auto}
td .note{display:block}details{margin:4px 0}details table{min-width:0}article.run pre{margin:2px 0}`;

/** The body of the page, in pieces of HTML. */
export function* pageBody(shown: ShownEvaluation): Generator<string> {
  const { rows, facts } = shown;
  const curves = curvesOf(rows);
  yield "<article class=run><h1>Evaluation</h1><dl>";
  for (const [name, value] of facts) yield `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`;
  yield "</dl><h2>Methods side by side</h2>";
  yield* sideBySide(shown);
  yield `<h2>Where the ask loses</h2>${listOf(lossesOf(rows).map(lossLine), "In no suite, by the questions that both have answered.")}`;
  if (curves.length > 0) {
    yield `<h2>Where the ask overtakes</h2><p class=note>${escaped(CROSSING)}</p>`;
    yield listOf(
      curves.flatMap(({ crossings }) => crossings.map(crossingLine)),
      "No other method has answered the same questions at two sizes.",
    );
    for (const curve of curves) yield* curveFigures(curve, shown.methods);
  }
  const unread = unreadLine(rows);
  if (unread !== null) yield `<h2>What was not read</h2><p class=warned>${escaped(unread)}</p>`;
  yield "<h2>All figures</h2>";
  yield* figureTable(rows);
  yield `<h2>${amount(shown.items.length, "question")}</h2>`;
  yield* questions(shown);
  yield "</article>\n";
}

function listOf(lines: readonly string[], none: string): string {
  if (lines.length === 0) return `<p>${escaped(none)}</p>`;
  return `<ul>${lines.map((line) => `<li>${escaped(line)}</li>`).join("")}</ul>`;
}

/** A row for each suite and size, and a column for each method. */
function* sideBySide({ rows, methods }: ShownEvaluation): Generator<string> {
  const head = methods.map((method) => `<th>${escaped(method)}</th>`).join("");
  yield `<div class=wide><table><tr><th>suite</th><th>size</th>${head}</tr>`;
  const places = Map.groupBy(cellsOf(rows), ({ suite, size }) => JSON.stringify([suite, size]));
  for (const all of places.values()) {
    const [first] = all;
    yield `<tr><td>${escaped(first?.suite ?? "")}</td><td>${escaped(first?.size ?? "")}</td>`;
    for (const method of methods) {
      const cell = all.find((one) => one.method === method);
      const [, , , score = "-"] = cell ? lineOf(cell) : [];
      const cited = cell && cell.cites !== null ? `, ${cell.cited} of ${cell.cites} sources found` : "";
      const paid = cell && cell.cost_usd > 0 ? dollars(cell.cost_usd) : "no price";
      const figures = cell && cell.score !== null ? `${paid}, ${duration(cell.ms)}${cited}` : "";
      yield `<td><b>${escaped(score)}</b><span class=note>${escaped(figures)}</span></td>`;
    }
    yield "</tr>";
  }
  yield "</table></div><p class=note>Means of a question: score, price and time. Sources of all answers together.</p>";
}

function* figureTable(rows: readonly EvalRow[]): Generator<string> {
  const line = (cells: readonly string[], tag: "td" | "th") =>
    `<tr>${cells.map((one) => `<${tag}>${escaped(one)}</${tag}>`).join("")}</tr>`;
  yield `<div class=wide><table>${line(TITLES, "th")}`;
  for (const cell of cellsOf(rows)) yield line(lineOf(cell), "td");
  yield "</table></div>";
}

// The two figures of a curve. Both have the sizes from left to right, each twice as wide as half of it.

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [420, 210, 50, 90, 14, 28] as const;

function* curveFigures(curve: Curve, methods: readonly Method[]): Generator<string> {
  const most = Math.max(...curve.methods.flatMap(({ points }) => points.map(({ price }) => price))) || 1;
  yield `<h2>${escaped(curve.suite)}, by size of the context</h2><div class=curves>`;
  yield* curveFigure(curve, methods, {
    title: "score",
    of: ({ score }) => score,
    most: 1,
    text: (value) => value.toFixed(2),
  });
  yield* curveFigure(curve, methods, {
    title: curve.price === "usd" ? "price of a question" : "tokens of a question",
    of: ({ price }) => price,
    most,
    text: (value) => (value === 0 ? "0" : curve.price === "usd" ? dollars(value) : compact(Math.round(value))),
  });
  yield "</div>";
  const places = curve.crossings.flatMap(({ other, tokens, size }) => (tokens === null ? [] : [`${other} at ${size}`]));
  if (places.length > 0) yield `<p class=note>${escaped(`Dotted lines: the ask overtakes ${places.join(", ")}.`)}</p>`;
}

interface Axis {
  readonly title: string;
  readonly most: number;
  of(point: CurvePoint): number;
  text(value: number): string;
}

function* curveFigure(curve: Curve, methods: readonly Method[], { title, most, of, text }: Axis): Generator<string> {
  const all = curve.methods.flatMap(({ points }) => points);
  const sizes = new Map(all.map(({ tokens, size }) => [tokens, size]));
  const logs = [...sizes.keys()].map(Math.log2);
  const least = Math.min(...logs);
  const span = Math.max(...logs) - least;
  const x = (tokens: number) => round(LEFT + ((Math.log2(tokens) - least) / span) * (WIDTH - LEFT - RIGHT));
  const y = (value: number) => round(HEIGHT - BOTTOM - (value / most) * (HEIGHT - TOP - BOTTOM));
  yield `<figure><figcaption class=note>${escaped(title)}</figcaption><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role=img aria-label="${escaped(`${title} of ${curve.suite} by size`)}">`;
  for (const value of [0, most / 2, most]) {
    yield `<line class=axis x1=${LEFT} x2=${WIDTH - RIGHT} y1=${y(value)} y2=${y(value)} />`;
    yield `<text x=${LEFT - 6} y=${y(value) + 4} text-anchor=end>${escaped(text(value))}</text>`;
  }
  for (const [tokens, size] of sizes) {
    yield `<text x=${x(tokens)} y=${HEIGHT - 10} text-anchor=middle>${escaped(size)}</text>`;
  }
  for (const { tokens, other } of curve.crossings) {
    if (tokens === null) continue;
    yield `<line class=at x1=${x(tokens)} x2=${x(tokens)} y1=${TOP} y2=${HEIGHT - BOTTOM}><title>${escaped(`overtakes ${other}`)}</title></line>`;
  }
  const labels: { y: number; readonly x: number; readonly method: Method; readonly look: string }[] = [];
  for (const { method, points } of curve.methods) {
    const look = `m${Math.max(0, methods.indexOf(method)) % LOOKS}`;
    const places = points.map((point) => `${x(point.tokens)},${y(of(point))}`).join(" ");
    yield `<polyline class=${look} points="${places}"><title>${escaped(method)}</title></polyline>`;
    const last = points.at(-1);
    if (last) labels.push({ x: x(last.tokens) + 5, y: y(of(last)) + 4, method, look });
  }
  // Labels that would cover each other, or the sizes below, are moved up, and those that are above the figure then down.
  let next = HEIGHT - BOTTOM;
  for (const label of labels.sort((one, other) => other.y - one.y)) {
    label.y = Math.min(label.y, next);
    next = label.y - LABEL_HEIGHT;
  }
  next = TOP;
  for (const { x, y, method, look } of labels.reverse()) {
    const at = Math.max(y, next);
    next = at + LABEL_HEIGHT;
    yield `<text class="of ${look}" x=${x} y=${at}>${escaped(cutText(method, LABEL_UNITS))}</text>`;
  }
  yield "</svg></figure>";
}

const LOOKS = 5;
const LABEL_UNITS = 12;
const LABEL_HEIGHT = 12;
const round = (value: number) => Math.round(10 * value) / 10;

/** Characters of an answer that the page has. The line of results.jsonl has all of them. */
const ANSWER_UNITS = 20_000;

function* questions({ rows, items, show }: ShownEvaluation): Generator<string> {
  const answers = Map.groupBy(rows, ({ item }) => item);
  for (const { id, suite, size, question, expected, score } of items) {
    const own = answers.get(id) ?? [];
    const scores = own.map((row) => `${row.method} ${row.score === null ? "-" : row.score.toFixed(2)}`).join(", ");
    yield `<details><summary>${escaped(`${id} (${suite}, ${size}): ${scores}`)}</summary><pre>${escaped(question)}</pre>`;
    yield `<p class=note>right: ${escaped(typeof expected === "object" ? expected.join(", ") : String(expected))} (${score})</p>`;
    yield "<table><tr><th>method</th><th>answer</th></tr>";
    for (const row of own) {
      const figures = [
        row.cost_usd > 0 ? dollars(row.cost_usd) : "no price",
        duration(row.ms),
        ...(row.cites === null ? [] : [`${row.cited} of ${row.cites} sources found`]),
      ];
      const why = row.no_answer ?? row.error_code ?? row.status;
      const said = row.answer === null ? why : cutText(row.answer, ANSWER_UNITS);
      const form = row.misformed ? ", another form than asked for" : "";
      const points = row.score === null ? "not scored" : `scores ${row.score.toFixed(2)}`;
      yield `<tr${row.score === 1 ? "" : " class=bad"}><td><b>${escaped(row.method)}</b>`;
      yield `<span class=note>${escaped(`${points}${form}, ${figures.join(", ")}`)}</span></td>`;
      yield `<td><pre>${escaped(said)}</pre><span class=note><code>${escaped(show(row))}</code></span></td></tr>`;
    }
    yield "</table></details>";
  }
}
