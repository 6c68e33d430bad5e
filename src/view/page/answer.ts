import { messageOf } from "../../platform/errors.ts";
import { amount, compact, thousands } from "../../platform/figures.ts";
import { inLine, visible } from "../../platform/visible.ts";
import { EXEC_TEXTS, type Head, type Texts, type TracedCitation, type TracedExec } from "../format.ts";
import { citationParts, placeOf } from "./details.ts";
import { button, type Child, facts, fill, h, lasting, type Pair } from "./dom.ts";
import { lastOf } from "./list.ts";
import { type Model, sumsOf, tokensIn } from "./model.ts";
import type { View } from "./view.ts";

/** Names of documents and files that are listed before the rest is opened. */
const LISTED = 12;

/**
 * The part of the page for its recipient: the question, its answer with the
 * sources, what was not read, and the costs.
 */
export function openAnswer(view: View) {
  const element = h("article", { "aria-label": "Answer", hidden: true });
  /** The ask that a reader has chosen; null: the newest. */
  let chosen: string | null = null;
  let drawn = "";

  async function draw(): Promise<void> {
    const { head } = view.model;
    const asks = asksIn(head);
    const exec = asks.find(({ id }) => id === chosen) ?? asks.at(-1);
    element.hidden = exec === undefined;
    if (!exec) return;
    let texts: Texts = [];
    let problem: string | null = null;
    try {
      texts = await view.texts.of(head.calls + head.execs.indexOf(exec));
    } catch (error) {
      problem = `These texts cannot be read: ${messageOf(error)}`;
    }
    const took = costs(view.model, exec);
    const key = JSON.stringify([exec, texts, head.coverage?.told, took, asks.length]);
    // Parts that a reader has opened stay open.
    if (key === drawn) return;
    drawn = key;
    fill(
      element,
      ...parts(head, exec, texts, took),
      problem && h("p", { class: "note" }, problem),
      ...others(asks, exec),
    );
  }

  function others(asks: readonly TracedExec[], shown: TracedExec): Child[] {
    if (asks.length < 2) return [];
    const choose = (id: string) => () => {
      chosen = id;
      void draw().then(() => element.scrollIntoView());
    };
    const buttons = asks.map(({ id, label }) => {
      return button(label || "a question", choose(id), { "aria-pressed": id === shown.id });
    });
    return [h("h2", {}, `${amount(asks.length, "question")} of this session`), h("div", { class: "asks" }, ...buttons)];
  }

  return { element, draw };
}

/** The asks of the session itself. Children have asks of their own. */
const asksIn = ({ execs }: Head) => execs.filter(({ kind, depth, ask }) => kind === "ask" && depth === 0 && ask);

/** The first line of the newest question, as the title of the page; null: there is none. */
export function questionIn(head: Head): string | null {
  return asksIn(head).at(-1)?.label || null;
}

function parts(head: Head, exec: TracedExec, texts: Texts, took: readonly Pair[]): Child[] {
  const { ask } = exec;
  if (!ask) return [];
  const text = (name: (typeof EXEC_TEXTS)[number]) => texts[EXEC_TEXTS.indexOf(name)] ?? "";
  const sources = new Map(ask.citations.map((citation) => [citation.number, citationParts(citation)]));
  const open = (number: number) => reveal(sources.get(number));
  const items = ask.citations.map(({ number }) => h("li", { value: number }, sources.get(number) ?? null));
  return [
    h("h1", {}, text("code") || "A question, which is left out"),
    answer(head, exec, text("answer"), text("error"), open),
    ...ask.notes.map((note) => h("p", { class: "warned" }, `Note: ${note}.`)),
    ...(items.length > 0 ? [h("h2", {}, "Sources"), h("ol", { class: "sources" }, ...items)] : []),
    h("h2", {}, "What was not read"),
    ...notRead(head, exec),
    h("h2", {}, "What it took"),
    facts(...took),
    h("h2", {}, "How it was found"),
    h("p", { class: "note" }, "Each turn, cell and sub-call stands below, with its text, its cost and its time."),
  ];
}

function answer(head: Head, exec: TracedExec, text: string, error: string, open: (number: number) => void): Child {
  const { status, error_code, ask } = exec;
  if (head.texts === "none") return h("p", { class: "note" }, `Texts are left out. The question is ${status}.`);
  if (status === "unfinished") return h("p", { class: "warned" }, "It is not answered yet.");
  if (status === "failed")
    return h("p", { class: "warned" }, `There is no answer: ${error || error_code || "it failed"}`);
  return h("div", { class: "text-of-answer" }, ...numbered(text, ask?.citations ?? [], open));
}

function reveal(source: HTMLElement | undefined): void {
  if (!source) return;
  if (source instanceof HTMLDetailsElement) source.open = true;
  source.scrollIntoView({ block: "center" });
  const target = source.querySelector<HTMLElement>("summary");
  target?.focus({ preventScroll: true });
}

/** `[1]`, `[1, 3]` and `[notes.md:3]`. */
const BRACKETS = /\[([^[\]\n]{1,200})\]/g;

/**
 * The answer, in which the numbers and places that the model wrote in brackets lead to their
 * citations. What stands right behind a letter may be an index in code: it is a number of a
 * citation only if the answer has all numbers, and each of them so.
 */
