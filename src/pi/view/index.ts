import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ExtensionAPI, ExtensionUIContext } from "@mariozechner/pi-coding-agent";
import { systemClock } from "../../../runtime/index.ts";
import { homeFolder } from "../../platform/home.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { tools } from "../../tools/pi-tools.ts";
import type { ExtensionParts } from "../extension.ts";
import { fromHost, hostHas } from "../host.ts";
import type { Lifecycle } from "../lifecycle.ts";
import { settingsAt } from "../opened/opened.ts";
import { leftRuns, watchLeftRuns } from "../runs/left.ts";
import { registerCommands } from "./commands.ts";
import { openControl } from "./control.ts";
import { type KnownCalls, rowRenderers } from "./rows.ts";
import { showWidget } from "./widget.ts";

/** The view of Belay in Pi: rows of the conversation, a line below the editor, `/rlm`. */
export function openView(): Pick<ExtensionParts, "renderers" | "attach"> {
  // Pi makes a new lifecycle for every session that it goes to; the renderers stay.
  let lifecycle: Lifecycle | undefined;
  const known: KnownCalls = {
    now: () => systemClock.now(),
    running(toolCallId) {
      const running = lifecycle?.board.current().running;
      return running?.tool_call_id === toolCallId ? running : null;
    },
    result: (toolCallId) => lifecycle?.answer(toolCallId) ?? null,
  };
  return {
    renderers: draws() ? Object.fromEntries(tools.map(({ name }) => [name, rowRenderers(name, highlight, known)])) : {},
    attach(pi, opened) {
      lifecycle = opened;
      attachTo(pi, opened);
    },
  };
}

/** False if the host lacks what lines are drawn with. It then draws calls by itself. */
const draws = () => hostHas("pi-tui", ["truncateToWidth", "Text"]);

function highlight(code: string): readonly string[] {
  if (!hostHas("pi-coding-agent", ["highlightCode"])) return code.split("\n");
  return fromHost("pi-coding-agent", "highlightCode")(code, "javascript");
}

function attachTo(pi: ExtensionAPI, lifecycle: Lifecycle): void {
  const control = openControl(lifecycle, pi, process.env);
  let endWidget: (() => void) | undefined;
  let endLeft: (() => void) | undefined;
  registerCommands(pi, control, {
    now: () => systemClock.now(),
    write: (text) => void process.stderr.write(text),
  });
  pi.on("session_tree", () => control.followBranch());
  pi.on("session_start", (_event, { cwd, hasUI, ui }) => {
    control.followBranch();
    if (hasUI) tellFirstRun(cwd, (text) => ui.notify(text, "info"), process.env);
    endLeft?.();
    endLeft = hasUI ? tellLeftRuns(ui) : undefined;
    endWidget?.();
    endWidget = hasUI && draws() ? showWidget(control.board, ui, { now: () => systemClock.now(), every }) : undefined;
  });
  pi.on("session_shutdown", () => {
    endLeft?.();
    endLeft = undefined;
    endWidget?.();
    endWidget = undefined;
  });
}

function every(ms: number, work: () => void): () => void {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
}

/** The file beside the store that says that the notice was shown. */
const FIRST_RUN_FILE = "pi-first-run";

/**
 * Tells once what Belay does by itself, unless the settings say that it does not. If that cannot be
 * remembered, nothing is told: it would be told at each start.
 */
export function tellFirstRun(cwd: string, tell: (text: string) => void, env: NodeJS.ProcessEnv): void {
  try {
    if (settingsAt(cwd, env).externalize === false) return;
    const folder = homeFolder(env);
    makeFolder(folder);
    writeFileSync(join(folder, FIRST_RUN_FILE), "", { flag: "wx", mode: 0o600 });
  } catch {
    // Wrong settings are told by what needs them.
    return;
  }
  tell(NOTICE);
}

const NOTICE =
  "RLM is on: when a conversation grows long, its old objects (messages and results) are sent as short stubs, and the model reads them again when it " +
  "needs them. Nothing is lost. /rlm shows the state, and /rlm off ends it on a branch.";

/** The place of the line in Pi's footer. */
const STATUS = "rlm-background";

/**
 * Shows calls that run on in sessions that Pi has left, in one line of its footer, until the
 * returned function is called.
 */
function tellLeftRuns(ui: Pick<ExtensionUIContext, "setStatus" | "notify">): () => void {
  const show = () => {
    const names = leftRuns().map(({ tool }) => tool);
    ui.setStatus(STATUS, names.length > 0 ? `rlm: running on after you left: ${names.join(", ")}` : undefined);
  };
  show();
  return watchLeftRuns((over) => {
    show();
    if (!over) return;
    const how = over.isSuspended() ? "waits for you" : "has finished; its result waits";
    ui.notify(`${over.tool}, which ran on after you left, ${how} in that session`, "info");
  });
}
