import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { RlmError } from "../../../runtime/index.ts";
import type { SessionDescription } from "../../history/index.ts";
import { ago, amount, compact, elapsed, priced } from "../../platform/figures.ts";
import { displayName, idEnd, sourcesOf } from "../../platform/ids.ts";
import { nearest } from "../../platform/nearest.ts";
import type { ReadableSessions } from "../../session/index.ts";
import type { PiOrigins } from "../../settings/index.ts";
import type { Switched } from "../externalize/asked.ts";
import type { State } from "../runs/board.ts";
import { inPi } from "../wording.ts";
import { type Control, isRunning } from "./control.ts";
import { columns } from "./item.ts";
import { inspect, page, store, trace } from "./report-verbs.ts";
import { budgetLeft, outsideParts, progress } from "./summary.ts";
import { harmless, oneLine, say } from "./texts.ts";
import { asked, type CommandContext, type CommandParts, unknownArgument, type Verb, YES } from "./verb.ts";

const COMPACT = "--compact";

/** Subcommands that change what of the conversation is outside. */
const off: Verb = {
  name: "off",
  description: "Cancel what runs, and take the rlm tools away from the model; nothing is lost",
  option: { argument: COMPACT, description: "Compact the conversation first: the package can be removed" },
  async run(control, context, _parts, argument) {
    if (argument === COMPACT) return leave(control, context);
    if (argument !== "") throw unknownArgument("off", argument, COMPACT);
    const ended = cancelled(control);
    return `${ended === null ? "" : `${ended}. `}${OFF} Its state stays.${WHAT_IS_SENT[control.setEnabled(false)]}`;
  },
};

/** Cancels what runs, and says so; null if nothing runs. */
function cancelled({ board, cancel }: Pick<Control, "board" | "cancel">): string | null {
  const { running } = board.current();
  return cancel() ? `${running?.tool ?? "the call"} ends as cancelled; what it changed so far stays` : null;
}

const OFF = "RLM is off: on this branch the model is not offered its tools until /rlm on.";

const WHAT_IS_SENT: Readonly<Record<Switched, string>> = {
  nothing: "",
  raw: " Old objects are sent whole again; rlm_peek and rlm_search stay, should they no longer fit.",
  stubs:
    " Old objects stay stubs, because they would not fit into the model's window; rlm_peek and rlm_search stay to read them. " +
    `/rlm off ${COMPACT} makes a summary of them instead.`,
};

async function leave(control: Control, { isIdle, compact: compactIn }: CommandContext): Promise<string> {
  if (!isIdle()) {
    const suggestion = "Wait until it has finished, or press Esc.";
    throw new RlmError("exec_running", "the model is answering", { suggestion });
  }
  const { compacted, is } = await control.leave((options) => compactIn(options));
  const done = compacted
    ? "The conversation is compacted; its old objects stay in Pi's session file."
    : "There was nothing to compact.";
  const rest =
    is === "stubs"
      ? " What Pi keeps of it does not fit into the model's window whole: stubs and rlm_peek and rlm_search stay."
      : " All else is Pi's: the package can be removed.";
  return `${OFF} ${done}${rest}`;
}

const externalize: Verb = {
  name: "externalize",
  description: "Have old objects of the conversation go outside now",
  run(control, _context, _parts, argument) {
    if (argument !== "") throw unknownArgument("externalize", argument);
    const done = control.externalize();
    if (done.is === "out") {
      const objects = `${amount(done.objects, "object")} of the conversation ${done.objects === 1 ? "is" : "are"} outside`;
      return `${objects}; the next request is ~${compact(done.tokens)} tokens smaller`;
    }
    return NOTHING_OUT[done.is];
  },
};

const NOTHING_OUT = {
  nothing: "Nothing more can go outside: objects are small, or belong to the last prompt and answer.",
  off: "RLM is off on this branch: /rlm on has objects go outside again.",
  no_model: "Pi has no model yet: choose one with /model.",
} as const;

const clear: Verb = {
  name: "clear",
  description: "Have all objects of the conversation sent again",
  async run(control, context, _parts, argument) {
    const { rest, isSure } = asked(argument);
    if (rest !== "") throw unknownArgument("clear", rest, YES);
    if (!(await isSure(context, "Send all objects of the conversation again?", WHAT_CLEAR_COSTS))) return null;
    const done = control.clear();
    if (done.is === "nothing") return "Nothing of the conversation is outside.";
    if (done.is === "cleared") return `${amount(done.objects, "object")} of the conversation will be sent whole again.`;
    const size = `the conversation has ~${compact(done.tokens)} tokens with all its objects`;
    throw done.is === "too_large"
      ? new RlmError("context_too_large", `${size}, and a request may have ${compact(done.most)}`, {
          suggestion: `/rlm off ${COMPACT} makes a summary of them; a model with a larger window can be chosen with /model.`,
        })
      : new RlmError("context_too_large", `${size}: they would go outside again with the next request`, {
          suggestion: "/rlm off has them sent, and no more go outside on this branch.",
        });
  },
};

