import { amount, compact, dollars, thousands } from "../../platform/figures.ts";
import { COLUMNS, type Column, type Head, NONE } from "../format.ts";
import { openCompared } from "./compared.ts";
import { showDetails } from "./details.ts";
import { button, type Child, clockTime, fill, h, lasting, rest } from "./dom.ts";
import { openExecs } from "./execs.ts";
import { emptyColumns, type Model, modelOf, readPage } from "./model.ts";
import { openOverview } from "./overview.ts";
import { openRows } from "./rows.ts";
import { openSearch } from "./search.ts";
import { openFile, openServer, openTexts, type Source } from "./source.ts";
import { type Actions, type Chosen, moved, openAround, type View } from "./view.ts";

/** ms between two questions to the server whether there is more. */
const POLL = 1000;

const PAGE = document.getElementById("page") ?? document.body;

async function start(): Promise<void> {
  const source = document.documentElement.dataset.live === undefined ? openFile() : openServer();
  const head = await source.head();
  if (!head) throw new Error("the server has no trace");
  if (head.trace !== 2) throw new Error(`its format is ${head.trace}, and this page reads 2`);
  const place = new URLSearchParams(location.hash.slice(1));
  const { page, view } = openPage(source, await modelFor(head, source));
  await rest();
  page.refresh();
  page.goTo(place);
  document.documentElement.dataset.ready = "1";
  while (source.isLive) {
    await new Promise((resolve) => setTimeout(resolve, POLL));
    if (document.visibilityState === "visible") await update(source, view, page);
  }
}

type Page = ReturnType<typeof openPage>["page"];

/** Pages of columns of a server, by their revisions. */
let known = new Map<string, Uint8Array>();

/** Reads the columns page by page, so that no task is long. */
async function modelFor(head: Head, source: Source): Promise<Model> {
  const columns = emptyColumns(head.calls);
  const now = new Map<string, Uint8Array>();
  let first = 0;
  for (const [page, calls] of head.pages.entries()) {
    const revision = head.revisions?.pages[page];
    const bytes = (revision === undefined ? undefined : known.get(revision)) ?? (await source.page(head, page));
    if (revision !== undefined) now.set(revision, bytes);
    readPage(columns, bytes, first, calls);
    first += calls;
    await rest();
  }
  known = now;
  return modelOf(head, columns);
}

/** Takes what is new from the server. Selection, order and scroll position stay. */
async function update(source: Source, view: View, page: Page): Promise<void> {
  try {
    const head = await source.head();
    page.tell(null);
    if (!head) return;
    const before = view.model;
    view.model = await modelFor(head, source);
    view.chosen = moved(view.chosen, before, view.model);
    page.refresh();
    if (view.query !== "") await page.search();
  } catch (error) {
    page.tell(`There is nothing new: ${messageOf(error)}`);
  }
}

function openPage(source: Source, model: Model) {
  let current = model.head;
  const view: View = {
    ...{ model, texts: openTexts(source, () => view.model.head), chosen: { kind: "help" }, place: null, execs: null },
    ...{ kinds: new Set(), failed: false, error: 0, query: "", found: null, order: "as made", open: new Set() },
  };
  const aside = h("aside", { "aria-label": "Details", tabindex: -1 });
  const banner = h("div", { class: "banner", role: "alert" });
  const figures = h("dl", {});
  const title = h("h1", {});
  const notes = h("span", { class: "note" });
  let problem: string | null = null;
  const actions: Actions = {
    choose(chosen: Chosen): void {
      view.chosen = chosen;
      rows.paint();
      execs.mark();
      void showDetails(aside, view, rows, actions);
      keepAddress(view);
    },
    list(): void {
      rows.refill();
      overview.refresh();
      execs.mark();
      keepAddress(view);
    },
  };
  const rows = openRows(view, actions);
  const execs = openExecs(view, actions);
  const overview = openOverview(view, actions, rows);
  const search = openSearch(view, actions, source);
  const json = button("JSON", "Save the numbers as JSON", () => save(view.model));
  const keys = button("?", "Keys and colours", () => actions.choose({ kind: "help" }));
  const compared = openCompared((call) => reach(call, view, parts));
  const tools = h("span", { class: "tools" }, search.told, search.box, json, keys);
  fill(
    PAGE,
    h("header", {}, title, figures, h("span", { class: "grow" }), notes, tools, banner, compared.element),
    ...[overview.element, execs.element, rows.element, aside],
  );

  function refresh(): void {
    current = view.model.head;
    document.title = `${current.session.name ?? current.session.id} · Belay`;
    fill(title, current.session.name ?? current.session.id, " ", h("small", {}, current.session.status));
    fill(figures, ...figuresOf(view.model));
    fill(notes, noteOf(current));
    tell(problem);
    compared.refresh(current);
    overview.draw();
    execs.refresh();
    actions.list();
    void showDetails(aside, view, rows, actions);
  }

  function tell(said: string | null): void {
    problem = said;
    const lines = [...(said === null ? [] : [said]), ...current.session.damaged.map((line) => `Damaged: ${line}`)];
    fill(banner, ...lines.map((line) => h("p", {}, line)));
    banner.hidden = lines.length === 0;
  }

  const parts = { ...actions, rows, search, overview, execs };
  listen(view, parts);
  const page = { refresh, tell, search: search.search, goTo: (place: URLSearchParams) => goTo(place, view, parts) };
  return { page, view };
}

