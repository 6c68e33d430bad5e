import type { Json } from "../../../runtime/index.ts";
import type { Step } from "../port.ts";
import { answerOf, TEXT_MS } from "../rows/answer.ts";
import { packText } from "../rows/pack.ts";
import { seal } from "../rows/seal.ts";
import type { Database } from "./database.ts";

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
