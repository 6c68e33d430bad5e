import { amount, dollars, thousands } from "../../platform/figures.ts";
import { inLine, visible } from "../../platform/visible.ts";
import { EXEC_TEXTS, GRADES, type Head, KINDS, type Texts, type TracedCitation, type TracedExec } from "../format.ts";
import { button, type Child, clockTime, facts, fill, h, lasting, quoted } from "./dom.ts";
import { ranFor, waitedFor } from "./list.ts";
import { execOf, type Fold, nanosOf, percentile } from "./model.ts";
import { drawHistogram } from "./pictures.ts";
import type { OpenedRows } from "./rows.ts";
import { type Actions, countedIn, foldKey, GLYPHS, GRADE_WORDS, kindOf, openAround, type View, WORDS } from "./view.ts";

/** Shows what has been chosen, in full. */
export async function showDetails(aside: HTMLElement, view: View, rows: OpenedRows, actions: Actions): Promise<void> {
  const { chosen, model } = view;
  if (chosen.kind === "help") fill(aside, ...help());
  if (chosen.kind === "documents") fill(aside, ...documentParts(chosen.index, view));
  if (chosen.kind === "fold") {
    const fold = model.folds[chosen.index];
    if (fold) showFold(aside, fold, view, rows, actions);
  }
  if (chosen.kind === "exec") {
    const exec = model.head.execs[chosen.index];
    const told = exec && (await textsOf(view, exec.text));
    if (exec && told && chosen === view.chosen) fill(aside, ...execParts(exec, told, view));
  }
  if (chosen.kind === "call") {
    const told = await textsOf(view, chosen.index);
    if (chosen === view.chosen) fill(aside, ...callParts(chosen.index, told, view));
  }
}

type Told = { readonly texts: Texts } | { readonly problem: string };

async function textsOf({ model, texts }: View, text: number | null): Promise<Told> {
  if (text === null || model.head.texts === "none") return { texts: [] };
  try {
    return { texts: await texts.of(text) };
  } catch (error) {
    return { problem: `These texts cannot be read: ${error instanceof Error ? error.message : error}` };
  }
}

const title = (text: string) => h("h1", {}, text);
const heading = (text: string) => h("h2", {}, text);
const note = (text: string) => h("p", { class: "note" }, text);

function callParts(call: number, told: Told, view: View): Child[] {
  const { model } = view;
  const { columns, head } = model;
  const exec = execOf(head, columns, call);
  const number = (name: "input" | "output" | "cached_in" | "cache_write" | "tries" | "resent") =>
    columns[name][call] ?? 0;
  const kind = kindOf(model, call);
  const nanos = nanosOf(columns, call);
  const waited = waitedFor(model, call);
  const isOver = Number.isFinite(model.ended[call]);
  const parts: Child[] = [
    title(`Call ${thousands(call + 1)}`),
    facts(
      ["cost", `${GLYPHS[kind]} ${WORDS[kind]}${nanos > 0 ? `: ${dollars(nanos / 1e9)}` : ""}`],
      [
        "",
        number("resent") > 0
          ? "a resume sent it again: its first request was lost, at a price that is not known"
          : null,
      ],
      ["error", head.errors[columns.error[call] ?? 0] ?? null],
      ["model", head.models[columns.model[call] ?? 0] ?? null],
      ["tokens", tokens(number("input"), number("cached_in"), number("cache_write"), number("output"))],
      ["asked", `${clockTime(model.asked[call] ?? 0)} UTC, by exec ${exec?.number}`],
      ["waited", waited === null ? "that it was sent is not recorded" : lasting(waited)],
      ["ran", isOver ? lasting(ranFor(model, call)) : "not answered"],
      ["sent again", number("tries") > 0 ? `${amount(number("tries"), "time")} after a failure` : null],
      ["child", childOf(call, view)],
    ),
  ];
  if ("problem" in told) parts.push(note(told.problem));
  else if (head.texts === "none")
    parts.push(
      note(`Texts are left out: the prompt has ${columns.plen[call]} characters, the answer ${columns.alen[call]}.`),
    );
  else {
    parts.push(...section(exec?.turn ? "what the turn added" : "prompt", told.texts[0], view.query));
    parts.push(...section(kind === "lost" || kind === "refused" ? "error" : "answer", told.texts[1], view.query));
  }
  return [...parts, ...goOn(head, exec, model.asked[call] ?? 0, exec ? call - exec.from + 1 : null)];
}

