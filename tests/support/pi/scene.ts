import { join } from "node:path";
import { ROOT } from "../../../scripts/process.ts";
import { TEST_EXTENSION } from "../command.ts";
import { type PiHome, type PiHomeOptions, piHome } from "./home.ts";
import { type PiModel, type PiModelOptions, startPiModel } from "./model.ts";
import { entriesIn, type Pi, type PiEntry, type PiLine, startPi } from "./process.ts";

/** The product's extension, as it stands in the checkout. */
export const EXTENSION = join(ROOT, "src/pi/index.ts");

/** A model, and a home in which Pi processes talk to it; disposing of it ends and removes them all. */
export interface PiScene extends AsyncDisposable {
  readonly model: PiModel;
  readonly home: PiHome;
  /** Starts Pi with the tests' extension, on this session file or a new one. */
  start(session?: string, env?: NodeJS.ProcessEnv): Pi;
}

export async function piScene(
  line: PiLine,
  { delayMs, says, callId, ...options }: Omit<PiHomeOptions, "url"> & PiModelOptions,
): Promise<PiScene> {
  const model = await startPiModel({
    ...(delayMs ? { delayMs } : {}),
    ...(says ? { says } : {}),
    ...(callId ? { callId } : {}),
  });
  const home = piHome({ ...options, url: model.url });
  const started: Pi[] = [];
  return {
    model,
    home,
    start(session, env = {}) {
      const going = session === undefined ? {} : { session };
      const pi = startPi(line, { home, extensions: [TEST_EXTENSION], env, ...going });
      started.push(pi);
      return pi;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((pi) => pi.kill()));
      await model[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

/** Has a process load the project into a new session. Answers it and the session's file. */
export async function loadedIn({ model, home, start }: PiScene): Promise<{ readonly pi: Pi; readonly file: string }> {
  const pi = start();
  await pi.prompt(model.plan("load", { tool: "rlm_load", args: { path: home.project } }));
  return { pi, file: await pi.sessionFile() };
}

/** A call of rlm_exec. */
export function exec(code: string, limits?: object) {
  return { tool: "rlm_exec", args: { code, ...(limits ? { limits_override: limits } : {}) } };
}

/** Tool results of a session file, by the id of their call: the text of each, in the order of the file. */
export function resultsOnDisk(file: string): ReadonlyMap<string, readonly string[]> {
  const results = new Map<string, string[]>();
  for (const { message } of entriesIn(file)) {
    if (message?.role !== "toolResult" || message.toolCallId === undefined) continue;
    const known = results.get(message.toolCallId) ?? [];
    results.set(message.toolCallId, [...known, JSON.stringify(message.content)]);
  }
  return results;
}

/** Entries of ours in a session file. */
export function mirrored(file: string, record: string): readonly PiEntry[] {
  return entriesIn(file).filter(({ type, customType }) => type === "custom" && customType === record);
}
