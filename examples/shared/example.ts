import type { AskEnvelope, Json } from "../../src/index.ts";
import type { ModelScript } from "../../tests/support/model-server.ts";

/** A question about data whose answer its generator knows. */
export interface Example<Truth> {
  readonly question: string;
  /** JSON Schema of the answer. */
  readonly schema: Json;
  /** Makes the data: texts by path, the same for the same random numbers. */
  make(random: () => number): { readonly files: Readonly<Record<string, string>>; readonly truth: Truth };
  /** What the scripted model replies, in place of a real one. */
  readonly script: ModelScript;
  /** Compares an answer with what the generator knows. */
  check(given: Answered, truth: Truth): readonly Check[];
}

export type Answered = Pick<Extract<AskEnvelope, { success: true }>, "answer" | "citations">;

export interface Check {
  readonly what: string;
  readonly isTrue: boolean;
}

/** One of a list, by a random number. */
export function oneOf<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("there is nothing to choose from");
  return item;
}
