import { hasCode } from "../../../runtime/index.ts";
import { RlmError } from "../../index.ts";
import { folderProblem, isStoreToRead } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { version } from "../../platform/version.ts";
import { sessionNamed } from "../../session/index.ts";
import { LAST_SESSION } from "../../session/session-name.ts";
import { isCollector } from "../../settings/index.ts";
import type { SessionRow, Store } from "../../store/index.ts";
import { isServer } from "../../store/store-place.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { passedOver, reportFailure, showFailure } from "../render/failure.ts";
import { type Output, processTerminal, type Terminal } from "../render/terminal.ts";

/**
 * Opens the store in this place (null: in memory).
 *
 * @throws RlmError `store_failed` for a place that cannot be used
 */
export async function openStoreIn(place: string | null, host: Host, cure = ""): Promise<Store> {
  const problem = place === null || isServer(place) ? null : folderProblem(place);
  if (problem === null) return host.openStore(place);
  throw new RlmError("store_failed", `sessions cannot be kept: ${problem}`, {
    suggestion: `Name a place that can be written with --store DIR or BELAY_HOME${cure}.`,
  });
}

const ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT";

/** The setting that says where spans go, and the way in which people are told of problems with it. */
interface Sending {
  /** The setting of this process: one that a session has recorded never counts. */
  readonly otlp: string | undefined;
  say(line: string): void;
}

/**
 * Opens the store in this place. It also sends the spans of what ends in it, if the user has said
 * where to.
 */
export async function openSendingStore(place: string, host: Host, sending: Sending, cure?: string): Promise<Store> {
  const { otlp, say } = sending;
  const store = await openStoreIn(place, host, cure);
  const url = otlp === "env" ? process.env[ENDPOINT] : otlp;
  if (!url) return store;
  if (!isCollector(url)) {
    say(`otlp_failed: ${ENDPOINT} is not the address of a collector`);
    return store;
  }
  const { sendingStore } = await import("../../history/telemetry/index.ts");
  const warn = (problem: string) =>
    say(`otlp_failed: ${problem}; \`belay show SESSION --otlp FILE|URL\` exports them again`);
  return sendingStore(store, { collector: { url, env: { ...process.env } }, version: version(), warn });
}

/**
 * Opens a store for commands that only look: a folder with one need not be writable.
 *
 * @throws RlmError `store_failed`
 */
export function openStoreToLook(place: string, host: Host): Promise<Store> {
  return isStoreToRead(place) ? host.openStore(place) : openStoreIn(place, host);
}

/** Opens a store for commands that only look, closes it after the work. */
export async function withStore<T>(place: string, host: Host, work: (store: Store) => Promise<T>): Promise<T> {
  await using store = await openStoreToLook(place, host);
  return await work(store);
}

/**
 * Runs a command that only deals with the store. Gives the exit code: 1 if it failed, after
 * reporting why.
 */
export async function showingFailures(args: Arguments, work: (terminal: Terminal) => Promise<void>): Promise<number> {
  let closed: number | undefined;
  const terminal = processTerminal((exitCode) => {
    closed = exitCode;
  });
  try {
    await work(terminal);
    return closed ?? 0;
  } catch (error) {
    return reportFailure(error, terminal, args.get(OUTPUT_FLAGS.json));
  }
}

/**
 * Runs such a command, which may meet rows that it cannot read: it tells of the damage, and the
 * exit code is 1.
 */
export async function showingDamage(
  args: Arguments,
  work: (terminal: Terminal, tell: (damage: RlmError | null) => void) => Promise<void>,
): Promise<number> {
  let isWhole = true;
  const code = await showingFailures(args, (terminal) =>
    work(terminal, (damage) => {
      isWhole = damage === null;
      if (damage && !args.get(OUTPUT_FLAGS.json)) showFailure(damage, terminal);
    }),
  );
  return isWhole ? code : 1;
}

/** The store as messages and lines to type name it. */
interface Place {
  readonly shown: string;
  readonly flags: readonly string[];
}

/** The line that makes a session, or loads a context into one. */
export const newLine = (flags: readonly string[], name = "NAME") =>
  commandLine(["exec", "FILE", "-c", "PATH", "--session", name, ...flags]);

/**
 * The session of this name. stderr names the one changed last.
 *
 * @throws RlmError `run_not_found`, `session_not_found`
 */
export async function requestedSession(store: Store, name: string | null, { shown, flags }: Place, stderr: Output) {
  const meant = name === null ? LAST_SESSION : await sessionMeant(store, name, flags);
  try {
    const row = await sessionNamed(store, meant, passedOver(stderr));
    if (name === null) stderr.write(`${displayName(row)} is the session changed last\n`, "dim");
    return row;
  } catch (error) {
    if (name !== null || !hasCode(error, "session_not_found")) throw error;
    throw new RlmError("session_not_found", `no session found in ${shown}`, {
      suggestion: `Make one: \`${newLine(flags)}\`.`,
    });
  }
}

/** The one session that a command is about. @throws UsageError */
export function onlyName(args: Arguments, command: string): string {
  const names = args.positionals;
  const [name] = names;
  if (name !== undefined && names.length === 1) return name;
  const problem = name === undefined ? "name a session; belay sessions lists them" : `${command} takes one session`;
  throw new UsageError(problem, commandLine(name === undefined ? ["sessions"] : [command, name]));
}

/**
 * The session that a name means: `RUN/ID` means that of a job, since names of sessions have no
 * slash.
 *
 * @param flags name the store in lines to type
 * @throws RlmError `run_not_found`, `session_not_found`
 */
export async function sessionMeant(store: Store, name: string, flags: readonly string[]): Promise<string> {
  const at = name.indexOf("/");
  if (at === -1) {
    await refuseRun(store, name, flags);
    return name;
  }
  const run = name.slice(0, at);
  const id = name.slice(at + 1);
  const session = await sessionOfJob(store, run, id, flags);
  if (session) return session.id;
  throw new RlmError("session_not_found", `job ${JSON.stringify(id)} not found in run ${run}`, {
    suggestion: `\`${commandLine(["jobs", run, ...flags])}\` lists its jobs.`,
  });
}

/** @throws RlmError `session_not_found` for a name that a run has, and no session */
export async function refuseRun({ jobs, find }: Store, name: string, flags: readonly string[]): Promise<void> {
  if (!(await jobs.run(name)) || (await find(name))) return;
  const list = commandLine(["jobs", name, ...flags]);
  const remove = commandLine(["jobs", "rm", name, ...flags]);
  throw new RlmError("session_not_found", `${name} is a run, not a session`, {
    suggestion: `\`${list}\` lists its jobs, ${name}/ID names the session of one, and \`${remove}\` drops the run.`,
  });
}

/**
 * The session of a name, and the checkpoint behind its last `@` or null. The id of a job may have
 * that character too.
 */
export async function checkpointMeant(store: Store, name: string, flags: readonly string[]) {
  if (!name.includes("/")) {
    const [, session = "", checkpoint] = /^(@last|[^@]*)(?:@(.*))?$/s.exec(name) ?? [];
    await refuseRun(store, session, flags);
    return { session, checkpoint: checkpoint || null };
  }
  const at = name.lastIndexOf("@");
  const run = name.slice(0, name.indexOf("/"));
  const whole = await sessionOfJob(store, run, name.slice(run.length + 1), flags);
  if (whole?.head === null) {
    const problem = `${name} has no checkpoint: it was not begun, or its images went when it was done`;
    throw new RlmError("checkpoint_not_found", problem, { suggestion: "Run the jobs with --keep-sessions." });
  }
  if (whole || at === -1) return { session: whole?.id ?? (await sessionMeant(store, name, flags)), checkpoint: null };
  return { session: await sessionMeant(store, name.slice(0, at), flags), checkpoint: name.slice(at + 1) || null };
}

/**
 * null: the run has no such job.
 *
 * @throws RlmError `run_not_found`, `session_not_found` if the job was not begun
 */
async function sessionOfJob(
  { jobs, find }: Store,
  name: string,
  id: string,
  flags: readonly string[],
): Promise<SessionRow | null> {
  const run = await jobs.run(name);
  if (!run) {
    throw new RlmError("run_not_found", `the store has no run ${name}`, {
      suggestion: `\`${commandLine(["jobs", ...flags])}\` lists the runs.`,
    });
  }
  const job = await jobs.find(run.id, id);
  if (!job) return null;
  const session = await find(job.session);
  if (session) return session;
  const why = job.begun_at === null ? "it was not begun" : "its session was dropped";
  throw new RlmError("session_not_found", `job ${JSON.stringify(id)} of ${name} has no session: ${why}`, {
    suggestion: `\`${commandLine(["jobs", name, ...flags])}\` shows the state of its jobs.`,
  });
}
