import { messageOf } from "../../platform/errors.ts";
import { amount, compact, dollars, thousands } from "../../platform/figures.ts";
import { inLine } from "../../platform/visible.ts";
import { type Head, PAGE_CALLS } from "../format.ts";
import { openAnswer, questionIn } from "./answer.ts";
import { openCompared } from "./compared.ts";
import { showDetails } from "./details.ts";
import { button, type Child, clockTime, fill, h, lasting, rest } from "./dom.ts";
import { type OpenedExecs, openExecs } from "./execs.ts";
import { type Model, modelOf, openColumns } from "./model.ts";
import { type OpenedOverview, openOverview } from "./overview.ts";
import { type OpenedRows, openRows } from "./rows.ts";
import { type OpenedSearch, openSearch } from "./search.ts";
import { openServer, openTexts, type Source } from "./source.ts";
import { type Chosen, foldKey, moved, nounOf, openAround, type View } from "./view.ts";
import { openWorkflow, workflowNamed } from "./workflow.ts";

/** ms between two questions to the server whether there is more. */
const POLL = 1000;

const PAGE = document.getElementById("page") ?? document.body;

async function start(): Promise<void> {
  const source = document.documentElement.dataset.live === undefined ? openFile() : openServer();
  const head = await source.head();
  if (head?.trace !== 2) throw new Error(`its format is ${head?.trace}, and this page reads 2`);
  const place = new URLSearchParams(location.hash.slice(1));
  const opened = openPage(source, await modelFor(head, source));
  const { page } = opened;
  await page.refresh();
  page.goTo(place);
  document.documentElement.dataset.ready = "1";
  while (source.isLive) {
    await new Promise((resolve) => setTimeout(resolve, POLL));
    if (document.visibilityState === "visible") await update(source, opened);
  }
}

/**
 * A file has its blocks in elements; behind this mark are the texts,
 * which may still be on their way.
 */
