import { setTimeout as wait } from "node:timers/promises";
import { startServer, written } from "./llama.ts";
import { belay, expectThat, type Place, started, until } from "./place.ts";
import { startWholeAnswers } from "./whole-answers.ts";

/** Answers with what was seen. @throws Error that says what went otherwise */
type Scene = (place: Place) => Promise<string>;

const KINDS = ["complaint", "praise", "question"];
const SCHEMA = JSON.stringify({
  type: "object",
  properties: { kind: { type: "string", enum: KINDS }, urgent: { type: "boolean" } },
  required: ["kind", "urgent"],
  additionalProperties: false,
});

/** Scenes that are played under each chat template. */
export const TEMPLATE_SCENES: Readonly<Record<string, Scene>> = {
  "values by schema": (place) => valuesOf(place, "tools: []", 5),
  "a value with file tools": valueWithTools,
  "an answer that is cut": cutAnswer,
  "a full window": fullWindow,
  "an ask": ask,
};

/** Scenes about the server and the processes, which are played once. */
export const SERVER_SCENES: Readonly<Record<string, Scene>> = {
  "answers without a stream": async (place) => {
    await using proxy = await startWholeAnswers(place.server.url);
    return await valuesOf({ ...place, server: { ...place.server, url: proxy.url } }, "tools: []", 5);
  },
  "Ctrl-C": (place) => interrupted(place, "SIGINT"),
  "kill -9 of the command": (place) => interrupted(place, "SIGKILL"),
  "a command that is killed goes on": goesOn,
  "an exec over a restart of the server": execOverRestart,
  "a batch over a restart of the server": batchOverRestart,
};

/** A cell that asks for so many values at once. */
function valueCell(options: string, count: number): string {
  const parts = [options, `schema: ${SCHEMA}`].filter((part) => part !== "").join(", ");
  return `await Promise.all(Array.from({ length: ${count} }, (_, n) =>
    llm_query("Of what kind is letter " + n + "?", { ${parts} }).catch((error) => error.code + ": " + error.message)))`;
}

async function valuesOf(place: Place, options: string, count: number): Promise<string> {
  const envelope = await exec(place, valueCell(options, count));
  const values: readonly unknown[] = Array.isArray(envelope.result_json) ? envelope.result_json : [];
  const right = values.filter(isValue).length;
  const seen = { values, warnings: envelope.warnings, error: envelope.error_message };
  expectThat(right === count, `${count} values that fit the schema`, seen);
  return `${right} of ${count}, ${envelope.budget?.session.sub_calls} requests`;
}

function isValue(value: unknown): boolean {
  const { kind, urgent }: { readonly kind?: unknown; readonly urgent?: unknown } = Object(value);
  return KINDS.some((known) => known === kind) && typeof urgent === "boolean";
}

/** Facts of an envelope that scenes look at. */
interface Envelope {
  readonly success: boolean;
  readonly error_code?: string | null;
  readonly error_message?: string | null;
  readonly result_json?: unknown;
  readonly answer?: unknown;
  readonly warnings?: readonly string[];
  readonly resumed?: number;
  readonly budget?: { readonly session: { readonly sub_calls: number } } | null;
}

async function exec(place: Place, cell: string, ...flags: readonly string[]): Promise<Envelope> {
  const { stdout, output } = await belay(place, ["exec", "--json", "-q", ...flags, "-e", cell]);
  return parsed(stdout, output);
}

function parsed(stdout: string, output: string): Envelope {
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`no envelope: ${output.slice(-600)}`);
  }
}

async function codeOf(place: Place, options: string): Promise<readonly [code: string, message: string]> {
  const cell = `await llm_query("Say hello", { ${options} }).then((text) => ["text", text.slice(0, 40)], ({ code, message }) => [code, message])`;
  const { result_json, error_message } = await exec(place, cell);
  if (!Array.isArray(result_json)) throw new Error(`the cell failed: ${error_message}`);
  return [String(result_json[0]), String(result_json[1])];
}

/** Such a call gets the form in its repair alone, and noise may fill the window before. */
async function valueWithTools(place: Place): Promise<string> {
  const { result_json, error_message } = await exec(place, valueCell("", 1));
  const value: unknown = Array.isArray(result_json) ? result_json[0] : null;
  const isNoise = /^(?:window_full|truncated_answer|empty_answer): /.test(String(value));
  expectThat(isValue(value) || isNoise, "a value that fits, or what noise may end as", { value, error_message });
  return isNoise ? String(value).split(":", 1).join("") : "a value";
}

