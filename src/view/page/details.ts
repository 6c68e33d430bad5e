import { messageOf } from "../../platform/errors.ts";
import { amount, dollars, thousands } from "../../platform/figures.ts";
import { shellWord, typedName } from "../../platform/shell-word.ts";
import { inLine, visible } from "../../platform/visible.ts";
import {
  EXEC_TEXTS,
  GRADES,
  type Head,
  NONE,
  type Texts,
  type TracedCitation,
  type TracedExec,
  type TracedUnread,
} from "../format.ts";
import { button, type Child, clockTime, facts, fill, h, lasting, type Pair, tint } from "./dom.ts";
import {
  execOf,
  foldSums,
  isOver,
  kindOf,
  percentile,
  ranFor,
  type Stretch,
  type Sums,
  sumsOf,
  waitedFor,
} from "./model.ts";

import { skyline } from "./overview.ts";
import {
  type Chosen,
  foldKey,
  GRADE_WORDS,
  LOOKS,
  markWords,
  nounOf,
  openAround,
  unreadWords,
  type View,
} from "./view.ts";

/** Shows what has been chosen, in full. */
export async function showDetails(aside: HTMLElement, view: View): Promise<void> {
  const { chosen, model } = view;
  const { kind, index } = chosen;
  let texts: Texts = [];
  let problem: string | null = null;
  try {
    if (kind === "call") texts = await view.texts.of(index);
    if (kind === "exec" && model.head.subject === "session") texts = await view.texts.of(model.head.calls + index);
  } catch (error) {
    problem = `These texts cannot be read: ${messageOf(error)}`;
  }
  // Something else may have been chosen meanwhile.
  if (chosen === view.chosen) fill(aside, ...PARTS[kind](view, index, texts), problem && note(problem));
}

const PARTS: Readonly<Record<Chosen["kind"], (view: View, index: number, texts: Texts) => Child[]>> = {
  call: (view, call, texts) => (nounOf(view.model) === "job" ? jobParts : callParts)(view, call, texts),
  exec: execParts,
  batch: foldParts,
  documents: documentParts,
  help,
};

const title = (text: string) => h("h1", {}, text);
const heading = (text: string) => h("h2", {}, text);
const note = (text: string) => h("p", { class: "note" }, text);
const costOf = (nanos: number) => (nanos > 0 ? dollars(nanos / 1e9) : "");
/** A fact of a count, if there is one. */
const counted = (count: number, text = thousands(count)) => (count > 0 ? text : null);

function callParts(view: View, call: number, [asked, answer]: Texts): Child[] {
  const { model, query } = view;
  const { of, nanos } = model.columns;
  const { head } = model;
  const exec = execOf(model, call);
  const kind = kindOf(model, call);
  const [glyph, words] = LOOKS[kind];
  const waited = waitedFor(model, call);
  const delivery = of("delivery", call);
  const lengths = `the prompt has ${amount(of("plen", call), "character")}, the answer ${thousands(of("alen", call))}`;
  return [
    title(`Call ${thousands(call + 1)}`),
    facts(
      ["cost", [`${glyph} ${words}`, costOf(nanos(call))].filter(Boolean).join(": ")],
      ["", counted(of("resent", call), RESENT)],
      ["error", head.errors[of("error", call)] ?? null],
      ["label", head.labels[of("label", call)] ?? null],
      ["phase", head.phases[of("phase", call)] ?? null],
      ["model", head.models[of("model", call)] ?? null],
      ["", markWords(of("marks", call)).join(", ")],
      ["tokens", tokens(sumsOf(model, { from: call, to: call + 1 }))],
      ["asked", `${clockTime(model.asked(call))} UTC, by exec ${exec?.number}`],
      ["waited", Number.isNaN(waited) ? "that it was sent is not recorded" : lasting(waited)],
      ["ran", isOver(model, call) ? lasting(ranFor(model, call)) : "not answered"],
      ["batch", delivery === NONE ? null : `a provider batch, which answered after ${lasting(delivery)}`],
      ["sent again", counted(of("tries", call), `${amount(of("tries", call), "time")} after a failure`)],
    ),
    head.texts === "none" ? note(`Texts are left out: ${lengths}.`) : null,
    ...textSection(exec?.turn ? "what the turn added" : "prompt", asked, query),
    ...textSection(kind === "lost" || kind === "refused" ? "error" : "answer", answer, query),
    ...goOn(head, exec, model.asked(call), of("number", call)),
  ];
}

