import type { Json } from "../../../runtime/index.ts";
import type { Step } from "../port.ts";
import { packText, unpackText } from "../rows/pack.ts";
import { isSealed, type Row, seal, value } from "../rows/seal.ts";
import type { Database } from "./database.ts";

/** The key of a text that is kept by the SHA-256 of it. */
export const textKey = (hash: string) => `text:${hash}`;

/** Texts are kept for so long, ms, whatever becomes of answers. */
const TEXT_MS = 30 * 24 * 60 * 60 * 1000;

/** Drops texts that are too old; answers how many they were. */
export function dropOldTexts(database: Database, now: number): number {
  return database.run("DELETE FROM cache WHERE key GLOB 'text:*' AND at < ?", now - TEXT_MS);
}

export function keepAnswers(database: Database, answers: NonNullable<Step["cache"]>): void {
  for (const { key, value, at } of answers) {
    const content = JSON.stringify(value);
    database.run(
      "INSERT OR REPLACE INTO cache (key, value, at, sha256) VALUES (?, ?, ?, ?)",
      ...[key, packText(content), at, seal([key, content, at])],
    );
  }
}

/** null if the answer is missing or damaged: the model is then asked again. */
export function readAnswer(database: Database, key: string): Json {
  const row = database.get("SELECT * FROM cache WHERE key = ?", key);
  const content = row ? answerOf(row) : null;
  return content === null ? null : JSON.parse(content);
}

/** The answer's JSON; null if the row is damaged. */
export function answerOf(row: Row): string | null {
  const content = unpackText(row, "value");
  return content !== null && isSealed(row, [value(row, "key"), content, value(row, "at")]) ? content : null;
}
