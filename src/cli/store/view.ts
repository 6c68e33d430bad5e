import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { hasCode } from "../../../runtime/index.ts";
import type { RlmError } from "../../index.ts";
import { temporaryFolder } from "../../platform/make-folder.ts";
import { version } from "../../platform/version.ts";
import { jobsIn, jobsOf, openReadableJobs, stateOf } from "../../runs/index.ts";
import type { RunRow, Store } from "../../store/index.ts";
import { withoutPasswords } from "../../store/store-place.ts";
import {
  type ListedJob,
  listedJob,
  pageSource,
  type Served,
  type Subject,
  serveView,
  sessionSubject,
  traceOfRun,
} from "../../view/index.ts";
import { jobsLine, type RunStore, runStore } from "../batch/run-command.ts";
import type { Host } from "../commands/define.ts";
import type { ViewFlags } from "../commands/view.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { runNamed } from "../jobs/jobs-request.ts";
import { damageError, outcomeOf } from "../render/failure.ts";
import type { Output, Terminal } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { onSignals } from "../stop.ts";
import { requestedSession, showingDamage, withStore } from "./open-store.ts";
import { checkPageFile, MAX_MB, writePage } from "./page-file.ts";

/** ms without a visitor after which the server ends. */
const IDLE = 3_600_000;

/**
 * `belay view`: a session or a run as a page. Gives the exit code: 1 also if some of it is damaged.
 */
export function viewCommand(args: Arguments, host: Host, own: ViewFlags): Promise<number> {
  const names = args.positionals;
  if (names.length > 2) {
    const line = commandLine(["view", ...names.slice(0, 2)]);
    throw new UsageError("view takes a session, and one to compare it with", line);
  }
  const { output } = own;
  if (output !== undefined) checkPageFile(output, commandLine(["view", "-o", "trace.html"]));
  const maxBytes = (own.maxMb ?? MAX_MB) * 2 ** 20;
  const place = runStore(args);
  const store = commandLine(place.flags).slice("belay".length);
  const tracing = { texts: !own.noTexts, maxBytes, belay: version(), store };
  return showingDamage(args, async (terminal, tell) => {
    await withStore(place.place, host, async (store) => {
      const { subject, cure } = await pageSubject(store, names, place, terminal.stderr);
      if (output === undefined && !args.get(OUTPUT_FLAGS.json)) {
        const serving = { subject, tracing, source: await pageSource(), now: Date.now, wording, idleMs: IDLE };
        const served = await serveView(serving);
        tell(damageError(served.damaged, cure));
        await untilEnd(served, own, terminal);
        return;
      }
      const { trace, damaged } = await subject.look({ ...tracing, now: Date.now() });
      const damage = damageError(damaged, cure);
      tell(damage);
      const summary = { ...outcomeOf(damage), trace: { ...trace.head, calls: trace.rows } };
      if (output !== undefined) await writePage(output, trace, terminal, "--no-texts leaves them out");
      else terminal.stdout.json(summary);
    });
  });
}

const RUN = "run:";

/**
 * The subject of a page; without a name the session changed last. A name that is both is the
 * session's.
 *
 * @throws RlmError, UsageError
 */
async function pageSubject(store: Store, [name, against]: readonly string[], place: RunStore, stderr: Output) {
  const nameOf = (typed: string) => (typed.startsWith(RUN) ? typed.slice(RUN.length) : typed);
  const named = (typed: string | undefined) => requestedSession(store, typed ?? null, place, stderr);
  const row = name?.startsWith(RUN)
    ? null
    : await named(name).catch(async (error) => {
        const isNone = hasCode(error, "session_not_found");
        if (isNone && name && (await store.jobs.run(name))) return null;
        throw error;
      });
  if (row) {
    const label = name?.includes("/") ? name : undefined;
    return { subject: sessionSubject(store, row.id, label, against ? (await named(against)).id : null), cure: {} };
  }
  const run = await runNamed(store, nameOf(name ?? ""), place);
  if (against) {
    const line = commandLine(["show", run.name, "--against", nameOf(against), ...place.flags]);
    throw new UsageError(`view compares sessions, and ${run.name} is a run`, line);
  }
  const cure = `\`${jobsLine({ place }, "rm", run.name)}\` drops the run with all its jobs`;
  return { subject: runSubject(store, run, place), cure: { cure } };
}

