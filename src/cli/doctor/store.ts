import { existsSync, rmdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { RlmError } from "../../index.ts";
import { errorCode } from "../../platform/errors.ts";
import { amount, size } from "../../platform/figures.ts";
import { folderProblem } from "../../platform/home.ts";
import { displayName } from "../../platform/ids.ts";
import { makeFolder } from "../../platform/make-folder.ts";
import { inLine } from "../../platform/visible.ts";
import { queueFigures, type TicketCounts } from "../../runs/index.ts";
import { listReadableSessions, type SessionSummary } from "../../session/index.ts";
import { openSigner } from "../../settings/signed-settings.ts";
import { lookAtServer, type ServerFacts, type Store, type Verified, verifyStore } from "../../store/index.ts";
import { isServer, shownPlace } from "../../store/store-place.ts";
import type { Host } from "../commands/define.ts";
import { openStatusLine, processClock } from "../render/status-line.ts";
import type { Terminal } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { withStore } from "../store/open-store.ts";

/** The result of a check. `detail` is what was found; `cure` says what to do if it is not ok. */
export interface Found {
  readonly state: "ok" | "warning" | "failed";
  readonly detail: string;
  readonly cure?: string;
  /** The sessions that take most, of the check of sessions. */
  readonly biggest?: readonly { readonly session: string; readonly mb: number }[];
}

/** Checks that the folder can be written, and by the user alone. */
export async function checkFolder(folder: string): Promise<Found> {
  const isThere = existsSync(folder);
  for (const each of [folder, join(folder, "index"), join(folder, "locks")]) {
    const problem = folderProblem(each) ?? writingProblem(each);
    if (problem !== null) return { state: "failed", detail: problem };
  }
  if (!isThere) return { state: "ok", detail: `${folder} will be made when it is needed` };
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < SCARCE_BYTES) {
    const detail = `${folder}: its disk has ${size(bavail * bsize)} free`;
    return { state: "warning", detail, cure: "free space on the disk, or set BELAY_HOME to a folder on another one" };
  }
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o077) === 0 || process.platform === "win32") return { state: "ok", detail: folder };
  return {
    state: "warning",
    detail: `${folder} has mode ${mode.toString(8).padStart(4, "0")}: other users may read what is kept there`,
    cure: `chmod 700 ${folder}`,
  };
}

/** A context of 100 MB is written twice: into SQLite's log, and from there into the database. */
const SCARCE_BYTES = 200 * 2 ** 20;

/**
 * The reason why no file can be made in this folder, or null. Tries it, and leaves nothing behind.
 */
function writingProblem(folder: string): string | null {
  let made: string | null = null;
  try {
    made = makeFolder(folder);
    const probe = join(folder, `probe-${process.pid}`);
    writeFileSync(probe, "", { mode: 0o600 });
    rmSync(probe);
    return null;
  } catch (error) {
    return `${folder} cannot be written (${errorCode(error)})`;
  } finally {
    if (made !== null) removeEmpty(folder, made);
  }
}

/**
 * Removes a folder and those above it up to `uppermost`. One that another process has used
 * meanwhile stays.
 */
function removeEmpty(folder: string, uppermost: string): void {
  try {
    rmdirSync(folder);
    if (folder !== uppermost) removeEmpty(dirname(folder), uppermost);
  } catch {}
}

/** The key that signs what sessions keep: without it, each command needs their flags again. */
export async function checkKey(folder: string): Promise<Found> {
  const { path, isThere, problem } = openSigner(folder, process.env).look();
  if (problem !== null) {
    return { state: "warning", detail: `${path} ${problem}: settings that sessions have kept do not count` };
  }
  return { state: "ok", detail: isThere ? path : `${path} will be made when it is needed` };
}

const DATABASE = "belay.db";
/** Marks a finding that is worth saying and is not a fault. */
const INFO = "info: ";

/** Reads all that the store holds. @param place folder or URL */
export async function checkSessions(place: string, host: Host, { stderr }: Terminal): Promise<Found> {
  const problem = existsSync(join(place, DATABASE)) ? writingProblem(place) : null;
  if (problem !== null) return { state: "failed", detail: problem };
  const whole = await wholeStore(place);
  if (whole === null) return { state: "ok", detail: "none are kept yet" };
  const status = openStatusLine(stderr, processClock, { as: stderr.isTerminal ? "text" : "quiet" });
  const show = (done: string) => status.show(`reading all of ${whole.shown} …${done}`);
  show("");
  try {
    const [{ sessions }, found] = await withStore(place, host, async (store) => [
      await listReadableSessions(store),
      await findingsShown(store, show),
    ]);
    const wrong = found.filter((line) => !line.startsWith(INFO));
    if (wrong.length > 0)
      return { state: "failed", detail: [`${amount(wrong.length, "finding")}`, ...wrong].join("\n") };
    const notes = found.map((line) => line.slice(INFO.length));
    const biggest = biggestOf(sessions);
    const names = biggest.map(({ session, mb }) => `${inLine(session)} ${mb} MB`).join(", ");
    const lines = [`${countOf(sessions)}${whole.facts()}`, ...(names === "" ? [] : [`${BIGGEST}: ${names}`]), ...notes];
    return { state: "ok", detail: lines.join("\n"), biggest };
  } finally {
    status.clear();
  }
}