const RESENT = "a resume sent it: if a request had left before, it was lost, at a price that is not known";

function jobParts(view: View, job: number, [id, error]: Texts): Child[] {
  const { head, columns } = view.model;
  const number = columns.of("number", job);
  const tries = columns.of("tries", job);
  const lapses = columns.of("resent", job);
  const [glyph, words] = LOOKS[kindOf(view.model, job)];
  const waited = waitedFor(view.model, job);
  const isBegun = !Number.isNaN(waited);
  const run = typedName(head.session);
  const lines = (id: string) => [
    heading("in the terminal"),
    copied(head, "view", `${run}/${id}`),
    copied(head, "jobs", run, id),
  ];
  return [
    title(`Job ${thousands(number + 1)}`),
    facts(
      ["state", `${glyph} ${words}`],
      ["id", id ?? "left out"],
      ["error", head.errors[columns.of("error", job)] ?? null],
      ["why", head.errors[columns.of("why", job)] ?? null],
      ["cost", costOf(columns.nanos(job))],
      ["calls", thousands(columns.of("calls", job))],
      ["tokens", thousands(columns.of("input", job))],
      ["failed tries", counted(tries)],
      ["taken over", counted(lapses, `${amount(lapses, "time")} from a process that had gone`)],
      ["waited", isBegun ? lasting(waited) : "it has not begun"],
      ["ran", isOver(view.model, job) ? `${lasting(ranFor(view.model, job))}, from its first try` : null],
    ),
    isBegun && head.revision ? button("Open its session", () => view.openJob(number)) : null,
    ...textSection("error", error, view.query),
    ...(id === undefined ? [] : lines(id)),
  ];
}

function tokens({ input, cached_in, cache_write, output, estimated }: Sums): string {
  const read = cached_in > 0 ? ` · ${thousands(cached_in)} from the provider's cache` : "";
  const written = cache_write > 0 ? ` · ${thousands(cache_write)} to it` : "";
  const untold = estimated > 0 ? ` · ${thousands(estimated)} of these estimated, since none were told` : "";
  return `${thousands(input)} in${read}${written} · ${thousands(output)} out${untold}`;
}

/** A text whole, in which what was searched for is marked. */
export function textSection(name: string, text: string | undefined, query: string): Child[] {
  if (!text) return [];
  const pre = h("pre", { tabindex: 0 }, ...marked(visible(text), query));
  return [heading(`${name} · ${amount(text.length, "character")}`), pre];
}

const MARKS = 400;

function marked(shown: string, query: string): Child[] {
  const low = shown.toLowerCase();
  const parts: Child[] = [];
  let from = 0;
  // Lower case may have another length, and then nothing is marked.
  for (let count = 0; query !== "" && low.length === shown.length && count < MARKS; count++) {
    const found = low.indexOf(query, from);
    if (found < 0) break;
    parts.push(shown.slice(from, found), h("mark", {}, shown.slice(found, found + query.length)));
    from = found + query.length;
  }
  return [...parts, shown.slice(from)];
}

/** The name of the session in a line to type; `RUN/ID` is that of a job. */
const nameIn = ({ session }: Pick<Head, "session">) =>
  session.name !== null && /^[^-/][^/]*\//.test(session.name) ? session.name : typedName(session);

