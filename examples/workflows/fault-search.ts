// Searches for faults until two rounds find nothing new, or the budget nears its end. It is TypeScript.
//
//   belay workflow examples/workflows/fault-search.ts --args '{"target":"src/parser"}' --max-tokens 2000000

export const meta = {
  name: "fault-search",
  description: "Searches for faults in rounds until nothing new is found, and proves each with a test",
  phases: [{ title: "Search" }, { title: "Prove" }],
} as const;

interface Fault {
  readonly file: string;
  readonly what: string;
}

const FAULTS = {
  type: "object",
  properties: {
    faults: {
      type: "array",
      items: {
        type: "object",
        properties: { file: { type: "string" }, what: { type: "string" } },
        required: ["file", "what"],
      },
    },
  },
  required: ["faults"],
};

const PROOF = {
  type: "object",
  properties: { proven: { type: "boolean" }, test: { type: "string" } },
  required: ["proven", "test"],
};

const ANGLES: readonly string[] = args.angles ?? ["edges of ranges", "errors that are swallowed", "order of events"];
/** Tokens that are kept back for the proofs. */
const RESERVE = 50_000;
const ROUNDS = args.rounds ?? 6;

const seen = new Set<string>();
const faults: Fault[] = [];
const keyOf = ({ file, what }: Fault): string => `${file}: ${what}`.toLowerCase();

phase("Search");
for (let round = 1, dry = 0; round <= ROUNDS && dry < 2 && budget.remaining() > RESERVE; round++) {
  const known = faults.map(keyOf).join("\n") || "none yet";
  const found = await parallel(
    ANGLES.map(
      (angle) => () =>
        agent(`Round ${round}: search ${args.target} for faults, by ${angle}. These are known:\n${known}`, {
          label: `search ${round}: ${angle}`,
          schema: FAULTS,
        }),
    ),
  );
  const fresh = found
    .filter(Boolean)
    .flatMap((one: { faults: Fault[] }) => one.faults)
    .filter((fault: Fault) => !seen.has(keyOf(fault)) && seen.add(keyOf(fault)));
  dry = fresh.length === 0 ? dry + 1 : 0;
  faults.push(...fresh);
  log(`round ${round}: ${fresh.length} new, ${faults.length} in all`);
}

phase("Prove");
const proofs = await parallel(
  faults.map((fault) => async () => {
    const proof = await agent(`Write a test that fails because of this fault in ${fault.file}: ${fault.what}`, {
      label: `prove: ${fault.file}`,
      schema: PROOF,
    });
    return proof?.proven ? { ...fault, test: proof.test } : null;
  }),
);
return { proven: proofs.filter(Boolean), searched: ANGLES.length, unproven: proofs.filter((one) => one === null).length };
