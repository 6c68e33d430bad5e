import { ageFrom, amount, size } from "../../figures.ts";
import type { Collected } from "../../store/index.ts";
import type { Arguments } from "../flags/arguments.ts";
import { storeFolder } from "../flags/store-flags.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import type { Host } from "../host.ts";
import { ANONYMOUS_MS } from "./daily-gc.ts";
import { showingFailures, withStore } from "./opened-store.ts";

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
    const collected = await withStore(storeFolder(args), host, (store) => store.gc(rule));
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