/** Lines for a shell that continue from an instant of an exec. @param call its number; 0: none */
function goOn(head: Head, exec: TracedExec | undefined, instant: number, call: number) {
  const { session, checkpoints, subject } = head;
  const name = nameIn(head);
  if (!exec || subject === "run") return [heading("in the terminal"), copied(head, "jobs", name)];
  const lines: Child[] = [heading("continue from here")];
  // The name of a job has characters that the name of a session may not have.
  const next = (session.name ?? session.id).replaceAll(/[^\p{L}\p{N} ._~-]/gu, "-");
  if (exec.depth === 0) {
    if (exec.status === "unfinished" && session.status === "unfinished") lines.push(copied(head, "resume", name));
    const [before] = checkpoints.findLast(([, , , at]) => at <= instant) ?? [];
    const fork = (id: string) => copied(head, "fork", `${name}@${id}`, "--name", `${next}-2`);
    if (before !== undefined) lines.push(note("before it"), fork(before));
    else lines.push(note("No checkpoint before it is kept. --keep-steps keeps those within a cell."));
    const after = call === 0 ? exec.checkpoint_id : null;
    if (after !== null && after !== before) lines.push(note("after it"), fork(after));
  }
  const place = ["--exec", String(exec.number), ...(call === 0 ? [] : ["--call", String(call)])];
  return [...lines, note("in the terminal"), copied(head, "show", exec.session ?? name, ...place)];
}

/** A line for a shell, with the store that it is about. */
function copied({ store }: Pick<Head, "store">, ...words: readonly string[]): HTMLElement {
  const line = `belay ${words.map((word) => shellWord(word)).join(" ")}${store}`;
  const code = h("code", {}, line);
  const select = () => {
    getSelection()?.selectAllChildren(code);
    fill(copy, "press Ctrl-C");
  };
  const write = async () => navigator.clipboard.writeText(line);
  const click = () => void write().then(() => fill(copy, "copied"), select);
  const copy = button("copy", click, { "aria-label": `Copy ${line}` });
  return h("div", { class: "copy" }, code, copy);
}

function execParts(view: View, index: number, texts: Texts): Child[] {
  const { model, query } = view;
  const { head } = model;
  const exec = head.execs[index];
  if (!exec) return [];
  const isRun = head.subject === "run";
  const { kind, number, turn, ask } = exec;
  const text = (name: (typeof EXEC_TEXTS)[number], heading: string = name) =>
    textSection(heading, texts[EXEC_TEXTS.indexOf(name)], query);
  const resumes = exec.resumes.map(({ gap_ms, replayed, resent, failed }) => {
    const given = `${amount(replayed, "answer")} given again, ${amount(resent, "call")} sent again`;
    return `after ${lasting(gap_ms)} without a process: ${given}${failed > 0 ? `, ${amount(failed, "call")} let fail` : ""}`;
  });
  const named = turn ? `Turn ${turn}, exec ${number}` : `Exec ${number}: ${kind}`;
  const pairs: Pair[] = [
    ["status", [isRun ? head.session.status : exec.status, exec.error_code].filter(Boolean).join(" · ")],
    ["file", exec.file],
    ["began", `${new Date(exec.began).toISOString().slice(0, 10)} ${clockTime(exec.began)} UTC`],
    ["ran", isRun ? lasting(model.clock.running) : exec.ms === null ? "not over" : lasting(exec.ms)],
    ["resumed", resumes.join("; ")],
    ["answered by", ask?.answered_by ?? null],
    ["warnings", exec.warnings.join("; ")],
  ];
  return [
    title(isRun ? `Run ${exec.label}` : named),
    ...summary(pairs, exec, sumsOf(model, exec), view),
    head.texts === "none" ? note("Texts are left out.") : null,
    ...(ask ? [...text("answer"), ...citations(ask.citations)] : []),
    ...(turn ? text("answer", "what the model said") : text("code", kind === "ask" ? "question" : "code")),
    ...(["output", "errors", "error", "result"] as const).flatMap((name) => text(name)),
    ...goOn(head, exec, exec.began, 0),
  ];
}