function openFile(): Source {
  async function block(id: string): Promise<Response> {
    while (!document.getElementById(id)?.nextElementSibling && document.readyState === "loading") {
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
    const text = document.getElementById(id)?.textContent;
    if (!text) throw new Error(`the file is cut: its part ${id} is missing`);
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  return { isLive: false, head: async () => (await block("head")).json(), block };
}

/** Reads the columns page by page, so that no task is long. */
async function modelFor(head: Head, source: Source): Promise<Model> {
  const columns = openColumns(head.calls);
  for (let page = 0; page * PAGE_CALLS < head.calls; page++) {
    const bytes = await (await source.block(`c${page}`, head)).arrayBuffer();
    columns.read(new Uint8Array(bytes), page * PAGE_CALLS);
    await rest();
  }
  return modelOf(head, columns);
}

/** Takes what is new from the server. Selection, order and scroll position stay. */
async function update(source: Source, { view, page }: Opened): Promise<void> {
  try {
    const head = await source.head();
    page.tell(null);
    if (!head) return;
    const before = view.model;
    view.model = await modelFor(head, source);
    view.chosen = moved(view.chosen, before, view.model);
    await page.refresh();
    if (view.query !== "") await page.search();
  } catch (error) {
    page.tell(`There is nothing new: ${messageOf(error)}`);
  }
}

interface Parts {
  readonly rows: OpenedRows;
  readonly search: OpenedSearch;
  readonly overview: OpenedOverview;
  readonly execs: OpenedExecs;
  readonly work: HTMLElement;
}

/** The page with a view of the trace. */
interface Opened {
  readonly view: View;
  readonly page: {
    refresh(): Promise<void>;
    /** Says what went wrong; null: nothing. */
    tell(said: string | null): void;
    search(): Promise<void>;
    goTo(place: URLSearchParams): void;
  };
}

function openPage(source: Source, model: Model): Opened {
  const chosen: Chosen = { kind: model.head.subject === "run" ? "exec" : "help", index: 0 };
  const aside = h("aside", { "aria-label": "Details", tabindex: -1 });
  const view: View = {
    model,
    texts: openTexts(source, () => view.model.head),
    chosen,
    place: null,
    execs: null,
    kinds: new Set(),
    error: 0,
    query: "",
    found: null,
    order: "as made",
    open: new Set(),
    choose(chosen): void {
      view.chosen = chosen;
      rows.paint();
      execs.mark();
      void showDetails(aside, view);
      keepAddress(view);
    },
    list(): void {
      rows.refill();
      overview.refresh();
      execs.mark();
      keepAddress(view);
    },
    toggle(fold): void {
      const key = foldKey(fold, view.model);
      if (!view.open.delete(key)) view.open.add(key);
      rows.refill();
      void showDetails(aside, view);
    },
    openJob: (number) => location.assign(`/job/${number}/`),
  };
  const rows = openRows(view);
  const execs = openExecs(view);
  const overview = openOverview(view, rows);
  const search = openSearch(view, source);
  const compared = openCompared((call) => reach({ kind: "call", index: call }, view, parts));
  const header = openHeader(view, search, compared.element);
  const readers = [openWorkflow(view), openAnswer(view)];
  const work = h("div", { class: "work" }, header.element, overview.element, execs.element, rows.element, aside);
  fill(PAGE, ...readers.map(({ element }) => element), work);

  /** Draws all parts, each in a turn of the event loop. */
  async function refresh(): Promise<void> {
    document.title = inLine(`${titleOf(view.model.head)} · Belay`);
    header.refresh();
    compared.refresh(view.model.head);
    const draws = [...readers.map(({ draw }) => draw), overview.draw, execs.refresh, view.list];
    for (const draw of [...draws, () => showDetails(aside, view)]) {
      await rest();
      await draw();
    }
  }

  const parts: Parts = { rows, search, overview, execs, work };
  listen(view, parts);
  const page = {
    refresh,
    tell: header.tell,
    search: search.search,
    goTo: (place: URLSearchParams) => goTo(place, view, parts),
  };
  return { page, view };
}

/** The name and the figures of the session, the search, and what went wrong. */
function openHeader(view: View, search: OpenedSearch, compared: HTMLElement) {
  const banner = h("div", { class: "banner", role: "alert" });
  const figures = h("dl");
  const title = h("h1");
  const notes = h("span", { class: "note" });
  const json = button("JSON", () => save(view.model), { "aria-label": "Save the numbers as JSON" });
  const keys = button("?", () => view.choose({ kind: "help", index: 0 }), { "aria-label": "Keys and colours" });
  const tools = h("span", { class: "tools" }, search.told, search.box, json, keys);
  let problem: string | null = null;

  function tell(said: string | null): void {
    problem = said;
    showTold(banner, said, view.model.head.session.damaged);
  }

  return {
    element: h("header", {}, title, figures, h("span", { class: "grow" }), notes, tools, banner, compared),
    tell,
    refresh(): void {
      const { session } = view.model.head;
      fill(title, session.name ?? session.id, " ", h("small", {}, session.status));
      fill(figures, ...figuresOf(view.model));
      fill(notes, noteOf(view.model.head));
      tell(problem);
    },
  };
}

/** The title of the page: a workflow or a question, else the name of the session. */
function titleOf(head: Head): string {
  return workflowNamed(head) ?? questionIn(head) ?? head.session.name ?? head.session.id;
}

/** Shows what went wrong, and which parts of the session are damaged. */
function showTold(banner: HTMLElement, said: string | null, damaged: readonly string[]): void {
  const lines = damaged.map((line) => `Damaged: ${line}`);
  if (said !== null) lines.unshift(said);
  fill(banner, ...lines.map((line) => h("p", {}, line)));
  banner.hidden = lines.length === 0;
}

function figuresOf(model: Model): Child[] {
  const { head, sums, clock } = model;
  const { context } = head.session;
  const isRun = head.subject === "run";
  const tokens = sums.input + sums.output + sums.cached_in + sums.cache_write;
  const P = context ? `${compact(context.chars)} characters` : "no context";
  const figures = {
    spent: sums.nanos > 0 ? dollars(sums.nanos / 1e9) : head.calls > 0 ? "no price" : "nothing",
    [`${nounOf(model)}s`]: thousands(head.calls),
    failed: thousands(sums.failed),
    tokens: compact(tokens),
    ...(isRun ? { "sub-calls": thousands(sums.calls) } : { execs: thousands(head.execs.length), P }),
    running: lasting(clock.running),
  };
  return Object.entries(figures).map(([name, figure]) => h("div", {}, h("dt", {}, name), h("dd", {}, figure)));
}

function noteOf({ texts, cut_texts, redacted, made_at, revision }: Head): string {
  const said = [
    texts === "none" ? "texts are left out" : "",
    cut_texts > 0 ? `${amount(cut_texts, "text")} cut to fit` : "",
    redacted > 0 ? `${amount(redacted, "key")} redacted` : "",
    revision ? `seen at ${clockTime(made_at)} UTC` : `made ${new Date(made_at).toISOString().slice(0, 10)}`,
  ];
  return said.filter((part) => part !== "").join(" · ");
}

/** Keeps what is chosen in the address, so that a place can be sent along with the file. */
function keepAddress({ chosen, model, query, place }: View): void {
  const parts = new URLSearchParams();
  if (chosen.kind !== "help") parts.set(chosen.kind, String(chosen.index + 1));
  if (query !== "") parts.set("q", query);
  if (place !== null) parts.set("t", String(Math.round((place / model.clock.width) * 1000)));
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

function goTo(place: URLSearchParams, view: View, parts: Parts): void {
  const { head, folds } = view.model;
  const kinds = { call: head.calls, batch: folds.length, exec: head.execs.length, documents: 5 };
  for (const kind of ["call", "batch", "exec", "documents"] as const) {
    const index = Number(place.get(kind)) - 1;
    if (!Number.isInteger(index) || index < 0 || index >= kinds[kind]) continue;
    parts.work.scrollIntoView();
    reach({ kind, index }, view, parts);
  }
  const time = Number(place.get("t"));
  if (time > 0 && time < 1000) parts.overview.slideTo(time / 1000);
  const query = place.get("q");
  if (!query) return;
  parts.search.box.value = query;
  void parts.search.search();
}

/** Chooses a thing, opens the batches that it lies in, and scrolls to it. */
function reach({ kind, index }: Chosen, view: View, { rows, execs }: Parts): void {
  if (kind === "exec") execs.choose(index);
  else {
    const call = kind === "call" ? index : view.model.folds[index]?.from;
    if (kind !== "documents" && call !== undefined) openAround(view, call);
    view.list();
    view.choose({ kind, index });
    rows.reveal();
  }
}

function listen(view: View, parts: Parts): void {
  const { rows, search, execs } = parts;
  const acts: Readonly<Record<string, () => void>> = {
    "/": () => search.box.focus(),
    "?": () => view.choose({ kind: "help", index: 0 }),
    "[": () => stepExec(-1),
    "]": () => stepExec(1),
    e: nextFailure,
    c: () => document.querySelector<HTMLElement>("aside .copy button")?.click(),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search.box) {
      if (event.key !== "Escape" && event.key !== "Enter" && event.key !== "ArrowDown") return;
      if (event.key === "Escape") {
        search.box.value = "";
        void search.search();
      } else rows.step(1);
      rows.focus();
    } else if (acts[event.key]) {
      event.preventDefault();
      acts[event.key]?.();
    }
  });
  addEventListener("resize", rows.paint);

  function stepExec(by: number): void {
    const { chosen, model } = view;
    const exec = chosen.kind === "call" ? model.columns.of("exec", chosen.index) : chosen.index;
    const from = chosen.kind === "call" || chosen.kind === "exec" ? exec : -1;
    if (model.head.execs[from + by]) execs.choose(from + by);
  }

  function nextFailure(): void {
    const { columns, head } = view.model;
    const from = view.chosen.kind === "call" ? view.chosen.index + 1 : 0;
    const calls = Array.from({ length: head.calls }, (_, step) => (from + step) % head.calls);
    const index = calls.find((call) => columns.of("error", call) > 0);
    if (index === undefined) return;
    view.execs = null;
    reach({ kind: "call", index }, view, parts);
    rows.focus();
  }
}

/** Saves the head with the numbers of calls as objects. */
function save({ head, columns }: Model): void {
  const calls = Array.from({ length: head.calls }, (_, call) => columns.row(call));
  const link = h("a", { download: "trace.json" });
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ ...head, calls })], { type: "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

start().catch((error: unknown) => {
  document.documentElement.dataset.failed = messageOf(error);
  fill(PAGE, h("p", { class: "banner", role: "alert" }, `This trace cannot be read: ${messageOf(error)}`));
});
