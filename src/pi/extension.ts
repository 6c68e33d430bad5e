import type { ExtensionAPI, ToolDefinition } from "@mariozechner/pi-coding-agent";
import * as v from "valibot";
import { systemClock } from "../../runtime/index.ts";
import { entryUrl } from "../entries.ts";
import { newUlid } from "../platform/new-ulid.ts";
import { openStore } from "../store/index.ts";
import type { Tool } from "../tools/index.ts";
import { tools } from "../tools/pi-tools.ts";
import { onRequest, summariesOf } from "./host.ts";
import { type Lifecycle, openLifecycle } from "./lifecycle.ts";
import { lentTools, type OpenedParts, offersWorkflows, settingsAt } from "./opened/opened.ts";

import { openReadCache, type ReadCache } from "./read-cache/index.ts";
import type { ProgressDetails } from "./runs/board.ts";
import { progress } from "./view/summary.ts";

/** Parts that a test may replace, and the view. */
export interface ExtensionParts extends OpenedParts {
  /** Renderers of the calls and results of a tool. */
  readonly renderers: { readonly [tool: string]: Renderers };
  /** Adds what only people see: widget and commands. */
  attach(pi: ExtensionAPI, lifecycle: Lifecycle): void;
}

/** The part of Pi's tool definition that draws. */
type Renderers = Pick<ToolDefinition, "renderCall" | "renderResult">;

/** Belay as an extension of Pi: the rlm tools, state that follows the branch, recovery. */
export function belayExtension(given: Partial<ExtensionParts> = {}): (pi: ExtensionAPI) => void {
  const parts: ExtensionParts = {
    openStore,
    machineEntry: entryUrl("machine-thread-entry"),
    env: process.env,
    clock: systemClock,
    newId: newUlid,
    atExit: (line) => void process.once("exit", () => process.stderr.write(`${line}\n`)),
    lent: lentTools,
    renderers: {},
    attach() {},
    ...given,
  };
  return (pi) => {
    const lifecycle = openLifecycle(parts, pi);
    for (const tool of tools) {
      if (tool.name === "rlm_workflow" && !offersWorkflows(parts.env)) continue;
      pi.registerTool(definition(tool, lifecycle, parts.renderers[tool.name]));
    }
    const readCache = openReadCache(pi, {
      settings: (cwd) => settingsAt(cwd, parts.env),
      store: async () => (await lifecycle.opened()).store,
      clock: parts.clock,
      write: (text) => void process.stderr.write(text),
    });
    follow(pi, lifecycle, readCache);
    parts.attach(pi, lifecycle);
  };
}

function definition(tool: Tool, lifecycle: Lifecycle, renderers: Renderers | undefined): ToolDefinition {
  const { name, label, description, promptSnippet, guidelines, parameters } = tool;
  return {
    name,
    label,
    description,
    promptSnippet,
    promptGuidelines: [...guidelines],
    parameters,
    // In a parallel batch no result is on disk before the whole batch has ended.
    executionMode: "sequential",
    ...renderers,
    async execute(tool_call_id, args, signal, update, context) {
      const onUpdate = (details: ProgressDetails) => update?.({ content: textOf(progressLine(details)), details });
      const { text, details } = await lifecycle.call(tool, { tool_call_id, args, signal, onUpdate }, context);
      return { content: textOf(text), details };
    },
  };
}

function follow(pi: ExtensionAPI, lifecycle: Lifecycle, readCache: ReadCache): void {
  pi.on("session_start", (_event, context) => {
    lifecycle.arrived(context, "start");
    readCache.arrived(context);
  });
  pi.on("session_tree", (_event, context) => lifecycle.arrived(context, "tree"));
  // From Pi 0.87 on it aborts what runs between these and the end of the session.
  pi.on("session_before_switch", () => {
    lifecycle.departs();
    return {};
  });
  pi.on("session_before_fork", () => {
    lifecycle.departs();
    return {};
  });
  pi.on("session_before_tree", async (_event, { ui }) => {
    await lifecycle.stays();
    if (!lifecycle.isRecovering() || !lifecycle.board.current().running) return {};
    ui.notify(
      "An interrupted call is being finished on this branch; wait for it, or end it with /rlm cancel",
      "warning",
    );
    return { cancel: true };
  });
  pi.on("before_agent_start", async () => {
    await lifecycle.prompted();
  });
  onRequest(pi, (messages) => {
    const sent = [...lifecycle.messages(messages)];
    readCache.requested(sent);
    return sent;
  });
  pi.on("session_before_compact", async (event, context) => {
    await lifecycle.stays();
    const { firstKeptEntryId, tokensBefore, settings } = event.preparation;
    const about = { firstKeptEntryId, tokensBefore, summaries: summariesOf(event, context) };
    return lifecycle.compacts({ reason: Reflect.get(event, "reason"), ...about, reserve: settings.reserveTokens });
  });
  // Pi 0.73 ignores an error flag that a tool returns, and drops the details of an error that it
  // throws.
  pi.on("tool_result", ({ toolName, details }) => {
    const isOurs = tools.some(({ name }) => name === toolName);
    return isOurs && v.is(FailedSchema, details) ? { isError: true } : {};
  });
  pi.on("agent_end", () => lifecycle.rested());
  pi.on("session_compact", () => lifecycle.rested());
  pi.on("session_shutdown", async ({ reason }) => {
    await readCache.left();
    await lifecycle.left(reason);
  });
}

const FailedSchema = v.object({ envelope: v.object({ success: v.literal(false) }) });

function textOf(text: string): { type: "text"; text: string }[] {
  return [{ type: "text", text }];
}

/** The line that hosts which draw only text show while a tool runs. */
function progressLine({ tool, running }: ProgressDetails): string {
  return [tool, running.phase, ...progress(running)].join(" · ");
}
