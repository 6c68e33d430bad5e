import * as v from "valibot";
import { type Item, listIn } from "../../eval/index.ts";
import { fieldOf } from "../../platform/written-json.ts";
import { BadInput, type Input } from "../../runs/index.ts";

/** A question of a suite that others publish, with its context as a text. */
interface PublishedQuestion extends Item {
  readonly context: string;
}

/** A suite that others publish, known by the fields of its rows. */
export interface KnownSuite {
  readonly name: string;
  /** Fields that its rows have, and rows of other suites have not. */
  readonly fields: readonly string[];
  /** @throws ValiError */
  read(value: unknown): PublishedQuestion;
}

const text = v.pipe(v.string(), v.minLength(1));
const id = v.union([text, v.pipe(v.number(), v.transform(String))]);

/** Label of so many tokens: `131k`, `1.05M`. */
const sizeLabel = (tokens: number) =>
  tokens >= 1e6 ? `${Number((tokens / 1e6).toFixed(2))}M` : `${Math.max(1, Math.round(tokens / 1e3))}k`;

const Choices = v.object({
  _id: id,
  question: text,
  choice_A: text,
  choice_B: text,
  choice_C: text,
  choice_D: text,
  answer: v.picklist(["A", "B", "C", "D"]),
  context: text,
  length: text,
  difficulty: text,
});

const Synthetic = v.object({
  id,
  dataset: text,
  context_len: v.number(),
  context_window_text: text,
  question: text,
  answer: v.union([text, v.pipe(v.array(v.union([text, v.number()])), v.minLength(1))]),
  answer_type: text,
});

/** Its other columns, `context_window_id`, `episodes` and `campaign`, say what the text has by itself. */
const Real = v.object({
  id,
  context_window_text: text,
  question: text,
  answer: v.union([text, v.number()]),
  question_type: v.optional(text),
});

/** Suites by their rows, the more special ones first. */
const KNOWN: readonly KnownSuite[] = [
  {
    name: "LongBench v2",
    fields: ["_id", "question", "choice_A", "choice_B", "choice_C", "choice_D", "answer", "context"],
    read(value) {
      const row = v.parse(Choices, value);
      const choices = (["A", "B", "C", "D"] as const).map((letter) => `(${letter}) ${row[`choice_${letter}`].trim()}`);
      const question = `${row.question.trim()}\n${choices.join("\n")}\nWhich choice is right? Answer with its letter alone.`;
      const suite = `longbench-v2 ${row.difficulty}`;
      return {
        id: row._id,
        suite,
        size: row.length,
        question,
        expected: row.answer,
        score: "choice",
        context: row.context,
      };
    },
  },
  {
    name: "OOLONG-synth",
    fields: ["context_window_text", "question", "answer", "answer_type", "context_len", "dataset"],
    read(value) {
      const {
        dataset,
        context_len,
        context_window_text: context,
        question,
        answer,
        answer_type,
        ...row
      } = v.parse(Synthetic, value);
      const right = typeof answer === "string" ? firstOfPython(answer) : (answer[0] ?? "");
      // Numbers that name a user are right or wrong.
      const expected = answer_type.endsWith("NUMERIC") && WHOLE.test(String(right)) ? Number(right) : String(right);
      return {
        ...row,
        suite: `oolong-synth ${dataset}`,
        size: sizeLabel(context_len),
        question,
        expected,
        score: "oolong",
        context,
      };
    },
  },
  {
    name: "OOLONG-real",
    fields: ["context_window_text", "question", "answer"],
    read(value) {
      const { id, context_window_text: context, question: asked, answer, question_type } = v.parse(Real, value);
      const question = asked.includes("\\boxed") ? asked : `${asked} Answer in \\boxed{} alone.`;
      const size = sizeLabel(2 ** Math.ceil(Math.log2(context.length / UNITS_A_TOKEN)));
      const right = String(answer).trim();
      const list = listIn(right);
      const expected = WHOLE.test(right) ? Number(right) : list.length > 1 ? list : right;
      const suite = question_type === undefined ? "oolong-real" : `oolong-real ${question_type}`;
      return { id, suite, size, question, expected, score: "oolong-real", context };
    },
  },
];

const WHOLE = /^[+-]?\d{1,15}$/;
/** Characters of a token, as in every estimate of Belay. */
const UNITS_A_TOKEN = 4;

/** The suite whose row this is; null: none that is known. */
export function suiteOf({ value }: Input): KnownSuite | null {
  return KNOWN.find(({ fields }) => fields.every((name) => fieldOf(value, name) !== undefined)) ?? null;
}

/** @throws BadInput */
export function publishedQuestion(suite: KnownSuite, { at, value }: Input): PublishedQuestion {
  try {
    // Numbers that JavaScript would round are in none of the fields.
    return suite.read(JSON.parse(JSON.stringify(value)));
  } catch (error) {
    if (!(error instanceof v.ValiError)) throw error;
    const place = v.getDotPath(error.issues[0]) ?? "the line";
    throw new BadInput(
      at,
      `is not a question of ${suite.name}: ${place} is missing or wrong`,
      "docs/eval.md has the fields.",
    );
  }
}

/** The first item of a list as Python prints it: `['ham', 'spam']`, `[5]`, `[datetime.date(2023, 5, 1)]`. */
function firstOfPython(printed: string): string {
  const [, year, month = "", day = ""] =
    /^\[datetime\.date\((\d{4}), (\d{1,2}), (\d{1,2})\)\]$/.exec(printed.trim()) ?? [];
  if (year !== undefined) return `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`;
  const [, single, double, plain] =
    /^\[\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|([^,\]]*))/.exec(printed.trim()) ?? [];
  const quoted = single ?? double;
  if (quoted !== undefined)
    return quoted.replaceAll(/\\(.)/g, (_, character: string) => ESCAPES[character] ?? character);
  return (plain ?? printed).trim();
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };
