import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseJson } from "../../src/platform/json.ts";
import { type ScriptedAnswer, type SeenRequest, startModelServer } from "../../tests/support/model-server.ts";
import { type Finished, run } from "../process.ts";
import { write } from "./drive.ts";
import { answerWith } from "./model.ts";

/** A program that answers agents of a workflow, by the entry that `belay workflow --init` writes. */
interface WorkflowAgent {
  /** Its package on npm, and the program in it. */
  readonly package: string;
  readonly program: string;
  /** Default: the newest. */
  readonly release?: string;
  /** Its files by their path in the home folder. @param url of its model's server */
  files(url: string): Readonly<Record<string, string>>;
  /** The answer of its provider when the account has reached a limit. */
  limit(resetsAt: number): object;
  /** What it tells of the tokens and dollars of one answer; null: nothing, so that no tokens are counted without a limit of them. */
  readonly told: { readonly tokens: number; readonly hasDollars: boolean } | null;
}

export const WORKFLOW_AGENTS: Readonly<Record<string, WorkflowAgent>> = {
  claude: {
    package: "@anthropic-ai/claude-code",
    program: "claude",
    files: (url) => ({
      ".claude/settings.json": JSON.stringify({
        env: {
          ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ""),
          ANTHROPIC_API_KEY: "k",
          CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        },
      }),
    }),
    limit: () => ({ type: "rate_limit_error", message: "You've hit your session limit · resets 3pm" }),
    told: { tokens: 120, hasDollars: true },
  },
  codex: {
    package: "@openai/codex",
    program: "codex",
    files: (url) => ({
      ".codex/config.toml": `model = "m"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\nbase_url = "${url}"\nwire_api = "responses"\nrequest_max_retries = 0\n`,
    }),
    limit: (resets_at) => ({ type: "usage_limit_reached", message: "limit", plan_type: "plus", resets_at }),
    told: { tokens: 120, hasDollars: false },
  },
  pi: {
    package: "@earendil-works/pi-coding-agent",
    // The newest that npm installs with what it needs.
    release: "0.87.1",
    program: "pi",
    files: (baseUrl) => ({
      ".pi/agent/settings.json": JSON.stringify({
        defaultProvider: "mock",
        defaultModel: "scripted",
        retry: { enabled: false },
      }),
      ".pi/agent/models.json": JSON.stringify({
        providers: {
          mock: {
            ...{ baseUrl, api: "openai-completions", apiKey: "k" },
            models: [{ id: "scripted", contextWindow: 128_000, maxTokens: 4096 }],
          },
        },
      }),
    }),
    limit: () => ({ message: "You have hit your ChatGPT usage limit (plus plan). Try again in ~60 min." }),
    told: null,
  },
};

const META = (name: string) => `export const meta = { name: "${name}", description: "asks a real program" };\n`;

const ANSWERS = `${META("answers")}
const schema = { type: "object", properties: { kind: { enum: ["praise", "blame"] }, note: { type: "string" } }, required: ["kind"] };
return [
  await agent("TASK-text: say four", { effort: "high" }),
  await agent("TASK-value: say the kind", { schema }),
  await agent("TASK-plain: is it so?", { schema: { type: "boolean" } }),
  await agent("/help TASK-slash"),
  await agent("TASK-broken: say four"),
];`;

const WAITS = `${META("waits")}return [await agent("TASK-limited: say four"), await agent("TASK-held: say four")];`;

interface Place {
  /** A folder of its own. */
  readonly folder: string;
  /** The folder with the agent's program. */
  readonly bin: string;
  /** The command `belay`, with what stands before its arguments. */
  readonly belay: readonly string[];
}

/**
 * Has a program answer agents of a workflow in each way: text, value, failure, a limit of its account, and while Belay is killed.
 *
 * @throws Error that says what went otherwise
 */
export async function workIn(name: string, agent: WorkflowAgent, { folder, bin, belay }: Place): Promise<void> {
  const asked: string[] = [];
  const held = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  let isLimited = true;
  const limit = agent.limit(Math.floor(Date.now() / 1000) + 3600);
  await using model = await startModelServer(async (request) => {
    const task = taskOf(request);
    asked.push(task);
    if (!isTaken(schemaOf(request))) return refusal(400, { type: "invalid_request_error", message: "such a schema" });
    if (task === "broken") return refusal(400, { type: "invalid_request_error", message: "the model is broken" });
    if (task === "limited" && isLimited) return refusal(429, limit);
    if (task === "held") {
      isHeld.resolve();
      await held.promise;
    }
    return answerWith(request, SAID[task] ?? "four");
  });
  const [home, work] = [join(folder, "home"), join(folder, "work")];
  for (const [path, text] of Object.entries(agent.files(model.url))) await write(join(home, path), text);
  await write(join(work, "answers.js"), ANSWERS);
  await write(join(work, "waits.js"), WAITS);
  const PATH = [bin, process.env.PATH].join(delimiter);
  const env = { PATH, HOME: home, BELAY_HOME: join(folder, "store"), LANG: "C.UTF-8" };
  const [command = "", ...before] = belay;
  const runs = (...words: readonly string[]) => run(command, [...before, ...words], { cwd: work, env });

  expectEnd(await runs("workflow", "--init", name), 0);
  const first = await runs("workflow", "answers.js", "--agent", name, "--json");
  expectEnd(first, 1);
  const { result_json, run: made }: Told = JSON.parse(first.stdout);
  expectSame(result_json, ["four", { kind: "praise" }, true, "four", null], "the answers");
  if (!first.stdout.includes("the model is broken")) throw new Error(`the failure is not told: ${first.output}`);
  const { session }: Shown = JSON.parse((await runs("show", made, "--json")).stdout);
  const [call] = session.execs.flatMap(({ calls }) => calls);
  const { tokens = 0, hasDollars = false } = agent.told ?? {};
  expectSame([call?.tokens, Number(call?.cost_usd) > 0], [tokens, hasDollars], "tokens, and whether dollars are told");

  const waits = ["workflow", "waits.js", "--agent", name, "--json"];
  const limited = await runs(...waits);
  expectEnd(limited, 3);
  const { error_code, retry_at }: Told = JSON.parse(limited.stdout);
  expectSame([error_code, typeof retry_at], ["rate_limited", "number"], "the limit, and when it ends");
  isLimited = false;
  const child = spawn(command, [...before, ...waits], { cwd: work, env, stdio: "ignore" });
  const gone = once(child, "exit");
  await Promise.race([isHeld.promise, gone.then(() => Promise.reject(new Error("it ended before its agent asked")))]);
  child.kill("SIGKILL");
  await gone;
  const again = runs(...waits);
  held.resolve();
  expectEnd(await again, 0);
  const ended: Told = JSON.parse((await again).stdout);
  expectSame(ended.result_json, ["four", "four"], "the answers after the kill");
  const times = (task: string) => asked.filter((each) => each === task).length;
  expectSame([times("text"), times("slash"), times("held")], [1, 1, 1], "how often agents were asked");
}

const SAID: Readonly<Record<string, string | object>> = { value: { kind: "praise", note: null }, plain: "true" };

interface Told {
  readonly result_json?: unknown;
  readonly error_code?: string;
  readonly retry_at?: number;
  readonly run: string;
}

interface Shown {
  readonly session: { readonly execs: readonly { readonly calls: readonly Taken[] }[] };
}

interface Taken {
  readonly tokens: number;
  readonly cost_usd: number;
}

/** The task that the newest prompt of a request names. */
function taskOf({ sent }: SeenRequest): string {
  return Array.from(sent.matchAll(/TASK-(\w+)/g)).at(-1)?.[1] ?? "";
}

/** The schema that a request has the model keep to; undefined: none. */
function schemaOf({ sent }: SeenRequest): unknown {
  const { tools, text } = Object(parseJson(sent));
  const tool: unknown = Array.isArray(tools) ? tools.find(({ name }) => name === "StructuredOutput") : undefined;
  return Reflect.get(Object(tool), "input_schema") ?? Reflect.get(Object(text?.format), "schema");
}

/** Providers take objects alone. OpenAI wants them closed, and each of their properties required. */
function isTaken(schema: unknown): boolean {
  const { type, properties, required, additionalProperties } = Object(schema);
  if (schema === undefined) return true;
  return type === "object" && additionalProperties === false && Object.keys(properties).length === required?.length;
}

function refusal(status: number, error: object): ScriptedAnswer {
  // Claude Code would send it again for minutes.
  return { status, headers: { "x-should-retry": "false" }, body: JSON.stringify({ type: "error", error }) };
}

function expectEnd({ code, output }: Finished, wanted: number): void {
  if (code !== wanted) throw new Error(`belay ended with ${code}, not ${wanted}: ${output.slice(-1_000)}`);
}

function expectSame(found: unknown, wanted: unknown, what: string): void {
  if (isDeepStrictEqual(found, wanted)) return;
  throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`);
}
