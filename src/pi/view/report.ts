import { RlmError } from "../../../runtime/index.ts";
import { describeSession, type ExecDescription, type SessionDescription } from "../../history/index.ts";
import { ago, amount, compact } from "../../platform/figures.ts";
import { idEnd } from "../../platform/ids.ts";
import type { Store } from "../../store/index.ts";
import type { BranchView } from "../branch/entries.ts";
import type { NextSize, Overview, PastCompaction, PastEpoch, SaidObject } from "../externalize/index.ts";
import { callTree } from "./call-tree.ts";
import { type Item, item, itemsInColumns } from "./item.ts";

/** The report on a branch: objects outside, and execs. */
export interface BranchReport {
  readonly overview: Overview;
  readonly size: NextSize;
  readonly sessions: readonly SessionReport[];
}

/**
 * A session of Belay that execs of the branch ran in, and those of its execs with what belongs to them. If the store does not
 * tell, `session` is null, and `problem` says why.
 */
export type SessionReport = Awaited<ReturnType<typeof sessionsOf>>[number];

/** The number of children that are described, those of the newest execs first. */
const CHILDREN = 200;

/** The store's descriptions of the execs of a branch. */
export async function sessionsOf(
  { starts }: Pick<BranchView, "starts">,
  open: () => Promise<{ readonly store: Store }>,
) {
  const bySession = Map.groupBy(starts, ({ session }) => session);
  return Promise.all(
    [...bySession].map(async ([id, begun]) => {
      try {
        const session = await describeSession((await open()).store, id, { children: CHILDREN });
        return { id, session, execs: execsOf(session, new Set(begun.map(({ exec_id }) => exec_id))), problem: null };
      } catch (error) {
        if (!(error instanceof RlmError)) throw error;
        return { id, session: null, execs: [], problem: `${error.code}: ${error.message}` };
      }
    }),
  );
}

/** Execs that began on the branch, and turns and cells of asks that did. */
function execsOf({ execs }: SessionDescription, begun: ReadonlySet<string>): readonly ExecDescription[] {
  const taken = new Set<number>();
  for (const { exec_id, number, parent } of execs) {
    if (begun.has(exec_id) || (parent !== null && taken.has(parent))) taken.add(number);
  }
  return execs.filter(({ number }) => taken.has(number));
}

/** Epochs, compactions, and the calls under what made them. @param now ms since the epoch */
export function traceItems({ overview, sessions }: BranchReport, now: number): readonly Item[] {
  return [...epochItems(overview.epochs, now), ...compactionItems(overview.compactions, now), ...callItems(sessions)];
}

/** The same with every text of the conversation, the newest first. */
export function inspectItems(report: BranchReport, now: number): readonly Item[] {
  return [
    item(0, "plain", [conversationLine(report)]),
    ...traceItems(report, now),
    ...objectItems(report.overview.objects.toReversed()),
  ];
}

/** `41 of 120 objects outside · 61k of 150k tokens · next request 62k of 200k` */
export function conversationLine({ overview: { objects, isOff }, size }: BranchReport): string {
  const out = objects.filter(({ is }) => is !== "in");
  const tokens = (of: readonly SaidObject[]) => of.reduce((sum, object) => sum + object.tokens, 0);
  return [
    ...(isOff ? ["off on this branch"] : []),
    `${out.length} of ${amount(objects.length, "object")} outside`,
    `${compact(tokens(out))} of ${compact(tokens(objects))} tokens`,
    `next request ${compact(size.tokens)}${size.window === null ? "" : ` of ${compact(size.window)}`}`,
  ].join(" · ");
}

function epochItems(epochs: readonly PastEpoch[], now: number): readonly Item[] {
  const rows = epochs.map(({ epoch, cause, before, after, objects, at }) => [
    String(epoch),
    CAUSES[cause],
    `${compact(before)} → ${compact(after)} tokens`,
    `${amount(objects, "object")} outside`,
    since(at, now),
  ]);
  return section("epochs", "none yet", rows);
}

const CAUSES = {
  threshold: "the window filled",
  manual: "asked for",
  valve: "too large at once",
  model: "another model",
};

function compactionItems(compactions: readonly PastCompaction[], now: number): readonly Item[] {
  const rows = compactions.map(({ by, before, at }) => [
    by === "belay" ? "by Belay, without a model" : "by Pi",
    before === null ? "" : `${compact(before)} tokens before`,
    since(at, now),
  ]);
  return section("compactions", "none", rows);
}

function callItems(sessions: readonly SessionReport[]): readonly Item[] {
  if (sessions.length === 0) return section("calls", "none: RLM was not used on this branch", []);
  return [
    item(0, "heading", ["calls"]),
    ...sessions.flatMap(({ id, session, execs, problem }) => [
      item(1, "quiet", [`session ${idEnd(id)}`]),
      ...(session ? callTree(session, execs, 2) : [item(2, "bad", [problem])]),
    ]),
  ];
}

const OBJECT_STYLES = { in: "plain", out: "good", folded: "quiet" } as const;

/** Texts of the conversation, in the order given. */
function objectItems(objects: readonly SaidObject[]): readonly Item[] {
  const rows = objects.map((object) => ({
    cells: objectRow(object),
    style: OBJECT_STYLES[object.is],
    whole: () => object.text(),
  }));
  return [item(0, "heading", ["objects of the conversation, the newest first"]), ...itemsInColumns(1, rows)];
}

/** Columns of an object: id, what is sent, kind, tokens, description. */
export function objectRow({ id, is, kind, tokens, description }: Omit<SaidObject, "text" | "is"> & { is: string }) {
  return [id, is, kind, `${compact(tokens)} ${tokens === 1 ? "token" : "tokens"}`, description];
}

function section(title: string, none: string, rows: readonly (readonly string[])[]): readonly Item[] {
  const head = item(0, "heading", [title]);
  if (rows.length === 0) return [head, item(1, "quiet", [none])];
  const lines = rows.map((cells) => ({ cells, style: "plain" }) as const);
  return [head, ...itemsInColumns(1, lines)];
}

const since = (at: number | null, now: number) => (at === null ? "" : ago(now - at));