async function cutAnswer(place: Place): Promise<string> {
  const [code, message] = await codeOf(place, "tools: [], max_tokens: 40");
  expectThat(["text", "truncated_answer", "empty_answer"].includes(code), "a text, or that it was cut", [
    code,
    message,
  ]);
  return code;
}

async function fullWindow(place: Place): Promise<string> {
  const [code, message] = await codeOf(place, "tools: []");
  const isTold = code === "window_full" && /2[,\u202f ]?048/.test(message);
  expectThat(isTold || code === "text", "window_full with the number 2048", [code, message]);
  return code;
}

async function ask(place: Place): Promise<string> {
  const file = await written(place.folder, "a.log", "ERROR a\nok\n".repeat(20));
  const asked = ["ask", "How many errors?", "-c", file, "--json", "-q", "--max-turns", "3"];
  const { stdout, output } = await belay(place, asked);
  const { success, error_code, error_message, warnings } = parsed(stdout, output);
  const isOver =
    success || ["no_answer", "window_full", "truncated_answer", "empty_answer"].includes(String(error_code));
  expectThat(isOver, "an end that is not the server's refusal", { error_code, error_message, warnings });
  return success ? "an answer" : String(error_code);
}

async function interrupted(place: Place, signal: "SIGINT" | "SIGKILL"): Promise<string> {
  const cell = 'await llm_query("Tell a story", { tools: [], max_tokens: 1900 })';
  const command = await started(place, ["exec", "-q", "-e", cell]);
  const code = await command.end(signal);
  await until(async () => (await place.server.busySlots()) === 0, "the slot is free", 2000);
  return `the slot is free, exit ${code ?? signal}`;
}

async function goesOn(place: Place): Promise<string> {
  const story = 'await llm_query("Tell a story", { tools: [], max_tokens: 1900 }).catch(({ code }) => code);\n';
  const cell = `const one = ${valueCell("tools: []", 1)};\n${story.repeat(4)}one`;
  const command = await started(place, ["exec", "-q", "--session", "story", "-e", cell]);
  await wait(6000);
  await command.end("SIGKILL");
  const { stdout, output } = await belay(place, ["resume", "story", "--json", "-q"]);
  const { success, resumed, budget, error_message } = parsed(stdout, output);
  const calls = budget?.session.sub_calls;
  expectThat(success && resumed === 1 && calls === 5, "5 sub-calls of an exec that was resumed once", {
    success,
    resumed,
    calls,
    error_message,
  });
  return "resumed once, no call was made twice";
}

/** Kills the server as soon as it computes an answer, and starts it again after 12 seconds. */
async function restarts(place: Place): Promise<AsyncDisposable> {
  const { llama, model, server } = place;
  await until(async () => (await server.busySlots()) > 0, "the server computes an answer");
  await wait(300);
  await server.kill();
  await wait(12_000);
  return await startServer(llama, { model, context: 8192, slots: 4, port: server.port });
}

/** Values that follow one another, so that some are out when the server is killed. */
async function execOverRestart(place: Place): Promise<string> {
  const restarted = restarts(place);
  const cell = `const values = [];\nfor (let round = 0; round < 8; round++) values.push(...${valueCell("tools: []", 6)});\nvalues`;
  const [envelope] = await Promise.all([exec(place, cell), restarted]);
  await using _again = await restarted;
  const values: readonly unknown[] = Array.isArray(envelope.result_json) ? envelope.result_json : [];
  const right = values.filter(isValue).length;
  expectThat(right === 48, "48 values", {
    values: values.filter((one) => !isValue(one)),
    error: envelope.error_message,
  });
  return `${right} of 48`;
}

async function batchOverRestart(place: Place): Promise<string> {
  const rows = Array.from({ length: 60 }, (_, n) => JSON.stringify({ id: `r${n}`, text: `letter ${n}` })).join("\n");
  const jobs = await written(place.folder, "rows.jsonl", rows);
  const script = await written(
    place.folder,
    "kind.js",
    `await llm_query("Of what kind is this? " + job.text, { tools: [], schema: ${SCHEMA} })`,
  );
  const restarted = restarts(place);
  const [{ code, output }] = await Promise.all([belay(place, ["batch", script, "--jobs", jobs, "-o", "-"]), restarted]);
  await using _again = await restarted;
  const lines = output.split("\n").filter((line) => line.includes('"status":"done"'));
  expectThat(code === 0 && lines.length === 60, "exit 0 and 60 rows", { code, output: output.slice(-500) });
  const taken = lines.filter((line) => JSON.parse(line).sub_calls === 1).length;
  expectThat(taken === 60, "60 rows whose first reply was taken", { taken });
  return "60 rows, each first reply was taken";
}
