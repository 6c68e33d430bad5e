import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { COMPILED } from "../command.ts";

/** Shows Belay that its first notice was seen. It is written here, since to import it loads all that draws in Pi. */
export const FIRST_RUN_FILE = "pi-first-run";

/** Folders of a user who has started Pi once before. Pi, and its store, see no others. */
export interface PiHome extends Disposable {
  /** Where Pi is started. */
  readonly project: string;
  /** Pi's settings. */
  readonly agent: string;
  /** Belay's store. */
  readonly belay: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface PiHomeOptions {
  /** Base URL of the model server. */
  readonly url: string;
  /** Text files of the project, by relative path. */
  readonly files: Readonly<Record<string, string>>;
  /** `belay.json` of the agent folder. */
  readonly settings?: object;
  /** What differs in Pi's own settings. */
  readonly piSettings?: object;
  /** Tokens of the model's window; default: 128,000. */
  readonly window?: number;
  /** Further models of the provider, by id: what differs in them. */
  readonly models?: Readonly<Record<string, object>>;
}

/** A home whose model is `mock/scripted`; removed when it is disposed of. */
export function piHome({ url, files, settings, piSettings, window = 128_000, models = {} }: PiHomeOptions): PiHome {
  // Free of symlinks, as the loader sees it.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "belay-pi-")));
  const [project, agent, belay] = [join(folder, "project"), join(folder, "agent"), join(folder, "belay")];
  write(join(agent, "models.json"), JSON.stringify({ providers: { mock: providerAt(url, window, models) } }));
  write(join(agent, "settings.json"), JSON.stringify({ ...PI_SETTINGS, ...piSettings }));
  write(join(belay, FIRST_RUN_FILE), "");
  if (settings) write(join(agent, "belay.json"), JSON.stringify(settings));
  for (const [path, text] of Object.entries(files)) write(join(project, path), text);
  const kept = Object.entries(process.env).filter(([name]) => !/^(PI|PRIME_AGENT|BELAY)_|_API_KEY$/.test(name));
  const sessions = join(folder, "sessions");
  const env = {
    ...Object.fromEntries(kept),
    ...{ HOME: folder, BELAY_HOME: belay, PI_CODING_AGENT_DIR: agent, NODE_COMPILE_CACHE: COMPILED },
    ...{ PI_CODING_AGENT_SESSION_DIR: sessions, PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" },
    // Prime Agent, a fork of Pi, has variables of its own beside these.
    ...{ PRIME_AGENT_CODING_AGENT_DIR: agent, PRIME_AGENT_SESSION_DIR: sessions, PRIME_AGENT_TELEMETRY: "0" },
  };
  return {
    ...{ project, agent, belay, env },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function providerAt(url: string, window: number, others: Readonly<Record<string, object>>): object {
  const scripted = {
    ...{ id: "scripted", name: "Scripted", reasoning: false, input: ["text"], contextWindow: window },
    ...{ maxTokens: 4096, cost: { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 } },
  };
  const models = [scripted, ...Object.entries(others).map(([id, differs]) => ({ ...scripted, id, ...differs }))];
  return { baseUrl: url, api: "openai-completions", apiKey: "key-of-the-user-123", models };
}

const PI_SETTINGS = {
  ...{ defaultProvider: "mock", defaultModel: "scripted", quietStartup: true, enableInstallTelemetry: false },
  ...{ retry: { enabled: false }, compaction: { enabled: false, keepRecentTokens: 1 } },
};
