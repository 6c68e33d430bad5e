import { spawn } from "node:child_process";
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";

// A command that answers as programs of agents do. Its prompt (standard input, or the word behind
// --prompt) is a JSON script of what it does, in the order of the fields below; other prompts are
// answered with `answer to: PROMPT`. BEGUN and ENDED lines go to the file of BELAY_AGENT_LOG, each
// with the agent's key, so that tests can count the starts.

export interface Script {
  /** Time until it prints, ms. */
  readonly ms?: number;
  /** It works until it is killed. */
  readonly hangs?: boolean;
  /** It does not end at SIGTERM. */
  readonly ignoresTerm?: boolean;
  /** It prints this many bytes, or without an end, to one of its outputs. */
  readonly floods?: "stdout" | "stderr";
  readonly bytes?: number;
  /** Text of standard error. */
  readonly err?: string;
  /** Text before its answer. */
  readonly prose?: string;
  /** Printed as it is, in place of an answer: a text, or bytes as hex. */
  readonly raw?: string;
  readonly hex?: string;
  /** A file that it writes into its folder, with this text. */
  readonly writes?: readonly [name: string, text: string];
  /** It starts a process that leaves its group and works so long, ms. */
  readonly leaves?: number;
  /** Shell commands that it runs in its folder. */
  readonly runs?: string;
  /** The answer: a text, or with --form json a structured value. */
  readonly says?: string;
  readonly value?: unknown;
  /** The form of what it prints: as `claude -p --output-format json`, as `codex exec --json`, or a text. */
  readonly form?: "json" | "lines" | "text";
  readonly tokens?: readonly [input: number, output: number];
  readonly usd?: number;
  /** Prints that it has failed. */
  readonly fails?: boolean;
  readonly code?: number;
  /** The signal that it ends itself with. */
  readonly dies?: "SIGKILL" | "SIGSEGV" | "SIGTERM";
}

/** Of its call: without what tells one start from another. */
const key = (process.env.BELAY_AGENT ?? "").replace(/\/[^/]*$/, "");
const log = process.env.BELAY_AGENT_LOG ?? "";
const note = (what: string) => {
  if (log !== "") appendFileSync(log, `${what} ${key} ${process.pid}\n`);
};
note("BEGUN");

const words = process.argv.slice(2);
const after = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined);
const prompt = after("--prompt") ?? readFileSync(0, "utf8");
const script = scriptOf(prompt);
await perform(script);

/** The first line that is an object: a call with a schema has more text behind its prompt. */
function scriptOf(text: string): Script {
  for (const line of text.split("\n")) {
    if (!line.startsWith("{")) continue;
    try {
      return JSON.parse(line);
    } catch {
      // Not a script.
    }
  }
  return { says: `answer to: ${text.split("\n", 1)[0]}` };
}

async function perform(script: Script): Promise<void> {
  if (script.ignoresTerm) process.on("SIGTERM", () => note("TERM"));
  if (script.leaves !== undefined) leave(script.leaves);
  if (script.writes) writeFileSync(script.writes[0], script.writes[1]);
  if (script.runs !== undefined) await shell(script.runs);
  if (script.ms !== undefined) await new Promise((resolve) => setTimeout(resolve, script.ms));
  if (script.err !== undefined) process.stderr.write(script.err);
  if (script.floods) await flood(script.floods, script.bytes ?? Number.POSITIVE_INFINITY);
  if (script.hangs) await new Promise(() => setInterval(() => {}, 1000));
  await printed(script);
  note("ENDED");
  if (script.dies) process.kill(process.pid, script.dies);
  process.exitCode = script.code ?? (script.fails ? 1 : 0);
}

function leave(ms: number): void {
  const body = `require("fs").appendFileSync(${JSON.stringify(log)}, "LEFT ${key} " + process.pid + "\\n"); setTimeout(() => {}, ${ms})`;
  spawn(process.execPath, ["-e", body], { detached: true, stdio: "ignore" }).unref();
}

function shell(line: string): Promise<void> {
  return new Promise((resolve) => spawn("sh", ["-c", line], { stdio: "ignore" }).on("exit", () => resolve()));
}

async function flood(where: "stdout" | "stderr", bytes: number): Promise<void> {
  const chunk = "x".repeat(65_536);
  for (let sent = 0; sent < bytes; sent += chunk.length) {
    const part = chunk.slice(0, Math.min(chunk.length, bytes - sent));
    await new Promise((resolve) => process[where].write(part, resolve));
  }
}

async function printed(script: Script): Promise<void> {
  const text = script.prose ?? "";
  const answer =
    script.hex !== undefined ? Buffer.from(script.hex, "hex") : Buffer.from(script.raw ?? answerOf(script));
  await new Promise<void>((resolve) =>
    process.stdout.write(Buffer.concat([Buffer.from(text), answer]), () => resolve()),
  );
}

function answerOf({ says = "done", value, form, tokens = [10, 5], usd = 0.01, fails = false }: Script): string {
  const [input_tokens, output_tokens] = tokens;
  const usage = { input_tokens, output_tokens };
  switch (form ?? after("--form") ?? "text") {
    case "json":
      return JSON.stringify({
        type: "result",
        is_error: fails,
        result: says,
        ...(value === undefined ? {} : { structured_output: value }),
        total_cost_usd: usd,
        usage,
      });
    case "lines":
      return [
        { type: "thread.started", thread_id: "t" },
        {
          type: "item.completed",
          item: { type: "agent_message", text: value === undefined ? says : JSON.stringify(value) },
        },
        fails ? { type: "turn.failed", error: { message: says } } : { type: "turn.completed", usage },
      ]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join("");
    default:
      return value === undefined ? says : JSON.stringify(value);
  }
}