const WHAT_CLEAR_COSTS =
  "The next request is larger, and the provider has nothing of it in its cache. Nothing is deleted.";

/** Adds `/rlm` to Pi. */
export function registerCommands(
  pi: Pick<ExtensionAPI, "registerCommand">,
  control: Control,
  parts: CommandParts,
): void {
  pi.registerCommand("rlm", {
    description: `RLM: ${VERBS.map(({ name }) => name).join(", ")}`,
    getArgumentCompletions: completions,
    handler: (args, context) => runCommand(args, control, context, parts),
  });
}

const VERBS: readonly Verb[] = [
  {
    name: "status",
    description: "Context, budget, checkpoints, what runs",
    async run({ board, refresh }, _context, { now }) {
      await refresh();
      return statusPage(board.current(), now());
    },
  },
  {
    name: "on",
    description: "Offer the rlm tools to the model",
    run(control) {
      control.setEnabled(true);
      return "RLM is on: the model is offered its tools";
    },
  },
  off,
  externalize,
  clear,
  {
    name: "cancel",
    description: "End what runs; what it changed so far stays",
    run: (control) => cancelled(control) ?? "nothing runs",
  },
  store,
  inspect,
  trace,
  page,
  {
    name: "sessions",
    description: "Sessions in Belay's store",
    async run({ board, refresh, sessions }, _context, { now }) {
      await refresh();
      return sessionsPage(await sessions(), board.current().session, now());
    },
  },
  {
    name: "checkpoints",
    description: "Go back to an earlier state, and on from there",
    run: pickCheckpoint,
  },
  {
    name: "config",
    description: "Settings in force, and where they come from",
    run: ({ settings }, { cwd }) => settingsPage(settings(cwd)),
  },
];

/** Never rejects: what goes wrong is said. */
export async function runCommand(
  line: string,
  control: Control,
  context: CommandContext,
  parts: CommandParts,
): Promise<void> {
  const [typed = "", ...rest] = line.trim().split(/\s+/);
  const verb = VERBS.find(({ name }) => name === (typed || "status"));
  try {
    if (!verb) throw unknownVerb(typed);
    const text = await verb.run(control, context, parts, rest.join(" "));
    if (text !== null) say(text, "info", context, parts.write);
  } catch (error) {
    const { message, suggestion } = error instanceof RlmError ? error : { message: String(error), suggestion: "" };
    say(suggestion === "" ? message : `${message}\n${inPi(suggestion)}`, "error", context, parts.write);
  }
}

/**
 * Completions after `/rlm `. Returns null if nothing fits, or if the word is complete: Enter then
 * runs it.
 */
export function completions(typed: string): { value: string; label: string; description: string }[] | null {
  const all = VERBS.flatMap(({ name, description, option }) => [
    { value: name, description },
    ...(option ? [{ value: `${name} ${option.argument}`, description: option.description }] : []),
  ]);
  const fitting = all.filter(({ value }) => value !== typed && value.startsWith(typed.toLowerCase()));
  return fitting.length > 0 ? fitting.map((item) => ({ ...item, label: item.value })) : null;
}

function unknownVerb(typed: string): RlmError {
  const names = VERBS.map(({ name }) => name);
  const meant = nearest(typed, names);
  return new RlmError("invalid_argument", `/rlm has no ${oneLine(typed, 40)}`, {
    suggestion: meant ? `Did you mean /rlm ${meant}?` : `There are ${names.map((name) => `/rlm ${name}`).join(", ")}.`,
  });
}

/**
 * Goes to a checkpoint: the one whose id ends as wanted, or the one that is picked from a list. If
 * nobody can be asked, the list is the answer.
 *
 * @throws RlmError if something runs, or if no checkpoint fits
 */
async function pickCheckpoint(
  control: Control,
  { hasUI, ui }: CommandContext,
  { now }: CommandParts,
  wanted: string,
): Promise<string | null> {
  const { running } = control.board.current();
  if (running) throw isRunning(running.tool);
  const branch = await control.branch();
  if (!branch) return "RLM was not used on this branch: there is no checkpoint";
  const choices = checkpointChoices(branch.session, branch.checkpoint, now());
  const labels = choices.map(({ label }) => label);
  if (wanted === "" && !hasUI) return labels.join("\n");
  const picked = wanted === "" ? await ui.select("Go on from which state?", labels) : null;
  if (picked === undefined) return null;
  const [only, other] = choices.filter(({ id, label }) =>
    picked === null ? id.endsWith(wanted.toUpperCase()) : label === picked,
  );
  if (!only || other) {
    const problem = `${only ? "several checkpoints end" : "no checkpoint ends"} in ${wanted}`;
    throw new RlmError("checkpoint_not_found", problem, { suggestion: "/rlm checkpoints lists them." });
  }
  if (only.id === branch.checkpoint) return "the branch is there already";
  await control.goTo(branch.session.id, only.id);
  return `the branch is at checkpoint ${idEnd(only.id)}: variables, memory, helpers, context and budget are those of then; the conversation is as it is`;
}