/** Places that an answer rests on. */
function citations(cited: readonly TracedCitation[]): Child[] {
  return cited.length > 0 ? [heading("it rests on"), ...cited.map(citationParts)] : [];
}

function foldParts(view: View, index: number): Child[] {
  const { model } = view;
  const fold = model.folds[index];
  if (!fold) return [];
  const what = fold.batches > 1 ? amount(fold.batches, "batch", "batches") : "Batch";
  const isOpen = view.open.has(foldKey(fold, model));
  const exec = model.head.execs[fold.exec];
  return [
    title(`${what} of ${amount(fold.to - fold.from, "call")}`),
    ...summary([["cell", `exec ${exec?.number}`]], fold, foldSums(fold, model), view),
    button(isOpen ? "Fold the calls" : "Show the calls", () => view.toggle(fold)),
    ...goOn(model.head, exec, model.asked(fold.from), 0),
  ];
}

/**
 * Facts, and what calls or jobs took: sums, percentiles, a histogram, and failures
 * by code, each of which filters.
 */
function summary(pairs: readonly Pair[], { from, to }: Stretch, sums: Sums, view: View): Child[] {
  const { model } = view;
  const { head, columns } = model;
  const runs = [] as number[];
  const waits = [] as number[];
  const errors = new Map<number, number>();
  for (let call = from; call < to; call++) {
    const waited = waitedFor(model, call);
    const error = columns.of("error", call);
    if (isOver(model, call) && kindOf(model, call) !== "cached") runs.push(ranFor(model, call));
    if (!Number.isNaN(waited)) waits.push(waited);
    if (error > 0) errors.set(error, (errors.get(error) ?? 0) + 1);
  }
  runs.sort((one, other) => one - other);
  waits.sort((one, other) => one - other);
  const count = to - from;
  const classes = sums.kinds.flatMap(({ calls }, at) => (calls > 0 ? `${thousands(calls)} ${head.kinds[at]}` : []));
  const isRun = head.subject === "run";
  const failures = [...errors].map(([error, count]) => {
    const filter = () => {
      Object.assign(view, { error, execs: [columns.of("exec", from), columns.of("exec", from)] });
      openAround(view, from);
      view.list();
    };
    const text = `✗ ${head.errors[error] ?? ""} · ${thousands(count)}`;
    return button(h("span", { class: "word", css: tint("lost") }, text), filter);
  });
  return [
    facts(
      ...pairs,
      [`${nounOf(model)}s`, counted(count, `${thousands(count)}: ${classes.join(" · ")}`)],
      ["cost", counted(count, costOf(sums.nanos) || "no price is known")],
      ["calls", counted(sums.calls)],
      ["tokens", counted(count, isRun ? thousands(sums.input) : tokens(sums))],
      ["running", counted(count - 1, percentiles(runs))],
      ["waiting", counted(count - 1, percentiles(waits) || "not recorded")],
      [isRun ? "failed tries" : "sent again", counted(sums.tries)],
    ),
    ...(count > 1 && runs.length > 0 ? histogram(runs) : []),
    ...(failures.length > 0 ? [heading("failed"), ...failures] : []),
  ];
}

const PERCENTILES = { p50: 0.5, p90: 0.9, p99: 0.99, max: 1 };

function percentiles(sorted: readonly number[]): string {
  const shares = Object.entries(PERCENTILES).map(([name, share]) => `${name} ${lasting(percentile(sorted, share))}`);
  return sorted.length > 0 ? shares.join(" · ") : "";
}

