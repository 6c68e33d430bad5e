import { newState, openGuest, run } from "../../support/checkpoints.ts";

/** What a function of Node's answers or throws, in a form that both sides can give. */
const OUTCOME = `(run) => {
  try {
    return { value: run() };
  } catch (error) {
    return { error: error.name };
  }
}`;

/** Runs a list of cases through one function: in a guest, and here, where Node is the oracle. */
export async function openOracle() {
  const sandbox = await openGuest();
  let cell = 0;
  return {
    /** @param code of a function of one case. It must be free of names from outside */
    async both(code: string, cases: readonly unknown[]): Promise<{ guest: unknown; node: unknown }> {
      const source = `(${JSON.stringify(cases)}).map((one) => (${OUTCOME})(() => (${code})(one)))`;
      cell++;
      return { guest: await run(sandbox, source, newState(`x${cell}`, cell)), node: plain(evaluated(source)) };
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

// biome-ignore lint/security/noGlobalEval: the source is this test's own
const evaluated = (source: string): unknown => globalThis.eval(source);

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));
