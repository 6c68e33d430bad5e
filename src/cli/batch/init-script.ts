import { amount } from "../../platform/figures.ts";
import { inLine, jsonText } from "../../platform/visible.ts";

/** The inputs that a script is written for. */
export interface Described {
  /** The inputs as the user named them. */
  readonly jobs: string;
  readonly count: number;
  /** Fields of the inputs, in their order. `null`: they are not objects. */
  readonly fields: readonly Field[] | null;
  /** True if each job has a file as its context. */
  readonly hasContext: boolean;
}

export interface Field {
  readonly name: string;
  /** True if a value of it is a list or an object. */
  readonly isNested: boolean;
}

/** Fields that the question shows, without the id. The others stand in the comment. */
const MOST_ASKED = 12;
/** Characters of a file that the question shows. */
const MOST_UNITS = 50_000;

/** A script for `belay batch` that works as it is written. @param lines the lines that try it, from the first to type on */
export function scriptFor(described: Described, lines: readonly string[]): string {
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

/** Names may come from somebody else: as JSON they have no end of line. */
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
  const asked = (fields ?? []).filter(({ name }) => name !== "id").slice(0, MOST_ASKED);
  const whole = `\${typeof job === "string" ? job : JSON.stringify(job)}`;
  const shown = fields === null ? [whole] : asked.map((field) => shownIn(field));
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