/** All findings. Shows which part of the store is read. */
async function findingsShown(store: Store, show: (done: string) => void): Promise<readonly string[]> {
  const found: string[] = [];
  let shown: string | null = null;
  for await (const { part, done, parts, findings } of verifyStore(store)) {
    found.push(...findings);
    if (part === shown) continue;
    shown = part;
    show(` ${PARTS[part] ?? part} (${done + 1} of ${parts})`);
  }
  return found;
}

/** Parts that people know by other words. */
const PARTS: Readonly<Partial<Record<Verified["part"], string>>> = {
  file: "the file",
  answers: "cached answers",
  sums: "sums of money",
  strays: "rows without an owner",
};

/**
 * The store that is read: its name, and facts beside its sessions once it could be read. null:
 * nothing is kept there.
 */
async function wholeStore(place: string) {
  if (isServer(place)) {
    const { version } = await lookAtServer(place);
    // The check of the server has told its version.
    return version === 0 ? null : { shown: shownPlace(place), facts: () => "" };
  }
  const path = join(place, DATABASE);
  if (!existsSync(path)) return null;
  const bytes = size(statSync(path).size);
  return { shown: `${path} (${bytes})`, facts: () => ` in a database of ${bytes}, schema ${schemaVersion(path)}` };
}

function schemaVersion(path: string): string {
  using database = new DatabaseSync(path, { readOnly: true });
  return String(database.prepare("PRAGMA user_version").get()?.user_version);
}

/** The database keeps contexts compressed, so a session may take more than all of it. */
const BIGGEST = "biggest, with contexts uncompressed and files of large ones";
const MOST_TOLD = 5;
const LEAST_BYTES = 2 ** 20;

/** The sessions that take most, the biggest first. Those of less than a MB are not told. */
function biggestOf(sessions: readonly SessionSummary[]): NonNullable<Found["biggest"]> {
  const large = sessions.filter(({ bytes }) => bytes >= LEAST_BYTES).sort((a, b) => b.bytes - a.bytes);
  return large.slice(0, MOST_TOLD).map((one) => ({ session: displayName(one), mb: +(one.bytes / 2 ** 20).toFixed(1) }));
}

/** `12 sessions (1 unfinished, 2 open)` */
function countOf(sessions: readonly SessionSummary[]): string {
  const parts = (["unfinished", "running", "open"] as const).flatMap((wanted) => {
    const count = sessions.filter(({ status }) => status === wanted).length;
    return count > 0 ? [`${count} ${wanted}`] : [];
  });
  return amount(sessions.length, "session") + (parts.length > 0 ? ` (${parts.join(", ")})` : "");
}

/** Checks the queue beside the store, and the tickets in it. A store without runs needs none. */
export async function checkQueue(url: string): Promise<Found> {
  try {
    const figures = await queueFigures(url);
    if (!figures) return { state: "ok", detail: "it will be made by the first run" };
    const queues = figures.queues.map(ticketsText);
    const age = queues.length > 0 ? "; its counts may be a minute old" : "";
    return { state: "ok", detail: [`pg-boss's schema ${figures.schemaVersion}${age}`, ...queues].join("\n") };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return { state: "warning", detail: error.message, cure: inFlags(error.suggestion) };
  }
}

const ticketsText = ({ queue, waiting, active, dead }: TicketCounts) =>
  `queue ${queue}: ${amount(waiting, "ticket waits", "tickets wait")}, ${active} active, ${dead} dead`;

/** Checks that the server of a store can be used, and that its data is safe there. */
export async function checkServer(url: string): Promise<Found> {
  const facts = await lookAtServer(url);
  const { name, schema, version, server } = facts;
  const store = version === 0 ? `the schema ${schema} will be made when it is needed` : `schema ${schema} ${version}`;
  const detail = `${name}, PostgreSQL ${server}, ${store}`;
  if (Number.parseInt(server, 10) < OLDEST_SERVER) {
    return { state: "failed", detail, cure: `use PostgreSQL ${OLDEST_SERVER} or newer` };
  }
  if (!facts.mayWrite) {
    const wanted = version === 0 ? "CREATE ON DATABASE …" : `USAGE ON SCHEMA ${schema}`;
    return { state: "failed", detail: `${detail}: the user may not use it`, cure: `GRANT ${wanted} TO the user` };
  }
  const worries = WORRIES.filter(({ isMeant }) => isMeant(facts));
  if (worries.length === 0) return { state: "ok", detail };
  const details = [detail, ...worries.map(({ what }) => what)].join("\n");
  return { state: "warning", detail: details, cure: worries.map(({ cure }) => cure).join("; ") };
}

const OLDEST_SERVER = 14;

const WORRIES = [
  {
    isMeant: ({ fsync }: ServerFacts) => !fsync,
    what: "fsync=off: a power cut can take what was committed, and damage the rest",
    cure: "set fsync = on in postgresql.conf",
  },
  {
    isMeant: ({ isOpenToOthers }: ServerFacts) => isOpenToOthers,
    what: "the connection leaves this machine without TLS: others on the way can read what is kept",
    cure: "add sslmode=verify-full to the URL",
  },
] as const;