interface Parts extends Actions {
  readonly rows: ReturnType<typeof openRows>;
  readonly search: ReturnType<typeof openSearch>;
  readonly execs: ReturnType<typeof openExecs>;
  readonly overview: ReturnType<typeof openOverview>;
}

function figuresOf({ head, sums, clock }: Model): Child[] {
  const { context } = head.session;
  const told = [
    ["spent", sums.nanos > 0 ? dollars(sums.nanos / 1e9) : head.calls > 0 ? "no price" : "nothing"],
    ["sub-calls", thousands(head.calls)],
    ["failed", thousands(sums.failed)],
    ["tokens", compact(sums.tokens)],
    ["execs", thousands(head.execs.length)],
    ["P", context ? `${compact(context.chars)} characters` : "no context"],
    ["running", lasting(clock.running)],
  ];
  return told.map(([name = "", figure = ""]) => h("div", {}, h("dt", {}, name), h("dd", {}, figure)));
}

function noteOf({ texts, cut_texts, redacted, made_at, revisions }: Head): string {
  const said = [
    ...(texts === "none" ? ["texts are left out"] : []),
    ...(cut_texts > 0 ? [`${amount(cut_texts, "text")} cut to fit`] : []),
    ...(redacted > 0 ? [`${amount(redacted, "key")} redacted`] : []),
    revisions ? `seen at ${clockTime(made_at)} UTC` : `made ${new Date(made_at).toISOString().slice(0, 10)}`,
  ];
  return said.join(" · ");
}

/** Keeps what is chosen in the address, so that a place can be sent to somebody with the file. */
function keepAddress({ chosen, model, query, place }: View): void {
  const parts = new URLSearchParams();
  if (chosen.kind === "call") parts.set("call", String(chosen.index + 1));
  if (chosen.kind === "fold") parts.set("batch", String(chosen.index + 1));
  if (chosen.kind === "exec") parts.set("exec", String(chosen.index + 1));
  if (query !== "") parts.set("q", query);
  if (place !== null) parts.set("t", String(Math.round((place / model.clock.width) * 1000)));
  history.replaceState(null, "", `${location.pathname}${location.search}#${parts}`);
}

function goTo(place: URLSearchParams, view: View, parts: Parts): void {
  const number = (name: string, most: number) => {
    const index = Number(place.get(name)) - 1;
    return Number.isInteger(index) && index >= 0 && index < most ? index : null;
  };
  const { head, folds } = view.model;
  const [call, fold, exec] = [
    number("call", head.calls),
    number("batch", folds.length),
    number("exec", head.execs.length),
  ];
  if (call !== null) reach(call, view, parts);
  else if (fold !== null) {
    const inside = view.model.folds[fold];
    if (inside) openAround(view, inside.from);
    parts.list();
    parts.choose({ kind: "fold", index: fold });
    parts.rows.reveal();
  } else if (exec !== null) parts.execs.choose(exec);
  const time = Number(place.get("t"));
  if (time > 0 && time < 1000) parts.overview.slideTo(time / 1000);
  const query = place.get("q");
  if (!query) return;
  parts.search.box.value = query;
  void parts.search.search();
}

/** Chooses a call, opens the batches that it lies in, and scrolls to it. */
function reach(call: number, view: View, { choose, list, rows }: Parts): void {
  openAround(view, call);
  list();
  choose({ kind: "call", index: call });
  rows.reveal();
}

function listen(view: View, parts: Parts): void {
  const { rows, search, execs, choose } = parts;
  const acts: Readonly<Record<string, () => void>> = {
    "/": () => search.box.focus(),
    "?": () => choose({ kind: "help" }),
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      parts.overview.draw();
      parts.rows.paint();
    }, 80);
  };
  addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);

  function stepExec(by: number): void {
    const { chosen, model } = view;
    const exec =
      chosen.kind === "exec" ? chosen.index : chosen.kind === "call" ? (model.columns.exec[chosen.index] ?? 0) : -1;
    if (model.head.execs[exec + by]) execs.choose(exec + by);
  }

  function nextFailure(): void {
    const { columns, head } = view.model;
    const from = view.chosen.kind === "call" ? view.chosen.index + 1 : 0;
    for (let step = 0; step < head.calls; step++) {
      const call = (from + step) % head.calls;
      if (!columns.error[call]) continue;
      Object.assign(view, { execs: null });
      reach(call, view, parts);
      rows.focus();
      return;
    }
  }
}

/** Saves the head with the numbers of calls as objects. */
function save({ head, columns }: Model): void {
  const numberOf = (name: Column, call: number) => (columns[name][call] === NONE ? null : columns[name][call]);
  const calls = Array.from({ length: head.calls }, (_, call) =>
    Object.fromEntries(COLUMNS.map((name) => [name, numberOf(name, call)])),
  );
  const link = h("a", { download: "trace.json" });
  link.href = URL.createObjectURL(new Blob([JSON.stringify({ ...head, calls })], { type: "application/json" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

start().catch((error: unknown) => {
  document.documentElement.dataset.failed = messageOf(error);
  fill(PAGE, h("p", { class: "banner", role: "alert" }, `This trace cannot be read: ${messageOf(error)}`));
});
