import { messageOf } from "../../platform/errors.ts";
import { amount } from "../../platform/figures.ts";
import { EXEC_TEXTS, type Head, type Texts } from "../format.ts";
import { type Agents, openAgents } from "./agents.ts";
import { textSection } from "./details.ts";
import { button, type Child, clockTime, facts, fill, h, lasting, type Pair } from "./dom.ts";
import { type Model, sumsOf, tokensIn } from "./model.ts";
import { countsLine, type WorkflowExec } from "./run.ts";
import type { View } from "./view.ts";

/**
 * The part of the page for readers of a workflow's run: what it was to do, its agents by phase, what
 * it printed, and its result.
 */
export function openWorkflow(view: View) {
  const element = h("article", { class: "run", "aria-label": "Workflow", hidden: true });
  const top = h("div");
  const end = h("div");
  /** The run that a reader has chosen; null: the newest. */
  let chosen: string | null = null;
  let shown: { readonly id: string; readonly agents: Agents } | null = null;
  let drawn = "";

  async function draw(): Promise<void> {
    const { head } = view.model;
    const runs = workflowsIn(head);
    const exec = runs.find(({ id }) => id === chosen) ?? runs.at(-1);
    element.hidden = exec === undefined;
    if (!exec) return;
    if (shown?.id !== exec.id) {
      shown = { id: exec.id, agents: openAgents(view) };
      fill(element, top, shown.agents.element, end);
    }
    const texts = await textsOf(view, head.calls + head.execs.indexOf(exec));
    await shown.agents.draw(exec);
    const pairs = factsOf(view.model, exec);
    const key = JSON.stringify([exec, texts, pairs, head.session.status, head.session.waiting, runs.length]);
    // Parts that a reader has opened stay open.
    if (key === drawn) return;
    drawn = key;
    fill(top, ...topOf(head, exec, texts.texts), facts(...pairs));
    fill(
      end,
      ...endOf(head, exec, texts.texts),
      texts.problem && h("p", { class: "note" }, texts.problem),
      ...others(runs, exec),
    );
  }

  function others(runs: readonly WorkflowExec[], current: WorkflowExec): Child[] {
    if (runs.length < 2) return [];
    const choose = (id: string) => () => {
      chosen = id;
      void draw().then(() => element.scrollIntoView());
    };
    const buttons = runs.map(({ id, number, workflow }) => {
      const pressed = { "aria-pressed": id === current.id };
      return button(`${workflow.name || "a workflow"}, exec ${number}`, choose(id), pressed);
    });
    return [h("h2", {}, `${amount(runs.length, "workflow")} of this session`), h("div", { class: "asks" }, ...buttons)];
  }

  return { element, draw };
}

interface ReadTexts {
  readonly texts: Texts;
  readonly problem: string | null;
}

async function textsOf(view: View, index: number): Promise<ReadTexts> {
  try {
    return { texts: await view.texts.of(index), problem: null };
  } catch (error) {
    return { texts: [], problem: `These texts cannot be read: ${messageOf(error)}` };
  }
}

/** Runs of workflows in the session itself. */
const workflowsIn = ({ execs }: Head): WorkflowExec[] =>
  execs.filter((exec): exec is WorkflowExec => exec.workflow !== null && exec.depth === 0);

/** The name of the newest workflow, as the title of the page; null: there is none. */
export function workflowNamed(head: Head): string | null {
  return workflowsIn(head).at(-1)?.workflow.name || null;
}

function topOf(head: Head, exec: WorkflowExec, texts: Texts): Child[] {
  const { name, description, args } = exec.workflow;
  return [
    h("h1", {}, name || "A workflow, whose name is left out"),
    description === "" ? null : h("p", {}, description),
    statusOf(head, exec, texts),
    args === "" ? null : h("details", {}, h("summary", {}, "What it was given"), h("pre", { tabindex: 0 }, args)),
    head.texts === "none" ? h("p", { class: "note" }, "Texts are left out.") : null,
  ];
}

/** The state of a run that has not ended well. */
function statusOf({ session }: Head, { status, error_code }: WorkflowExec, texts: Texts): Child {
  if (status === "failed") {
    const [why] = (texts[EXEC_TEXTS.indexOf("error")] ?? "").trim().split("\n", 1);
    return h("p", { class: "warned" }, `It failed: ${why || error_code || "no record says why"}`);
  }
  if (status !== "unfinished") return null;
  if (session.status === "running") return h("p", { class: "warned" }, "It is running.");
  const why =
    session.waiting === ""
      ? "It was interrupted, or waits for its user. belay resume says for what, and continues it."
      : `It waits: ${session.waiting}`;
  return h("p", { class: "warned" }, why);
}

function factsOf(model: Model, exec: WorkflowExec): Pair[] {
  const calls = Array.from({ length: exec.to - exec.from }, (_, at) => exec.from + at);
  const resumed = exec.resumes.length;
  return [
    ["began", `${new Date(exec.began).toISOString().slice(0, 10)} ${clockTime(exec.began)} UTC`],
    ["took", exec.ms === null ? "not over" : lasting(exec.ms)],
    ["agents", countsLine(model, calls)],
    ["cost", calls.length > 0 ? tokensIn(sumsOf(model, exec)) : null],
    ["usual agent", exec.workflow.agent],
    ["resumed", resumed > 0 ? amount(resumed, "time") : null],
  ];
}

/** The lines that the script printed, and its result. */
function endOf(head: Head, exec: WorkflowExec, texts: Texts): Child[] {
  const text = (name: (typeof EXEC_TEXTS)[number]) => texts[EXEC_TEXTS.indexOf(name)] ?? "";
  const result = text("result");
  const printed = [text("output"), text("errors")].filter((part) => part !== "").join("\n");
  const isOver = exec.status === "ok" && head.texts !== "none";
  return [
    ...textSection("What it printed", printed, ""),
    ...(result === "" && isOver ? [h("h2", {}, "Its result"), h("p", {}, "It returned nothing.")] : []),
    ...textSection("Its result", result, ""),
    ...(exec.status === "failed" ? textSection("How it failed", text("error"), "") : []),
  ];
}