/** Everything that the child of a call has done, and its own children: null if it has none. */
function childOf(call: number, { model }: View): string | null {
  const all = below(call);
  if (all.execs === 0) return null;
  const cost = all.nanos > 0 ? ` for ${dollars(all.nanos / 1e9)}` : "";
  return `${amount(all.execs, "exec")} and ${amount(all.calls, "call")}${cost}, below it in the list`;

  function below(above: number): { execs: number; calls: number; nanos: number } {
    const sum = { execs: 0, calls: 0, nanos: 0 };
    for (const index of model.below.get(above) ?? []) {
      sum.execs++;
      const { from = 0, to = 0 } = model.head.execs[index] ?? {};
      for (let one = from; one < to; one++) {
        const deeper = below(one);
        sum.execs += deeper.execs;
        sum.calls += 1 + deeper.calls;
        sum.nanos += nanosOf(model.columns, one) + deeper.nanos;
      }
    }
    return sum;
  }
}

function tokens(input: number, read: number, written: number, output: number): string {
  const cache = [read > 0 ? `${thousands(read)} read` : "", written > 0 ? `${thousands(written)} written` : ""].filter(
    Boolean,
  );
  const more = cache.length > 0 ? `, of the provider's cache ${cache.join(" and ")}` : "";
  return `${thousands(input)} in${more} · ${thousands(output)} out`;
}

/** A text whole, in which what was searched for is marked. */
function section(name: string, text: string | undefined, query: string): Child[] {
  if (text === undefined || text === "") return [];
  return [heading(`${name} · ${amount(text.length, "character")}`), h("pre", { tabindex: 0 }, ...marked(text, query))];
}

const MARKS = 400;

