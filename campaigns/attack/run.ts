import { DEFAULT_EXEC_LIMITS, LIMITS } from "../../runtime/index.ts";
import { ROOT } from "../../scripts/process.ts";
import type { Session } from "../../src/index.ts";
import type { Attack } from "./attack.ts";
import { type Bounds, CANARY, openStage, type Seen, type Stage } from "./stage.ts";

export interface Verdict {
  readonly id: string;
  readonly class: string;
  readonly title: string;
  /** Reasons; none: it held. */
  readonly fell: readonly string[];
  /** Reasons that a busy machine may have made: returns and delays. */
  readonly late: readonly string[];
  readonly ms: number;
  readonly rssBytes: number;
  readonly delayMs: number;
}

export interface Judging extends Bounds {
  /** The most that the process may take without guests and P, bytes, if it does not take more before the attack. */
  readonly hostBytes: number;
}

const MB = 2 ** 20;
/** Delay of the main loop, 99th percentile, ms. */
const DELAY_MS = 100;
/** What a message has beside the text of a thrown error: its name, and that it was cut. */
const MESSAGE_SLACK_UNITS = 200;

/** Does what is hostile, then looks whether everything that must hold still does. */
export async function runAttack(attack: Attack, judging: Judging): Promise<Verdict> {
  const begun = performance.now();
  const intrinsics = intrinsicsOf();
  const hostBytes = Math.max(judging.hostBytes, process.memoryUsage.rss());
  await using stage = openStage(judging);
  let session: Session | null = null;
  const fell = await reasonOf(async () => {
    session = await attack.run(stage);
  });
  fell.push(...(await reasonOf(() => checkNext(stage, session))));
  const seen = stage.seen();
  fell.push(...brokenIn(seen, { ...judging, hostBytes }));
  if (intrinsicsOf() !== intrinsics) fell.push("intrinsics of the host have changed");
  const { id, class: of, title } = attack;
  const slow = seen.delayMs > DELAY_MS ? [`the main loop was ${Math.round(seen.delayMs)} ms late`] : [];
  return {
    ...{ id, class: of, title, fell, late: [...seen.late, ...slow] },
    ...{ ms: performance.now() - begun, rssBytes: seen.rssBytes, delayMs: seen.delayMs },
  };
}

async function reasonOf(run: () => Promise<void>): Promise<string[]> {
  try {
    await run();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}

/** The next cell is right. */
async function checkNext(stage: Stage, of: Session | null): Promise<void> {
  const session = of ?? (await stage.open());
  const next = await stage.exec(session, "1 + 1", { limits: { max_execution_ms: stage.bounds.patientMs } });
  if (next.result_json !== 2) throw new Error(`the next cell gave ${JSON.stringify(next).slice(0, 500)}`);
}

/** Places of the host's own code, and frames of its stacks. */
const OF_HOST = /node_modules|file:\/\/|node:internal|\.ts:\d/;

function brokenIn(
  { told, sessions, contextBytes, rssBytes }: Seen,
  { hostBytes, memoryMb }: { readonly hostBytes: number; readonly memoryMb: number },
): string[] {
  const broken: string[] = [];
  const all = told.join("\n");
  const [path] = OF_HOST.exec(all) ?? (all.includes(ROOT) ? [ROOT] : []);
  if (path !== undefined) broken.push(`what came out names a place of the host: ${path}`);
  if (all.includes(CANARY)) broken.push("what came out has a secret in it");
  for (const text of told) broken.push(...unboundedIn(JSON.parse(text)));
  const most = hostBytes + sessions * 1.7 * memoryMb * MB + contextBytes;
  if (rssBytes > most) broken.push(`took ${toMb(rssBytes)} MB of ${toMb(most)}`);
  return broken;
}

function unboundedIn(told: unknown): string[] {
  if (typeof told !== "object" || told === null || !("stdout" in told && "stderr" in told)) return [];
  const output = `${told.stdout}${told.stderr}`;
  const message = "error_message" in told ? String(told.error_message) : "";
  return [
    ...(Buffer.byteLength(output) > DEFAULT_EXEC_LIMITS.max_output_bytes
      ? ["the output is longer than its limit"]
      : []),
    ...(output.isWellFormed() ? [] : ["the output is not well-formed"]),
    ...(message.length > LIMITS.errorMessageUnits + MESSAGE_SLACK_UNITS
      ? ["the message is longer than its limit"]
      : []),
  ];
}

const toMb = (bytes: number) => Math.round(bytes / MB);

function intrinsicsOf(): string {
  const all = [Object, Array, Function, Map, Promise, RegExp, String].map(({ prototype }) =>
    Reflect.ownKeys(prototype),
  );
  return all.flat().map(String).join();
}
