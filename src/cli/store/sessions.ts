import { ulid } from "ulid";
import { age, amount, compact, dollars, size } from "../../platform/figures.ts";
import { displayName, sourcesOf } from "../../platform/ids.ts";
import { typedName } from "../../platform/shell-word.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import {
  forkSession,
  listReadableSessions,
  REMARK_NAMES,
  type Removing,
  type SessionSummary,
  sessionNamed,
  sessionToRemove,
} from "../../session/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import { runStore } from "../batch/run-command.ts";
import type { ForkFlags } from "../commands/fork.ts";
import type { RmFlags } from "../commands/rm.ts";
import type { SessionsFlags } from "../commands/sessions.ts";
import type { Arguments } from "../flags/arguments.ts";
import { JSON_OUTPUT } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { checkName, storePlace } from "../flags/values.ts";
import type { Host } from "../host.ts";
import { damageError, outcomeOf, passedOver } from "../render/failure.ts";
import { type Column, showTable } from "../render/table.ts";
import type { Output, Style } from "../render/terminal.ts";
import { cancelBatches } from "../session/settings.ts";
import { type Page, resumeLine } from "./exec-tree.ts";
import {
  checkpointMeant,
  newLine,
  onlyName,
  refuseRun,
  showingDamage,
  showingFailures,
  withStore,
} from "./opened-store.ts";

/** `belay sessions`: sessions of the store, the one changed last first. Gives the exit code. */
export function sessionsCommand(args: Arguments, host: Host, own: SessionsFlags): Promise<number> {
  return showingDamage(args, async ({ stdout }, tell) => {
    const { place, shown, flags } = runStore(args);
    const { sessions: listed, damaged } = await withStore(place, host, listReadableSessions);
    const damage = damageError(damaged.map(({ problem }) => problem));
    // Those of jobs are many, and `belay jobs` lists them by their run.
    const all = own.all ? listed : listed.filter(({ origin }) => origin !== "batch");
    const named = own.named ? all.filter(({ name }) => name !== null) : all;
    const found = own.unfinished ? named.filter(({ status }) => status === "unfinished") : named;
    if (args.get(JSON_OUTPUT)) {
      const told = { ...outcomeOf(damage), store: shown, sessions: found, ...(damage ? { damaged } : {}) };
      stdout.writeRaw(`${jsonText(told)}\n`);
    } else if (all.length === 0) {
      if (!damage) stdout.write(`no sessions in ${shown}\nmake one: ${newLine(flags)}\n`);
    } else if (found.length === 0) {
      const wanted = (["named", "unfinished"] as const).filter((word) => own[word]).join(" and ");
      stdout.write(`none of ${amount(all.length, "session")} in ${shown} is ${wanted}\n`);
    } else showSessions(found, { now: Date.now(), all: own.all === true, flags }, stdout);
    tell(damage);
  });
}

/** Prints the names of sessions, one a line, for the completion of shells. Gives the exit code. */
export function printNames(args: Arguments, host: Host): Promise<number> {
  return showingFailures(args, async ({ stdout }) => {
    const { sessions } = await withStore(storePlace(args), host, listReadableSessions);
    for (const { name } of sessions) if (name !== null) stdout.write(`${inLine(name)}\n`);
  });
}

/** The number of sessions without --all. */
const SHOWN = 20;

type ListColumn = readonly [title: string, column: Column, text: (session: SessionSummary, now: number) => string];

const COLUMNS: readonly ListColumn[] = [
  ["session", "left", displayName],
  ["status", "left", ({ status }) => status],
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
  const found = page.all ? all : all.slice(0, SHOWN);
  const columns = [...COLUMNS, ...remarksIn(found), LAST];
  const rows = found.map((session) => columns.map(([, , text]) => text(session, now)));
  const titles = columns.map(([title]) => title);
  const shapes = columns.map(([, column]) => column);
  showTable(titles, rows, shapes, output, (at) => STYLES[found[at]?.status ?? "idle"]);
  if (all.length > found.length) output.write(`${amount(all.length - found.length, "session")} more: --all\n`, "dim");
  const open = all.find(({ status }) => status === "unfinished");
  if (open) output.write(`unfinished: ${resumeLine(open, page)}\n`);
}

const STYLES: Partial<Record<SessionSummary["status"], Style>> = { unfinished: "yellow", running: "green" };

/** `belay rm`: drops sessions. If one of the names is wrong it drops none. Gives the exit code. */
export function rmCommand(args: Arguments, host: Host, own: RmFlags): Promise<number> {
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
      for (const session of meant.values()) {
        await store.remove(session.id, own);
        const { id, bytes } = session;
        const removed =
          bytes === null ? `${inLine(id)}, whose row was damaged` : `${displayName(session)} (${size(bytes)})`;
        stdout.write(`removed ${removed}\n`);
      }
      if (own.discard) await cancelBatches(store, { stderr });
    });
  });
}

/** `belay fork`: a new session from a checkpoint of another. Prints its name, or its id. Gives the exit code. */
export function forkCommand(args: Arguments, host: Host, own: ForkFlags): Promise<number> {
  const { name = null } = own;
  const typed = onlyName(args, "fork");
  if (name !== null) checkName("--name", name, commandLine(["help", "fork"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const at = Date.now();
    const { place, flags } = runStore(args);
    const made = await withStore(place, host, async (store) => {
      const { session, checkpoint } = await checkpointMeant(store, typed, flags);
      const id = ulid(at);
      const settings = openSigner(place, process.env).forFork(id);
      const forking = { id, name, origin: "command", checkpoint, at, settings } as const;
      const { id: parent } = await sessionNamed(store, session, passedOver(stderr));
      return forkSession(store, parent, forking);
    });
    if (args.get(JSON_OUTPUT)) return stdout.writeRaw(`${jsonText({ success: true, session: made })}\n`);
    stdout.write(`${displayName(made)}\n`);
    const called = typedName(made);
    const next = made.status === "unfinished" ? ["resume", called] : ["exec", "FILE", "--session", called];
    if (stderr.isTerminal) stderr.write(`continue with: ${commandLine([...next, ...flags])}\n`, "dim");
  });
}