/** Bars that say how often calls ran how long. The longest hundredth is in the last bar. */
function histogram(sorted: readonly number[]): Child[] {
  const counts = Array.from({ length: Math.min(60, Math.max(12, sorted.length)) }, () => 0);
  const longest = Math.max(1, percentile(sorted, 0.99) * 1.1);
  for (const ms of sorted) {
    const at = Math.min(counts.length - 1, Math.floor((ms / longest) * counts.length));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const bars = skyline("paid", counts, Math.max(...counts));
  const most = h("span", {}, `${lasting(longest)} and more`);
  const ends = h("p", { class: "key" }, h("span", { class: "grow" }, "0"), most);
  const label = `Running times: ${percentiles(sorted)}`;
  return [heading("running times"), h("div", { class: "histogram", role: "img", "aria-label": label }, bars), ends];
}

function documentParts({ model }: View, grade: number): Child[] {
  const { head } = model;
  const { coverage } = head;
  const { count = 0, largest = [] } = coverage?.documents[grade] ?? {};
  const name = GRADES[grade];
  if (!coverage || !name) return [];
  const unread = copied(head, "show", nameIn(head), "--unread");
  return [
    title(`${amount(count, "document")}: ${GRADE_WORDS[name]}`),
    note(coverage.told),
    facts(...largest.map(([id, chars]): Pair => [id, amount(chars, "character")])),
    count > largest.length ? note(`and ${thousands(count - largest.length)} smaller ones`) : null,
    ...(name === "never" ? [...unreadParts(coverage.unread), heading("in the terminal"), unread] : []),
  ];
}

/** Files of the load that could not be read, which no grade has. */
function unreadParts(unread: TracedUnread | null): Child[] {
  if (!unread) return [];
  const { count, files } = unread;
  return [
    heading(unreadWords(count)),
    facts(...files.map(([path, reason]): Pair => [inLine(path), inLine(reason)])),
    count > files.length ? note(`and ${thousands(count - files.length)} more`) : null,
  ];
}

function help({ model }: View): Child[] {
  const { subject, kinds } = model.head;
  const looks = kinds.map((kind) => LOOKS[kind]);
  return [
    title("Keys"),
    facts(
      ["/", "search"],
      ["↑ ↓ PgUp PgDn Home End", "move in the list"],
      ["Enter", "open or fold a batch"],
      ["[ ]", "the exec before, the exec after"],
      ["e", "the next failure"],
      ["c", "copy the first line that continues from here"],
      ["?", "this list"],
    ),
    heading(subject === "run" ? "states of jobs" : "what a call cost"),
    facts(
      ...looks.map(([glyph, words, style]): Pair => [glyph, h("span", { class: "word", css: tint(style) }, words)]),
    ),
    note("Dollars are by price lists. Times leave out the time in which no process ran."),
  ];
}

/** `lease.pdf, p.3` or `notes.md, line 3`. */
export function placeOf({ doc, line, place }: Pick<TracedCitation, "doc" | "line" | "place">): string {
  const part = place !== null ? `, ${place}` : line === null ? "" : `, line ${line}`;
  return inLine(`${doc ?? "no document"}${part}`);
}

/**
 * A place that an answer rests on, with its quote. It opens the text around it, in which
 * the quote is marked and in sight.
 */
export function citationParts(citation: TracedCitation): HTMLElement {
  const { quote, grade, around } = citation;
  const words = grade && h("small", {}, ` · ${GRADE_WORDS[grade]}`);
  const parts = [h("b", {}, placeOf(citation)), words, h("p", {}, quote)];
  if (!around) return h("div", { class: "cite" }, ...parts);
  const { text, at, length } = around;
  const mark = h("mark", {}, text.slice(at, at + length));
  const whole = h("pre", { tabindex: 0 }, text.slice(0, at), mark, text.slice(at + length));
  const reveal = () => {
    whole.scrollTop = mark.offsetTop - whole.clientHeight / 3;
  };
  return h("details", { class: "cite", on: { toggle: reveal } }, h("summary", {}, ...parts), whole);
}
