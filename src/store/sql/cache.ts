import type { Json } from "../../../runtime/index.ts";
import type { GcRule, Step } from "../port.ts";
import { jsonIn } from "../rows/forms.ts";
import { anyColumn, isSealed, type Row, seal } from "../rows/row.ts";
import { get, type Plan, packed, run, sql } from "./sql.ts";

export function* keepAnswers(answers: NonNullable<Step["cache"]>): Plan<void> {
  for (const { key, value, at } of answers) {
    const content = JSON.stringify(value);
    yield* run(sql`INSERT INTO cache (key, value, at, sha256)
      VALUES (${key}, ${packed(content)}, ${at}, ${seal([key, content, at])})
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = excluded.at, sha256 = excluded.sha256`);
  }
}

export function* keepText(hash: string, text: string, at: number): Plan<void> {
  yield* keepAnswers([{ key: textKey(hash), value: text, at }]);
}

/** null if the answer is missing or damaged: the model is then asked again. */
export function* readAnswer(key: string): Plan<Json> {
  const row = yield* get(sql`SELECT * FROM cache WHERE key = ${key}`);
  return (row && answerOf(row)) ?? null;
}

/**
 * Drops answers that are older than the rule allows, and texts that are too old. Returns how many
 * they were.
 */
export function* dropOldAnswers({ namedMs, now }: Pick<GcRule, "namedMs" | "now">): Plan<number> {
  const answers = namedMs === null ? 0 : yield* run(sql`DELETE FROM cache WHERE at < ${now - namedMs}`);
  // Keys from `text:` up to the next character after the colon.
  const texts = sql`DELETE FROM cache WHERE key >= 'text:' AND key < 'text;' AND at < ${now - TEXT_MS}`;
  return answers + (yield* run(texts));
}

/** The key of a text that is kept by the SHA-256 of it. */
export const textKey = (hash: string) => `text:${hash}`;

/** Texts are kept for so long, ms, whatever becomes of answers. */
const TEXT_MS = 30 * 24 * 60 * 60 * 1000;

/** The answer; undefined if the row is damaged. */
export function answerOf(row: Row): Json | undefined {
  const content = jsonIn(row, "value");
  return content && isSealed(row, [anyColumn(row, "key"), content.text, anyColumn(row, "at")])
    ? content.value
    : undefined;
}
