import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, realpathSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ExecEnvelope, ExecOptions, LoadingOptions, LoadSource, Session } from "../../src/index.ts";
import type { Host } from "../../src/session/env.ts";
import type { HostedOptions } from "../../src/session/option-types.ts";
import { openSessionWith } from "../../src/session/session.ts";
import { type ModelScript, type ModelServer, startModelServer } from "../../tests/support/model-server.ts";
import { openWatch } from "./watch.ts";

/** The value of a variable and of a key, which nothing may show. */
export const CANARY = "canary-7f3a91";
export const KEY_VARIABLE = "BELAY_ATTACK_KEY";

export interface Bounds {
  /** Time limit of execs that may not end by themselves, ms; of those that do on a machine that is not busy. */
  readonly limitMs: number;
  readonly patientMs: number;
  readonly memoryMb: number;
  /** Times that a case which runs again and again does so, at the most. */
  readonly times: number;
}

/** The place of one attack: what it opens is closed after it, and what it gets is kept for the invariants. */
export interface Stage extends AsyncDisposable {
  readonly bounds: Bounds;
  /** An empty folder of its own. */
  readonly folder: string;
  open(options?: HostedOptions, host?: Host): Promise<Session>;
  /** From now on sessions ask a server that answers so. */
  model(script: ModelScript): Promise<ModelServer>;
  load(session: Session, source: LoadSource, options?: LoadingOptions): Promise<void>;
  /** Runs a cell. It is too late if it returns later than a second after its limit, unless it waits for models. */
  exec(session: Session, code: string, options?: ExecOptions): Promise<ExecEnvelope>;
  /** Runs what an attack does beside cells, so that it is watched too; an error is told and given back. */
  attempt(run: () => unknown): Promise<unknown>;
  seen(): Seen;
}

export interface Seen {
  /** All that came out of sessions. */
  readonly told: readonly string[];
  /** Execs that returned too late, in words. */
  readonly late: readonly string[];
  /** Sessions that were opened. */
  readonly sessions: number;
  /** Bytes of the largest context. */
  readonly contextBytes: number;
  /** Most resident memory, bytes; the main loop's 99th percentile of delay, ms. */
  readonly rssBytes: number;
  readonly delayMs: number;
}

/** Time after its limit in which an exec returns, ms. */
const RETURN_MS = 1000;

export function openStage(bounds: Bounds): Stage {
  const watch = openWatch();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-attack-")));
  const sessions: Session[] = [];
  const servers: ModelServer[] = [];
  const told: string[] = [];
  const late: string[] = [];
  let contextBytes = 0;

  function tell<T>(value: T): T {
    told.push(
      value instanceof Error ? JSON.stringify({ ...value, message: value.message }) : (JSON.stringify(value) ?? ""),
    );
    return value;
  }

  async function open(options: HostedOptions = {}, host: Host = {}): Promise<Session> {
    const { memoryMb, limitMs } = bounds;
    const server = servers.at(-1);
    const model = server ? { model: "local/attack", baseUrl: server.url, apiKeyEnv: KEY_VARIABLE } : {};
    const limits = { max_execution_ms: limitMs };
    const session = await openSessionWith({ cwd: folder, memoryMb, limits, ...model, ...options }, host);
    sessions.push(session);
    return session;
  }

  return {
    bounds,
    folder,
    open,
    async model(script) {
      const server = await startModelServer(script, ["attack"]);
      servers.push(server);
      return server;
    },
    async load(session, source, options) {
      const { stats } = await watch.during(() => session.load(source, options));
      contextBytes = Math.max(contextBytes, 2 * stats.length_chars);
    },
    async exec(session, code, options) {
      const begun = performance.now();
      const done = await watch.during(() => session.exec(code, options));
      const ms = performance.now() - begun;
      const limit = done.limits_applied.max_execution_ms;
      if (ms > limit + RETURN_MS && servers.length === 0) late.push(`returned after ${Math.round(ms)} ms of ${limit}`);
      return tell(done);
    },
    async attempt(run) {
      return tell(await watch.during(async () => run()).catch((error: unknown) => error));
    },
    seen: () => ({ sessions: sessions.length, told, late, contextBytes, ...watch.seen() }),
    async [Symbol.asyncDispose]() {
      for (const session of sessions) await session.close().catch(() => {});
      for (const server of servers) await server.close();
      // Most attacks leave no file. Folders may nest too deep for Node's own removal.
      if (readdirSync(folder).length === 0) rmdirSync(folder);
      else execFileSync("rm", ["-rf", folder]);
    },
  };
}
