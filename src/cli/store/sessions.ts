import { ulid } from "ulid";
import { LIMITS } from "../../../runtime/index.ts";
import { type Json, RlmError } from "../../index.ts";
import { readBoundedFile } from "../../platform/bounded-reads.ts";
import { exactJson } from "../../platform/cell-json.ts";
import { messageOf } from "../../platform/errors.ts";
import { age, amount, compact, dollars, size } from "../../platform/figures.ts";
import { displayName, sourcesOf } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine } from "../../platform/visible.ts";
import {
  type AnsweredFork,
  forkSession,
  forkWithAnswers,
  type GivenAnswer,
  listReadableSessions,
  REMARK_NAMES,
  type Removing,
  type SessionSummary,
  sessionNamed,
  sessionToRemove,
} from "../../session/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import type { Collected } from "../../store/index.ts";
import { isServer } from "../../store/store-place.ts";
import { runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { ForkFlags } from "../commands/fork.ts";
import type { GcFlags } from "../commands/gc.ts";
import type { RmFlags } from "../commands/rm.ts";
import type { SessionsFlags } from "../commands/sessions.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkName, storePlace } from "../flags/values.ts";
import { waitsForText } from "../render/calls.ts";
import { damageError, outcomeOf, passedOver } from "../render/failure.ts";
import { type Column, showTable } from "../render/table.ts";
import type { Output, Style } from "../render/terminal.ts";
import { cancelBatches } from "../session/settings.ts";
import {
  dropOutboxes,
  droppedText,
  type Outboxes,
  orphansAmong,
  outboxesOf,
  outboxesToWatch,
  refuseTrees,
} from "./agent-outboxes.ts";
import { ANONYMOUS_MS } from "./daily-gc.ts";
import { type Page, resumeLine } from "./exec-tree.ts";
import {
  checkpointMeant,
  newLine,
  onlyName,
  refuseRun,
  showingDamage,
  showingFailures,
  withStore,
} from "./open-store.ts";

/** `belay sessions`: sessions of the store, the one changed last first. */
export function sessionsCommand(args: Arguments, host: Host, own: SessionsFlags): Promise<number> {
  return showingDamage(args, async ({ stdout }, tell) => {
    const { place, shown, flags } = runStore(args);
    const { sessions: listed, damaged } = await withStore(place, host, listReadableSessions);
    const damage = damageError(damaged.map(({ problem }) => problem));
    // Those of jobs are many, and `belay jobs` lists them by their run.
    const all = own.all ? listed : listed.filter(({ origin }) => origin !== "batch");
    const named = own.named ? all.filter(({ name }) => name !== null) : all;
    const matches = own.unfinished ? named.filter(({ status }) => status === "unfinished") : named;
    if (args.get(OUTPUT_FLAGS.json)) {
      const summary = { ...outcomeOf(damage), store: shown, sessions: matches, ...(damage ? { damaged } : {}) };
      stdout.json(summary);
    } else if (all.length === 0) {
      if (!damage) stdout.write(`no sessions in ${shown}\nmake one: ${newLine(flags)}\n`);
    } else if (matches.length === 0) {
      const wanted = (["named", "unfinished"] as const).filter((word) => own[word]).join(" and ");
      stdout.write(`none of ${amount(all.length, "session")} in ${shown} is ${wanted}\n`);
    } else showSessions(matches, { now: Date.now(), all: own.all === true, flags }, stdout);
    tell(damage);
  });
}

/** Prints the names of sessions, one a line, for the completion of shells. Gives the exit code. */
export function printNames(args: Arguments, host: Host): Promise<number> {
  return showingFailures(args, async ({ stdout }) => {
    const { sessions } = await withStore(storePlace(args), host, listReadableSessions);
    for (const { name } of sessions) if (name !== null) stdout.line(name);
  });
}

/** The number of sessions without --all. */
const SHOWN = 20;

type ListColumn = readonly [title: string, column: Column, text: (session: SessionSummary, now: number) => string];

const COLUMNS: readonly ListColumn[] = [
  ["session", "left", displayName],
  ["status", "left", ({ status, waits_for }) => (waits_for ? "waits" : status)],
  ["changed", "right", ({ changed_at }, now) => age(now - changed_at)],
  ["context", "left 5", ({ context }) => (context ? sourcesOf(context.sources) : "-")],
  ["execs", "right 2", ({ execs }) => String(execs)],
  ["calls", "right 4", ({ sub_calls }) => String(sub_calls)],
  ["tokens", "right 3", ({ tokens }) => compact(tokens)],
  ["cost", "right 6", ({ cost_usd }) => (cost_usd > 0 ? dollars(cost_usd) : "-")],
  ["size", "right 1", ({ bytes }) => size(bytes)],
];

const LAST: ListColumn = [
  "last",
  "left",
  ({ last }) => (last ? (last.kind === "cell" ? last.input : `${last.kind} ${last.input}`) : "-"),
];

/** A column for each remark that one of the sessions has. */
function remarksIn(found: readonly SessionSummary[]): ListColumn[] {
  const there = REMARK_NAMES.filter((name) => found.some((session) => session[name] !== null));
  return there.map((name) => [name, "left 7", (session) => shortened(session[name] ?? "-")]);
}

const REMARK_UNITS = 40;

const shortened = (text: string) => (text.length > REMARK_UNITS ? `${text.slice(0, REMARK_UNITS - 1)}…` : text);

/** A table for people. */
export function showSessions(all: readonly SessionSummary[], page: Page, output: Output): void {
  const { now } = page;
  const listed = page.all ? all : all.slice(0, SHOWN);
  const columns = [...COLUMNS, ...remarksIn(listed), LAST];
  const rows = listed.map((session) => columns.map(([, , text]) => text(session, now)));
  const titles = columns.map(([title]) => title);
  const shapes = columns.map(([, column]) => column);
  showTable(titles, rows, shapes, output, (at) => STYLES[listed[at]?.status ?? "idle"]);
  if (all.length > listed.length) output.write(`${amount(all.length - listed.length, "session")} more: --all\n`, "dim");
  for (const { waits_for, ...session } of listed) {
    if (waits_for) output.line(`${displayName(session)} ${waitsForText(waits_for, now)}`, "yellow");
  }
  const open = all.find(({ status }) => status === "unfinished");
  if (open) output.write(`unfinished: ${resumeLine(open, page)}\n`);
}

const STYLES: Partial<Record<SessionSummary["status"], Style>> = { unfinished: "yellow", running: "green" };

const TEXTS_IN_USE = "files of large contexts stay until the next belay gc: a load is under way";

/** `belay rm`: drops sessions. If one of the names is wrong it drops none. */
export function rmCommand(args: Arguments, host: Host, { discard = false }: RmFlags): Promise<number> {
  const names = args.positionals;
  if (names.length === 0) throw new UsageError("name a session; belay sessions lists them", commandLine(["sessions"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const { place, flags } = runStore(args);
    await withStore(place, host, async (store) => {
      const meant = new Map<string, Removing>();
      for (const name of names) {
        await refuseRun(store, name, flags);
        const session = await sessionToRemove(store, name);
        meant.set(session.id, session);
      }
      const outboxes = new Map(outboxesOf(place).map((own) => [own.session, own]));
      for (const session of meant.values()) {
        const own = outboxes.get(session.id);
        const line = commandLine(["rm", typedName(session), "--discard", ...flags]);
        if (own && !discard) refuseTrees(displayName(session), own, line);
      }
      for (const session of meant.values()) {
        const { text_bytes, texts_in_use } = await store.remove(session.id, { discard });
        const { id, bytes } = session;
        const removed =
          bytes === null ? `${inLine(id)}, whose row was damaged` : `${displayName(session)} (${size(bytes)})`;
        const own = outboxes.get(id);
        if (own) await dropOutboxes(own);
        const texts = text_bytes > 0 ? `, with ${size(text_bytes)} of large contexts` : "";
        stdout.write(`removed ${removed}${texts}${own ? droppedText(own) : ""}\n`);
        if (texts_in_use) stdout.write(`${TEXTS_IN_USE}\n`, "dim");
      }
      if (discard) await cancelBatches(store, { stderr });
    });
  });
}

/** The way in which a fork with answers by hand continues. */
const HOW: Readonly<Record<AnsweredFork["how"], string>> = {
  continued: "the cell continues where it waited",
  again: "the cell runs again, since it had used an answer that is replaced; its calls take over the others",
};

/** `belay fork`: a new session from a checkpoint of another. Prints its name, or its id. */
export function forkCommand(args: Arguments, host: Host, own: ForkFlags): Promise<number> {
  const { name = null } = own;
  const typed = onlyName(args, "fork");
  const given = givenAnswers(own);
  if (name !== null) checkName("--name", name, commandLine(["help", "fork"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const at = Date.now();
    const { place, flags } = runStore(args);
    const forked = await withStore(place, host, async (store) => {
      const { session, checkpoint } = await checkpointMeant(store, typed, flags);
      const id = ulid(at);
      const signer = openSigner(place, process.env);
      const forking = { id, name, origin: "command", at, settings: signer.forFork(id) } as const;
      const { id: parent } = await sessionNamed(store, session, passedOver(stderr));
      if (given.length === 0)
        return { session: await forkSession(store, parent, { ...forking, checkpoint }), how: null };
      if (checkpoint !== null) {
        const problem = "--answer and --skip are about the last exec, and take no checkpoint";
        throw new UsageError(problem, commandLine(["fork", session, ...args.typed.filter((word) => word !== typed)]));
      }
      return forkWithAnswers(store, parent, { ...forking, newId: ulid, signer }, given);
    });
    const { session: made, how } = forked;
    if (args.get(OUTPUT_FLAGS.json)) return stdout.json({ success: true, session: made, ...(how ? { how } : {}) });
    stdout.write(`${displayName(made)}\n`);
    if (how) stderr.write(`${HOW[how]}\n`, "dim");
    const called = typedName(made);
    const next = made.status === "unfinished" ? ["resume", called] : ["exec", "FILE", "--session", called];
    if (!stderr.isTerminal) return;
    if (made.name === null && made.label !== null) stderr.line(made.label, "dim");
    stderr.write(`continue with: ${commandLine([...next, ...flags])}\n`, "dim");
  });
}

/** The answers that --answer and --skip give by hand. @throws UsageError, RlmError `invalid_argument` */
function givenAnswers({ answer = [], skip = [] }: Pick<ForkFlags, "answer" | "skip">): readonly GivenAnswer[] {
  return [...answer.map(answerIn), ...skip.map((call) => ({ call, skip: true }))];
}

function answerIn(typed: string): GivenAnswer {
  const at = typed.indexOf("=");
  if (at < 1) {
    const problem = `--answer is ${inLine(typed)}: it takes CALL=JSON, such as 3='"yes"'`;
    throw new UsageError(problem, commandLine(["help", "fork"]));
  }
  const call = typed.slice(0, at);
  const text = typed.slice(at + 1);
  return { call, value: valueIn(call, text.startsWith("@") ? textOf(text.slice(1)) : text) };
}

function valueIn(call: string, text: string): Json {
  try {
    return exactJson(text);
  } catch (error) {
    throw new RlmError("invalid_argument", `the answer of call ${call} cannot be read as JSON: ${messageOf(error)}`, {
      suggestion: `Put a text, and the digits of a large number, into double quotes, and all of it into single ones for the shell: --answer ${call}='"yes"'.`,
    });
  }
}

function textOf(file: string): string {
  const read = readBoundedFile(file, { maxBytes: LIMITS.sourceBytes, followsLink: true });
  if (read && "text" in read) return read.text.replace(/^\ufeff/, "");
  throw new RlmError("invalid_argument", `${inLine(file)} ${read?.problem ?? "does not exist"}`, {
    suggestion: "Name a file that has the answer as JSON: --answer CALL=@FILE.",
  });
}

/** `belay gc`: drops what nothing reaches, and sessions that are old enough. */
export function gcCommand(args: Arguments, host: Host, own: GcFlags): Promise<number> {
  const { olderThan: namedMs = null, pi = false, dryRun = false } = own;
  const rule = { now: Date.now(), anonymousMs: ANONYMOUS_MS, namedMs, pi, dryRun };
  return showingDamage(args, async ({ stdout }, tell) => {
    const place = storePlace(args);
    const [collected, damaged, orphans] = await withStore(place, host, async (store) => {
      const watched = await outboxesToWatch(place, store);
      const dropped = await store.gc(rule);
      return [dropped, await store.damaged(), await orphansAmong(watched, store)] as const;
    });
    if (!dryRun) for (const outboxes of orphans) await dropOutboxes(outboxes);
    const problems = damaged.map(({ problem }) => problem);
    // The data that they reach is unknown.
    const damage = damageError(problems, { rest: "Damaged sessions stay, with all that is theirs" });
    if (args.get(OUTPUT_FLAGS.json)) {
      const summary = {
        ...outcomeOf(damage),
        dry_run: dryRun,
        ...collected,
        agents: ofOrphans(orphans),
        ...(damage ? { damaged } : {}),
      };
      stdout.json(summary);
    } else stdout.write(collectedText(collected, orphans, { dryRun, onServer: isServer(place) }));
    tell(damage);
  });
}

/** Outboxes of agents that go, for programs. */
const ofOrphans = (orphans: readonly Outboxes[]) => ({
  outboxes: orphans.reduce((sum, { agents }) => sum + agents, 0),
  worktrees: orphans.flatMap(({ trees }) => trees),
});

function collectedText(
  collected: Collected,
  orphans: readonly Outboxes[],
  { dryRun, onServer }: { readonly dryRun: boolean; readonly onServer: boolean },
): string {
  const { sessions, checkpoints, contexts, cached, texts, bytes } = collected;
  const { outboxes, worktrees } = ofOrphans(orphans);
  const went = [
    ...(sessions.length > 0 ? [amount(sessions.length, "session")] : []),
    ...(checkpoints > 0 ? [amount(checkpoints, "checkpoint")] : []),
    ...(contexts > 0 ? [amount(contexts, "context")] : []),
    ...(texts > 0 ? [amount(texts, "file of large contexts", "files of large contexts")] : []),
    ...(outboxes > 0 ? [amount(outboxes, "outbox of agents", "outboxes of agents")] : []),
    ...(cached > 0 ? [amount(cached, "cached answer or text", "cached answers and texts")] : []),
  ];
  // The size of a server's tables changes by what others do there too.
  const waiting = collected.texts_in_use ? `${TEXTS_IN_USE}\n` : "";
  if (went.length === 0 && (bytes === 0 || onServer)) return `nothing to drop\n${waiting}`;
  const verb = dryRun ? "would drop" : "dropped";
  const trees = worktrees.map((tree) => `the worktree ${inLine(tree)}`);
  const listed = [...sessions, ...trees].map((name) => `${verb} ${name}\n`).join("");
  const freed = `${dryRun ? "about " : ""}${size(bytes)} ${dryRun ? "would be" : "were"} given back`;
  const space = onServer ? "the server keeps the space for new rows of its tables" : freed;
  return `${listed}${verb} ${went.join(", ") || "nothing"}; ${space}\n${waiting}`;
}
