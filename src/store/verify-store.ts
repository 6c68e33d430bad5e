import { type Store, VERIFY_PARTS, type VerifyPart } from "./port.ts";

export interface Verified {
  readonly part: VerifyPart;
  /** The number of parts that were done before this one, and of all parts. */
  readonly done: number;
  readonly parts: number;
  readonly findings: readonly string[];
}

/** Looks through the whole store, page by page. Each page is of one moment. Whoever stops early reads no further page. */
export async function* verifyStore({ verify }: Pick<Store, "verify">): AsyncGenerator<Verified, void, undefined> {
  const parts = VERIFY_PARTS.length;
  for (const [done, part] of VERIFY_PARTS.entries()) {
    const seen = new Set<string>();
    yield { part, done, parts, findings: [] };
    for (let after: string | null = null; ; ) {
      const { findings, next }: Awaited<ReturnType<Store["verify"]>> = await verify(part, after);
      yield { part, done, parts, findings };
      if (next === null) break;
      if (seen.has(next)) {
        // A damaged index may lead in a circle.
        yield { part, done, parts, findings: [`database: the rows of the part ${part} are out of order`] };
        break;
      }
      seen.add(next);
      after = next;
    }
  }
}

/** One line for each finding, none if all is well. */
export async function findingsIn(store: Pick<Store, "verify">): Promise<string[]> {
  const found: string[] = [];
  for await (const { findings } of verifyStore(store)) found.push(...findings);
  return found;
}