function marked(text: string, query: string): Child[] {
  const shown = visible(text);
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

/** Lines for a shell that go on from an instant of an exec. */
function goOn(head: Head, exec: TracedExec | undefined, instant: number, call: number | null): Child[] {
  const { session, checkpoints } = head;
  if (!exec) return [];
  const name = quoted(session.name ?? session.id);
  const lines: Child[] = [heading("go on from here")];
  if (exec.depth === 0) {
    if (exec.status === "unfinished" && session.status === "unfinished") lines.push(copied(`belay resume ${name}`));
    const [before] = checkpoints.findLast(([, , , at]) => at <= instant) ?? [];
    const fork = (id: string) => copied(`belay fork ${name}@${id} --name ${quoted(`${session.name ?? session.id}-2`)}`);
    if (before !== undefined) lines.push(note("before it"), fork(before));
    else lines.push(note("No checkpoint before it is kept. --keep-steps keeps those within a cell."));
    const after = call === null ? exec.checkpoint_id : null;
    if (after !== null && after !== before) lines.push(note("after it"), fork(after));
  }
  const shown = exec.session === null ? name : exec.session;
  return [
    ...lines,
    note("in the terminal"),
    copied(`belay show ${shown} --exec ${exec.number}${call === null ? "" : ` --call ${call}`}`),
  ];
}

/** A line that a button copies. */
function copied(line: string): HTMLElement {
  const code = h("code", {}, line);
  const copy = button("copy", `Copy ${line}`, () => {
    const select = () => {
      getSelection()?.selectAllChildren(code);
      fill(copy, "press Ctrl-C");
    };
    if (navigator.clipboard) navigator.clipboard.writeText(line).then(() => fill(copy, "copied"), select);
    else select();
  });
  return h("div", { class: "copy" }, code, copy);
}

function execParts(exec: TracedExec, told: Told, { model, query }: View): Child[] {
  const { head, columns } = model;
  let nanos = 0;
  for (let call = exec.from; call < exec.to; call++) nanos += nanosOf(columns, call);
  const calls = exec.to - exec.from;
  const resumes = exec.resumes.map(({ gap_ms, replayed, resent, failed }) => {
    const lost = failed > 0 ? `, ${amount(failed, "call")} let fail` : "";
    return `after ${lasting(gap_ms)} without a process: ${amount(replayed, "answer")} given again, ${amount(resent, "call")} sent again${lost}`;
  });
  const parts: Child[] = [
    title(exec.turn ? `Turn ${exec.turn}, exec ${exec.number}` : `Exec ${exec.number}: ${exec.kind}`),
    facts(
      ["status", `${exec.status}${exec.error_code ? ` · ${exec.error_code}` : ""}`],
      ["file", exec.file],
      ["began", `${new Date(exec.began).toISOString().slice(0, 10)} ${clockTime(exec.began)} UTC`],
      ["ran", exec.ms === null ? "not over" : lasting(exec.ms)],
      ["calls", calls > 0 ? `${thousands(calls)}${nanos > 0 ? ` · ${dollars(nanos / 1e9)}` : ""}` : null],
      ["resumed", resumes.length > 0 ? resumes.join("; ") : null],
      ["answered by", exec.ask?.answered_by ?? null],
      ["warnings", exec.warnings.join("; ")],
    ),
  ];
  if ("problem" in told) parts.push(note(told.problem));
  else if (head.texts === "none") parts.push(note("Texts are left out."));
  else {
    const text = (name: (typeof EXEC_TEXTS)[number]) => told.texts[EXEC_TEXTS.indexOf(name)];
    const names = {
      code: exec.kind === "ask" ? "question" : "code",
      output: "output",
      errors: "errors",
      error: "error",
    };
    if (exec.ask) parts.push(...section("answer", text("answer"), query), ...citations(exec.ask.citations));
    if (exec.turn) parts.push(...section("what the model said", text("answer"), query));
    for (const name of ["code", "output", "errors", "error"] as const) {
      if (!exec.turn || name !== "code") parts.push(...section(names[name], text(name), query));
    }
    parts.push(...section("result", text("result"), query));
  }
  return [...parts, ...goOn(head, exec, exec.began, null)];
}

/** Places that an answer rests on. A citation opens the text around it. */
function citations(cited: readonly TracedCitation[]): Child[] {
  if (cited.length === 0) return [];
  return [
    heading("it rests on"),
    ...cited.map(({ doc, line, quote, around }) => {
      const place = `${doc ?? "no document"}${line === null ? "" : `, line ${line}`}`;
      if (!around) return h("div", { class: "cite" }, h("b", {}, inLine(place)), h("p", {}, quote));
      const { text, at, length } = around;
      const quoted = h("mark", {}, text.slice(at, at + length));
      const whole = h("pre", { tabindex: 0 }, text.slice(0, at), quoted, text.slice(at + length));
      return h("details", { class: "cite" }, h("summary", {}, h("b", {}, inLine(place)), h("p", {}, quote)), whole);
    }),
  ];
}

function showFold(aside: HTMLElement, fold: Fold, view: View, rows: OpenedRows, actions: Actions): void {
  const { model } = view;
  const { columns, head } = model;
  const { kinds, nanos } = countedIn(fold, model);
  const [runs, waits, errors] = [[] as number[], [] as number[], new Map<number, number>()];
  const sums = { input: 0, output: 0, cached_in: 0, cache_write: 0, tries: 0 };
  for (let call = fold.from; call < fold.to; call++) {
    if (Number.isFinite(model.ended[call]) && kindOf(model, call) !== "cached") runs.push(ranFor(model, call));
    const waited = waitedFor(model, call);
    if (waited !== null) waits.push(waited);
    for (const name of ["input", "output", "cached_in", "cache_write", "tries"] as const)
      sums[name] += columns[name][call] ?? 0;
    const error = columns.error[call] ?? 0;
    if (error > 0) errors.set(error, (errors.get(error) ?? 0) + 1);
  }
  runs.sort((one, other) => one - other);
  waits.sort((one, other) => one - other);
  const canvas = h("canvas", { class: "histogram", role: "img", "aria-label": `Running times: ${percentiles(runs)}` });
  const exec = head.execs[fold.exec];
  const what = fold.batches > 1 ? amount(fold.batches, "batch", "batches") : "Batch";
  fill(
    aside,
    title(`${what} of ${amount(fold.to - fold.from, "call")}`),
    facts(
      ["cell", `exec ${exec?.number}`],
      ["cost", `${nanos > 0 ? dollars(nanos / 1e9) : "no price is known"} · ${classes(kinds)}`],
      ["tokens", tokens(sums.input, sums.cached_in, sums.cache_write, sums.output)],
      ["running", percentiles(runs)],
      ["waiting", waits.length === 0 ? "not recorded" : percentiles(waits)],
      ["sent again", sums.tries > 0 ? `${amount(sums.tries, "request")} after a failure` : null],
    ),
    ...(runs.length > 0 ? [heading("running times"), canvas] : []),
    ...(errors.size > 0 ? [heading("failed"), ...[...errors].map(([error, count]) => byError(error, count))] : []),
    h(
      "p",
      {},
      button(view.open.has(foldKey(fold, model)) ? "Fold the calls" : "Show the calls", null, () => {
        rows.toggle(fold);
        showFold(aside, fold, view, rows, actions);
      }),
    ),
    ...goOn(head, exec, model.asked[fold.from] ?? 0, null),
  );
  if (runs.length > 0) drawHistogram(canvas, runs);

  function byError(error: number, count: number): HTMLElement {
    const filter = () => {
      Object.assign(view, { error, execs: [fold.exec, fold.exec] });
      openAround(view, fold.from);
      actions.list();
    };
    return button(h("span", { class: "failed" }, `✗ ${head.errors[error] ?? ""} · ${thousands(count)}`), null, filter);
  }
}

const classes = (kinds: readonly number[]) =>
  KINDS.flatMap((kind, at) => (kinds[at] ? `${thousands(kinds[at])} ${kind}` : [])).join(" · ");

function percentiles(sorted: readonly number[]): string {
  const shares = [
    ["p50", 0.5],
    ["p90", 0.9],
    ["p99", 0.99],
    ["max", 1],
  ] as const;
  return shares.map(([name, share]) => `${name} ${lasting(percentile(sorted, share))}`).join(" · ");
}

/** The documents of P of a grade, the largest first. */
function documentParts(grade: number, { model }: View): Child[] {
  const { coverage, session } = model.head;
  const { count = 0, largest = [] } = coverage?.documents[grade] ?? {};
  const name = GRADES[grade];
  if (!coverage || !name) return [];
  const rows = largest.map(([id, chars]) => [id, amount(chars, "character")] as const);
  const unread = copied(`belay show ${quoted(session.name ?? session.id)} --unread`);
  return [
    title(`${amount(count, "document")}: ${GRADE_WORDS[name]}`),
    note(coverage.told),
    facts(...rows),
    count > largest.length ? note(`and ${thousands(count - largest.length)} smaller ones`) : null,
    ...(name === "never" ? [heading("in the terminal"), unread] : []),
  ];
}

function help(): Child[] {
  return [
    title("Keys"),
    facts(
      ["/", "search"],
      ["↑ ↓ PgUp PgDn Home End", "move in the list"],
      ["Enter", "open or fold a batch"],
      ["[ ]", "the exec before, the exec after"],
      ["e", "the next failure"],
      ["c", "copy the first line that goes on from here"],
      ["?", "this list"],
    ),
    heading("what a call cost"),
    facts(...KINDS.map((kind) => [GLYPHS[kind], h("span", { class: `word ${kind}` }, WORDS[kind])] as const)),
    note("Dollars are by price lists. Times leave out the time in which no process ran."),
  ];
}