function numbered(text: string, citations: readonly TracedCitation[], open: (number: number) => void): Child[] {
  const all = new Map(citations.flatMap((citation) => namesOf(citation).map((name) => [name, citation])));
  const found = [...text.matchAll(BRACKETS)].flatMap((match) => {
    const [whole, inside = ""] = match;
    const names = inside.split(/(\s*[,;]\s*)/);
    const isCited = names.every((name, at) => at % 2 === 1 || all.has(name));
    const isTight = /[\p{L}\p{N}_)]$/u.test(text.slice(Math.max(0, match.index - 2), match.index));
    return isCited ? [{ at: match.index, end: match.index + whole.length, names, isTight }] : [];
  });
  const written = new Set(found.flatMap(({ names }) => names));
  const isStyle = found.every(({ isTight }) => isTight) && citations.every(({ number }) => written.has(String(number)));
  const parts: Child[] = [];
  let from = 0;
  for (const { at, end, names, isTight } of found) {
    if (isTight && !isStyle) continue;
    parts.push(text.slice(from, at), "[", ...names.map((name) => linked(name, all.get(name), open)), "]");
    from = end;
  }
  return [...parts, text.slice(from)];
}

function linked(name: string, citation: TracedCitation | undefined, open: (number: number) => void): Child {
  if (!citation) return name;
  const label = `Source ${citation.number}: ${placeOf(citation)}`;
  return button(name, () => open(citation.number), { class: "number", "aria-label": label, title: placeOf(citation) });
}

/** The names by which an answer may speak of a citation. */
function namesOf({ number, doc, line, place }: TracedCitation): string[] {
  const part = place === null ? `${doc}:${line}` : `${doc} ${place}`;
  return [String(number), ...(doc === null ? [] : [part])];
}

/** Files that could not be read and documents that were never opened. */
function notRead(head: Head, exec: TracedExec): Child[] {
  const { coverage, session } = head;
  if (!coverage)
    return [h("p", {}, session.context ? "What was looked at is not recorded." : "No context was loaded.")];
  const isOlder = head.execs.some(({ kind, depth, began }) => depth === 0 && isLoad(kind) && began > exec.began);
  const { unread, documents, sentence } = coverage;
  const never = documents.at(-1) ?? { count: 0, largest: [] };
  const total = documents.reduce((sum, { count }) => sum + count, 0);
  const files = unread?.files.map(([path, reason]) => `${inLine(path)}: ${inLine(reason)}`) ?? [];
  const names = never.largest.map(([id, chars]) => `${inLine(id)}, ${amount(chars, "character")}`);
  const isAll = never.count === 0 && !unread;
  return [
    isOlder ? h("p", { class: "warned" }, LATER) : null,
    ...listed(unread ? `${amount(unread.count, "file")} could not be read:` : "", files, unread?.count ?? 0),
    ...listed(
      never.count > 0 ? `${thousands(never.count)} of ${amount(total, "document")} were never opened:` : "",
      names,
      never.count,
    ),
    isAll ? h("p", {}, "All files could be read, and each document was opened.") : null,
    ...(exec.ask?.load_notes ?? []).map((note) => h("p", { class: "note" }, `${note}.`)),
    h("p", { class: "note" }, sentence),
  ];
}

const LATER = "After this question the context was loaded anew or added to. This page covers all of it.";
const isLoad = (kind: string) => kind === "load" || kind === "append";

function listed(title: string, names: readonly string[], count: number): Child[] {
  if (title === "") return [];
  const items = (some: readonly string[]) => h("ul", {}, ...some.map((name) => h("li", {}, name)));
  const rest = names.slice(LISTED);
  const more = count - names.length;
  return [
    h("p", {}, title),
    names.length > 0 ? items(names.slice(0, LISTED)) : null,
    rest.length > 0 ? h("details", {}, h("summary", {}, `${thousands(rest.length)} more`), items(rest)) : null,
    more > 0 && names.length > 0 ? h("p", { class: "note" }, `and ${thousands(more)} that are not listed`) : null,
  ];
}

/**
 * Facts about what the answer took. Its turns, its cells and its
 * children's are the execs behind it.
 */
function costs(model: Model, exec: TracedExec): readonly Pair[] {
  const { head, columns } = model;
  const first = head.execs.indexOf(exec);
  const execs = head.execs.slice(first, lastOf(head.execs, first) + 1);
  const last = execs.at(-1) ?? exec;
  const sums = sumsOf(model, { from: exec.from, to: last.to });
  const own = execs.filter(({ depth }) => depth === 0);
  const turns = own.filter(({ turn }) => turn !== null);
  const models = new Set<string>();
  for (let call = exec.from; call < last.to; call++) models.add(head.models[columns.of("model", call)] ?? "");
  const calls = last.to - exec.from - turns.reduce((sum, { from, to }) => sum + to - from, 0);
  const { context } = head.session;
  const made = [amount(turns.length, "turn"), amount(own.length - turns.length - 1, "cell"), amount(calls, "sub-call")];
  return [
    ["asked", `${new Date(exec.began).toISOString().slice(0, 16).replace("T", " ")} UTC`],
    ["of", context ? `${compact(context.chars)} characters${fromSources(context.sources)}` : null],
    ["models", [...models].filter((name) => name !== "").join(", ")],
    ["made", made.join(" · ")],
    ["cost", tokensIn(sums)],
    ["time", exec.ms === null ? "not over" : lasting(exec.ms)],
    ["limits met", exec.ask?.limits_met.join(", ") ?? null],
  ];
}

function fromSources(sources: readonly string[]): string {
  const shown = sources.slice(0, 3).map((source) => visible(source));
  const more = sources.length > shown.length ? ` and ${sources.length - shown.length} more` : "";
  return shown.length > 0 ? `, from ${shown.join(", ")}${more}` : "";
}
