import { ulid } from "ulid";
import { ageFrom, amount, size } from "../figures.ts";
import { sessionLabel } from "../ids.ts";
import { forkSession, removeSession, sessionNamed } from "../session/index.ts";
import { openSigner } from "../signed-settings.ts";
import type { Collected } from "../store/index.ts";
import type { Arguments } from "./arguments.ts";
import { showingFailures } from "./failures.ts";
import type { Host } from "./host.ts";
import { withStore } from "./opened-store.ts";
import { namesIn, onlyName } from "./store-names.ts";
import { checkName, storeFolder } from "./store-options.ts";
import { ANONYMOUS_MS } from "./tidy.ts";
import { commandLine, UsageError } from "./usage.ts";

/** `belay fork`: a new session from a checkpoint of another. Prints its name, or its id. Gives the exit code. */
export function fork(args: Arguments, host: Host): Promise<number> {
  const [, session = "", checkpoint] = /^(@last|[^@]*)(?:@(.*))?$/s.exec(onlyName(args, "fork")) ?? [];
  const name = args.all("name").at(-1) ?? null;
  if (name !== null) checkName("--name", name, commandLine(["help", "fork"]));
  return showingFailures(args, async ({ stdout, stderr }) => {
    const at = Date.now();
    const folder = storeFolder(args);
    const made = await withStore(folder, host, (store) => {
      const id = ulid(at);
      const settings = openSigner(folder, process.env).forFork(id);
      const forking = { id, name, origin: "command", checkpoint: checkpoint || null, at, settings } as const;
      return forkSession(store, session, forking);
    });
    if (args.has("json")) return stdout.writeRaw(`${JSON.stringify({ success: true, session: made })}\n`);
    const called = sessionLabel(made);
    stdout.write(`${called}\n`);
    const store = args.all("store").flatMap((folder) => ["--store", folder]);
    const next = made.status === "unfinished" ? ["resume", called] : ["exec", "FILE", "--session", called];
    if (stderr.isTerminal) stderr.write(`continue with: ${commandLine([...next, ...store])}\n`, "dim");
  });
}

/** `belay rm`: drops sessions; none where one of the names is wrong. Gives the exit code. */
export function rm(args: Arguments, host: Host): Promise<number> {
  const names = namesIn(args);
  if (names.length === 0) throw new UsageError("name a session; belay sessions lists them", commandLine(["sessions"]));
  return showingFailures(args, async ({ stdout }) => {
    await withStore(storeFolder(args), host, async (store) => {
      const ids: string[] = [];
      for (const name of names) ids.push((await sessionNamed(store, name)).id);
      for (const id of new Set(ids)) {
        const removed = await removeSession(store, id);
        stdout.write(`removed ${sessionLabel(removed)} (${size(removed.bytes)})\n`);
      }
    });
  });
}

/** `belay gc`: drops what nothing reaches, and sessions that are old enough. Gives the exit code. */
export function gc(args: Arguments, host: Host): Promise<number> {
  const older = args.all("older-than").at(-1);
  const namedMs = older === undefined ? null : ageFrom(older);
  if (namedMs === undefined) {
    throw new UsageError(
      `--older-than is ${older || "empty"}: it takes an age such as 30d, 12h or 2w`,
      commandLine(["help", "gc"]),
    );
  }
  const [pi, dryRun] = [args.has("pi"), args.has("dry-run")];
  if (pi && namedMs === null) {
    throw new UsageError(
      "--pi needs an age: --older-than 30d",
      commandLine(["gc", "--pi", "--older-than", "30d", "--dry-run"]),
    );
  }
  const rule = { now: Date.now(), anonymousMs: ANONYMOUS_MS, namedMs, pi, dryRun };
  return showingFailures(args, async ({ stdout }) => {
    const collected = await withStore(storeFolder(args), host, (store) => store.collect(rule));
    if (args.has("json")) stdout.writeRaw(`${JSON.stringify({ success: true, dry_run: dryRun, ...collected })}\n`);
    else stdout.write(collectedText(collected, dryRun));
  });
}

function collectedText({ sessions, checkpoints, contexts, cached, bytes }: Collected, dryRun: boolean): string {
  const went = [
    ...(sessions.length > 0 ? [amount(sessions.length, "session")] : []),
    ...(checkpoints > 0 ? [amount(checkpoints, "checkpoint")] : []),
    ...(contexts > 0 ? [amount(contexts, "context")] : []),
    ...(cached > 0 ? [amount(cached, "cached answer")] : []),
  ];
  if (went.length === 0 && bytes === 0) return "nothing to drop\n";
  const listed = sessions.map((name) => `${dryRun ? "would drop" : "dropped"} ${name}\n`).join("");
  const verb = dryRun ? "would drop" : "dropped";
  return `${listed}${verb} ${went.join(", ") || "nothing"}; ${dryRun ? "about " : ""}${size(bytes)} ${dryRun ? "would be" : "were"} given back\n`;
}