/** `/rlm`: where things stand. @param now ms since the epoch */
function statusPage(
  { enabled, session, checkpoint, checkpoints, context, budget, running, conversation }: State,
  now: number,
): string {
  const head = enabled ? "RLM is on" : "RLM is off: the model is not offered its tools (/rlm on)";
  const talk = conversation ? [["conversation", outsideParts(conversation).join(" · ")]] : [];
  if (session === null && !running) {
    return [head, ...columns(talk), "not used in this session; the model begins with rlm_load"].join("\n");
  }
  const rows = [
    ...talk,
    ["context", context ? contextLine(context) : "none"],
    ["unread", context?.unread ?? null],
    [
      "running",
      running &&
        [`${running.tool} ${running.phase} ${elapsed(now - running.started_at)}`, ...progress(running)].join(" · "),
    ],
    ["budget left", budget && budgetLeft(budget)],
    ["checkpoints", `${checkpoints}${checkpoint === null ? "" : `, at ${idEnd(checkpoint)}`}`],
    ["session", session === null ? "not open yet" : idEnd(session)],
  ].map((row) => row.filter((cell) => cell !== null));
  return [head, ...columns(rows.filter(({ length }) => length > 1))].join("\n");
}

function contextLine({ sources, chars, tokens_estimate, documents }: NonNullable<State["context"]>): string {
  const counted = documents === null ? [] : [amount(documents, "document")];
  const size = `${chars.toLocaleString("en-US")} characters (~${compact(tokens_estimate)} tokens)`;
  return [harmless(sources.join(", ")), ...counted, size].join(" · ");
}

const SESSIONS_SHOWN = 20;

/**
 * `/rlm sessions`: those of the store, with a mark at that of the branch. @param now ms since the
 * epoch
 */
function sessionsPage({ sessions: found, damaged }: ReadableSessions, current: string | null, now: number): string {
  const lost = damaged.slice(0, SESSIONS_SHOWN).map(({ problem }) => problem);
  if (damaged.length > lost.length)
    lost.push(`… ${damaged.length - lost.length} more are damaged: npx belay-rlm doctor`);
  if (found.length === 0) return lost.join("\n") || "no sessions in the store yet";
  const rows = found.slice(0, SESSIONS_SHOWN).map((session) => {
    const { id, name, origin, status, changed_at, context, execs, sub_calls, cost_usd, last } = session;
    return [
      `${id === current ? "*" : " "} ${displayName({ id, name })}`,
      origin,
      status,
      ago(now - changed_at),
      context ? oneLine(sourcesOf(context.sources), 24) : "-",
      amount(execs, "exec"),
      [amount(sub_calls, "call"), ...priced(cost_usd)].join(" "),
      oneLine(last?.input ?? "", 32),
    ];
  });
  const more = found.length > SESSIONS_SHOWN ? [`… ${found.length - SESSIONS_SHOWN} more: npx belay-rlm sessions`] : [];
  return [...columns(rows), ...more, ...lost].join("\n");
}

/**
 * `/rlm checkpoints`: ends of execs, the newest first; no two labels are the same. @param now ms
 * since the epoch
 */
function checkpointChoices(session: SessionDescription, at: string | null, now: number) {
  const execs = new Map(session.execs.map((exec) => [exec.exec_id, exec]));
  return session.checkpoints
    .filter(({ kind }) => kind === "end")
    .toReversed()
    .map(({ id, exec_id, at: made }) => {
      const { kind, input, error_code } = execs.get(exec_id) ?? { kind: "", input: "", error_code: null };
      const failed = error_code === null ? "" : ` (${error_code})`;
      const mark = id === at ? "*" : " ";
      return {
        id,
        label: `${mark} ${ago(now - made).padEnd(10)}  ${kind} ${oneLine(input, 50)}${failed}  ${idEnd(id)}`,
      };
    });
}

/** `/rlm config`: settings in force, and where they come from. */
function settingsPage({ settings, files }: PiOrigins): string {
  const rows = settings.map(({ key, value, from }) => [key, oneLine(value, 60), from ?? "default"]);
  return [...columns(rows), "", "files, the first goes before the others:", ...files.map((path) => `  ${path}`)].join(
    "\n",
  );
}
