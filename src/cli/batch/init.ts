import { writeFileSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import { amount } from "../../platform/figures.ts";
import { isRecord } from "../../platform/json.ts";
import { outputFailed } from "../../platform/result-file.ts";
import { inLine, jsonText } from "../../platform/visible.ts";
import { readJobs } from "../../runs/index.ts";
import type { BatchFlags } from "../commands/batch.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { commandLine, UsageError } from "../flags/usage.ts";
import { loadingIn } from "../flags/values.ts";
import type { Terminal } from "../render/terminal.ts";
import { noteInputs } from "./input-notes.ts";
import { tableRoots } from "./run-request.ts";

const HELP = commandLine(["help", "batch"]);

/**
 * `belay batch --init`: writes a script for the inputs, and prints the next line to type. Gives the
 * exit code.
 */
export async function initScript(
  args: Arguments,
  own: BatchFlags,
  { terminal, signal }: { readonly terminal: Terminal; readonly signal: AbortSignal },
): Promise<number> {
  const { jobs, script } = placesIn(args, own);
  using read = await readJobs(
    { jobs, own, roots: tableRoots(jobs, own), shared: null, loading: loadingIn(args) },
    signal,
  );
  noteInputs(read, own, terminal);
  const { count } = read.spool;
  const hasContext = read.mode === "each";
  const described = { jobs, count, hasContext, fields: await fieldsOf(read.spool.jobs()) };
  const others = othersIn(args, [jobs, script]);
  const line = (...more: readonly string[]) => commandLine(["batch", script, "--jobs", jobs, ...others, ...more]);
  const next = line("--dry-run");
  const results = `${basename(script, extname(script))}-results.csv`;
  write(script, scriptFor(described, linesToType(line, next, results)), ["--init", "--jobs", jobs, ...others]);
  if (args.get(OUTPUT_FLAGS.json)) {
    const fields = described.fields?.map(({ name }) => name) ?? null;
    terminal.stdout.json({ success: true, script, jobs, count, fields, next });
    return 0;
  }
  terminal.stdout.line(`wrote ${script} for ${amount(count, "input")} of ${jobs}: change its question and its schema`);
  terminal.stdout.line(`then type: ${next}`);
  return 0;
}

/**
 * `belay batch --init TABLE`, or `belay batch SCRIPT.js --init --jobs TABLE`.
 *
 * @throws UsageError
 */
function placesIn(
  { positionals }: Arguments,
  { jobs }: BatchFlags,
): { readonly jobs: string; readonly script: string } {
  const [first, second] = positionals;
  if (second !== undefined) throw new UsageError(`--init takes one name, and ${second} is one more`, HELP);
  const table = jobs ?? first;
  if (table === undefined || (jobs === undefined && extname(table) === ".js")) {
    const line = commandLine(["batch", "--init", "--jobs", "TABLE"]);
    throw new UsageError("--init writes a script for inputs: name them with --jobs", line);
  }
  if (table === "-") throw new UsageError("--init cannot read stdin, which the next line would read again", HELP);
  const named = jobs === undefined ? undefined : first;
  return { jobs: table, script: named ?? `${basename(resolve(table), extname(table)) || "script"}.js` };
}

/** Flags that were typed beside those of `--init` itself. */
function othersIn({ typed }: Arguments, names: readonly string[]): readonly string[] {
  const isOwn = (word: string, at: number) =>
    word === "--init" ||
    word === "--json" ||
    word === "--jobs" ||
    typed[at - 1] === "--jobs" ||
    word.startsWith("--jobs=");
  return typed.filter((word, at) => !isOwn(word, at) && !names.includes(word));
}

function linesToType(line: (...more: string[]) => string, next: string, results: string): string[] {
  return [
    "Lines to type, from the first to the last:",
    `  ${next}`,
    "    sends nothing, and estimates tokens and dollars",
    `  ${line("-o", results, "--first", "5")}`,
    "    asks for five inputs, and estimates all of them by what these took",
    `  ${line("-o", results, "--run-max-cost-usd", "1")}`,
    "    asks for all, and for no more than a dollar. After a change the answers to equal questions are reused.",
  ];
}

/** Inputs whose fields are looked at, and fields of them. */
const MOST_READ = 1000;
const MOST_FIELDS = 200;

/** `null` if an input is not an object. */
async function fieldsOf(jobs: AsyncIterable<{ readonly input: string }>): Promise<Described["fields"]> {
  const fields = new Map<string, Field>();
  let read = 0;
  for await (const { input } of jobs) {
    if (++read > MOST_READ) break;
    const value: unknown = JSON.parse(input);
    if (!isRecord(value)) return null;
    for (const [name, one] of Object.entries(value)) {
      const isNested = fields.get(name)?.isNested === true || (typeof one === "object" && one !== null);
      if (fields.has(name) || fields.size < MOST_FIELDS) fields.set(name, { name, isNested });
    }
  }
  return [...fields.values()];
}

/**
 * @param flags those of the line that writes it
 * @throws UsageError if the file is there; RlmError `output_failed`
 */
function write(script: string, text: string, flags: readonly string[]): void {
  try {
    writeFileSync(script, text, { flag: "wx" });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw outputFailed(script, error);
    const other = `${basename(script, extname(script))}-2.js`;
    throw new UsageError(`${script} already exists; name another file`, commandLine(["batch", other, ...flags]));
  }
}

/** The inputs that a script is written for. */
interface Described {
  /** The inputs as the user named them. */
  readonly jobs: string;
  readonly count: number;
  /** Fields of the inputs, in their order. `null`: they are not objects. */
  readonly fields: readonly Field[] | null;
  /** True if each job has a file as its context. */
  readonly hasContext: boolean;
}

interface Field {
  readonly name: string;
  /** True if a value of it is a list or an object. */
  readonly isNested: boolean;
}

/** Fields that the question shows, without the id. The others stand in the comment. */
const MOST_ASKED = 12;
/** Characters of a file that the question shows. */
const MOST_UNITS = 50_000;

/**
 * A script for `belay batch` that works as it is written.
 *
 * @param lines the lines that try it, from the first to type on
 */
function scriptFor(described: Described, lines: readonly string[]): string {
  const { jobs, count, hasContext } = described;
  const inputs = `${amount(count, "input")} of ${inLine(jobs)}`;
  return `${[
    `// Runs once for each of the ${inputs}. \`job\` is the input${fieldsText(described)}`,
    ...fieldLines(described),
    ...(hasContext ? ["// P is the text of its file."] : []),
    "// Change the question and the schema below: what stands here is only a beginning.",
    "",
    "// The form of an answer. One that does not fit is asked for once more, and then the job fails.",
    "const schema = {",
    '  type: "object",',
    "  properties: {",
    '    label: { enum: ["praise", "complaint", "question", "other"] },',
    '    why: { type: "string", description: "the words that show it" },',
    "  },",
    '  required: ["label", "why"],',
    "};",
    "",
    ...costLines(count),
    "const reply = await llm_query(",
    `  \`${question(described)}\`,`,
    "  { schema, tools: [] },",
    ");",
    "",
    "// The result of the job. Its fields are columns of the results.",
    hasContext ? `({ ...reply, isCut: P.length > ${MOST_UNITS} });` : "reply;",
    "",
    ...lines.map((line) => `// ${inLine(line)}`),
  ].join("\n")}\n`;
}

function fieldsText({ fields }: Described): string {
  return fields === null || fields.length === 0 ? "." : ", and has these fields:";
}

/** Names may come from another person: as JSON they have no end of line. */
function fieldLines({ fields }: Described): string[] {
  return (fields ?? []).map((field) => `//   ${accessTo(field)}`);
}