/** A run, of which the first jobs are shown. */
function runSubject(store: Store, { id, name }: RunRow, place: RunStore): Subject {
  async function counted() {
    const run = await runNamed(store, id, place);
    const jobs = openReadableJobs(store.jobs, run);
    return { run, jobs, counts: await jobs.counts() };
  }

  return {
    key: id,
    async stamp() {
      const { run, counts } = await counted();
      return { stamp: JSON.stringify([run, counts]), isBusy: counts.workers > 0 };
    },
    async look(tracing) {
      const { run, jobs, counts } = await counted();
      const listed: ListedJob[] = [];
      for await (const job of jobsOf(jobs.list)) {
        if (listed.push(listedJob(job)) === MOST_JOBS) break;
      }
      const damaged = jobs.damaged().map(({ problem }) => problem);
      const more = Math.max(0, jobsIn(counts) - listed.length);
      const look = { run, state: stateOf({ run, counts }), jobs: listed, more, damaged };
      return { trace: traceOfRun(look, tracing), damaged };
    },
    async job(number) {
      const [job] = await store.jobs.list(id, { among: [number], from: 0, limit: 1 });
      return job ? sessionSubject(store, job.session, `${name}/${job.id}`) : null;
    },
  };
}

/** Jobs that a page has at most. */
const MOST_JOBS = 100_000;

const wording = ({ message, suggestion }: RlmError) => withoutPasswords(`${message}. ${inFlags(suggestion)}`);

/** Shows the page until a signal or the end of an idle hour. */
async function untilEnd(served: Served, own: ViewFlags, { stdout, stderr }: Terminal): Promise<void> {
  using _signals = onSignals(served.close);
  stdout.write(`${served.url}\n`);
  stderr.write("Whoever has this address sees the session. Ctrl-C ends it.\n", "dim");
  const tunnel = tunnelTo(served.url);
  if (tunnel) stderr.write(`It is an address of this computer. On yours, type this first: ${tunnel}\n`, "dim");
  using _opened = own.noOpen || !stdout.isTerminal ? null : openBrowser(served.url);
  await served.ended;
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  linux: ["xdg-open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens a secret address in the user's browser, if there is a display on this computer. The list of
 * processes shows what a program is started with, so the browser is led there by a file of the
 * user's alone. It goes when this is disposed.
 */
export function openBrowser(url: string, env = process.env, platform = process.platform): Disposable | null {
  const [command, ...args] = OPENERS[platform] ?? [];
  const isRemote = env.SSH_CONNECTION !== undefined || env.SSH_TTY !== undefined;
  const hasDisplay = platform !== "linux" || Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
  if (command === undefined || isRemote || !hasDisplay) return null;
  const folder = temporaryFolder("belay-view-");
  const file = join(folder.path, "open.html");
  const page = `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${url}">`;
  writeFileSync(file, page, { mode: 0o600 });
  const opener = spawn(command, [...args, pathToFileURL(file).href], { stdio: "ignore", detached: true, env });
  // The address is printed too.
  opener.on("error", () => {});
  opener.unref();
  return folder;
}

/**
 * The line that leads a port of the user's own computer to the address, if the user came by SSH,
 * else null.
 */
export function tunnelTo(url: string, { SSH_CONNECTION } = process.env): string | null {
  // The client's address and port, then the server's.
  const [, , server] = SSH_CONNECTION?.split(" ") ?? [];
  const { host, port } = new URL(url);
  return server ? `ssh -N -L ${port}:${host} ${server}` : null;
}
