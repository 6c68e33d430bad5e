import type { SessionDescription } from "../../history/index.ts";
import { ago, amount, compact, elapsed, priced } from "../../platform/figures.ts";
import { displayName, idEnd, sourcesOf } from "../../platform/ids.ts";
import type { ReadableSessions } from "../../session/index.ts";
import type { PiOrigins } from "../../settings/index.ts";
import type { State } from "../runs/board.ts";
import { columns } from "./item.ts";
import { budgetLeft, outsideParts, progress } from "./summary.ts";
import { harmless, oneLine } from "./texts.ts";

/** `/rlm`: where things stand. @param now ms since the epoch */
export function statusPage(
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

/** `/rlm sessions`: those of the store, with a mark at that of the branch. @param now ms since the epoch */
export function sessionsPage(
  { sessions: found, damaged }: ReadableSessions,
  current: string | null,
  now: number,
): string {
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

/** `/rlm checkpoints`: ends of execs, the newest first; no two labels are the same. @param now ms since the epoch */
export function checkpointChoices(session: SessionDescription, at: string | null, now: number) {
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
export function settingsPage({ settings, files }: PiOrigins): string {
  const rows = settings.map(({ key, value, from }) => [key, oneLine(value, 60), from ?? "default"]);
  return [...columns(rows), "", "files, the first goes before the others:", ...files.map((path) => `  ${path}`)].join(
    "\n",
  );
}