function costLines(count: number): string[] {
  const calls = count === 1 ? "one call" : amount(count, "call");
  return [
    `// What it costs: one call for each input, here ${calls}. A call pays for the question with the texts in it, and for the answer.`,
    "// With `tools: []` it is a single request. `--delivery batch` halves the price if the provider has batches.",
  ];
}

function question({ fields, hasContext }: Described): string {
  const shownFields = (fields ?? []).filter(({ name }) => name !== "id").slice(0, MOST_ASKED);
  const whole = `\${typeof job === "string" ? job : JSON.stringify(job)}`;
  const shown = fields === null ? [whole] : shownFields.map((field) => shownIn(field));
  const text = hasContext ? ["", `\${P.slice(0, ${MOST_UNITS})}`] : [];
  return ["What is this: praise, a complaint, a question or something else?", "", ...shown, ...text].join("\n");
}

function shownIn(field: Field): string {
  const access = accessTo(field);
  const value = field.isNested ? `JSON.stringify(${access} ?? null)` : `${access} ?? ""`;
  return `${inTemplate(field.name)}: \${${value}}`;
}

/** `job.text`, or `job["Order ID"]`. */
function accessTo({ name }: Field): string {
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name) ? `job.${name}` : `job[${jsonText(name)}]`;
}

/** A name within a template literal. */
function inTemplate(name: string): string {
  return inLine(name).replaceAll(/[\\`$]/g, "\\$&");
}
