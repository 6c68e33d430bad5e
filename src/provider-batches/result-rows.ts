import { createHash } from "node:crypto";
import { amount } from "../platform/figures.ts";
import { isRecord } from "../platform/json.ts";
import type { BatchResult, ProviderBatch } from "../store/index.ts";
import { OTHER_ROWS } from "./providers/index.ts";
import type { ResultRow } from "./providers/provider.ts";

/** The rows of a batch's results, as its requests are answered by them. */
interface ResultRows {
  /** The answers in a piece of the results. Rows that were not run have none. */
  answersIn(piece: readonly ResultRow[]): BatchResult[];
  /** The rows that answer nothing, as a clause; null: there are none. */
  oddities(): string | null;
}

/**
 * Reads the rows of a batch's results. If a request has several answers, the first one that
 * succeeded counts, and a mark in it tells of the
 * others.
 */
export function openRows({ id, requests }: Pick<ProviderBatch, "id" | "requests">): ResultRows {
  /** Digests of the answers to each request in earlier pieces. */
  const before = new Map<number, ReadonlySet<string>>();
  const differing = new Set<number>();
  let foreign = 0;

  function numberOf(custom_id: string): number | null {
    const number = custom_id.startsWith(`${id}-`) ? custom_id.slice(id.length + 1) : "";
    return /^(?:0|[1-9]\d{0,8})$/.test(number) && Number(number) < requests ? Number(number) : null;
  }

  return {
    answersIn(piece) {
      const found = new Map<number, Map<string, BatchResult>>();
      for (const { custom_id, answer } of piece) {
        const n = numberOf(custom_id);
        if (n === null) foreign += 1;
        if (n === null || answer === null) continue;
        const digest = createHash("sha256").update(JSON.stringify(answer)).digest("base64");
        const earlier = before.get(n);
        if (earlier?.has(digest) === false) differing.add(n);
        const again = answer.status === 429 || answer.status >= 500;
        if (!earlier) found.set(n, (found.get(n) ?? new Map()).set(digest, { n, ...answer, again }));
      }
      return Array.from(found, ([n, answers]) => {
        before.set(n, new Set(answers.keys()));
        if (answers.size > 1) differing.add(n);
        return oneOf([...answers.values()]);
      }).flat();
    },
    oddities() {
      const told = [
        ...(differing.size > 0 ? [`${amount(differing.size, "request")} of it got answers that differ`] : []),
        ...(foreign > 0 ? [`${amount(foreign, "row")} of its results answer no request of it`] : []),
      ];
      return told.length === 0 ? null : told.join(", and ");
    },
  };
}

/**
 * The answer that counts: the first that succeeded, else the first. It says how many others there
 * are.
 */
function oneOf(answers: readonly BatchResult[]): BatchResult[] {
  const counts = answers.find(({ status }) => status < 300) ?? answers[0];
  if (!counts || answers.length === 1 || !isRecord(counts.body)) return counts ? [counts] : [];
  return [{ ...counts, body: { ...counts.body, [OTHER_ROWS]: answers.length - 1 } }];
}
