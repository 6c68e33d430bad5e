// Audits files: one agent reads each file, and others check what it found.
//
//   belay workflow examples/workflows/audit.js --args '{"files":["src/a.ts","src/b.ts"]}' --dry-run
//   belay workflow examples/workflows/audit.js --args @files.json --agent claude

export const meta = {
  name: "audit",
  description: "Audits files for faults, and has each fault checked by an agent that tries to refute it",
  whenToUse: "Before a release, over the files that changed",
  phases: [
    { title: "Find", detail: "one agent for each file" },
    { title: "Verify", detail: "one agent for each fault" },
  ],
};

const FAULTS = {
  type: "object",
  properties: {
    faults: {
      type: "array",
      items: {
        type: "object",
        properties: {
          line: { type: "integer" },
          what: { type: "string" },
          severity: { enum: ["low", "medium", "high"] },
        },
        required: ["line", "what", "severity"],
      },
    },
  },
  required: ["faults"],
};

const VERDICT = {
  type: "object",
  properties: { isReal: { type: "boolean" }, why: { type: "string" } },
  required: ["isReal", "why"],
};

const { files, focus = "correctness and security" } = args;
log(`${files.length} files, for ${focus}`);

const perFile = await pipeline(
  files,
  (file) =>
    agent(`Read ${file}. List its faults of ${focus}. Only what you can point to in the text.`, {
      label: `find: ${file}`,
      phase: "Find",
      schema: FAULTS,
    }),
  (found, file) =>
    parallel(
      (found?.faults ?? []).map((fault) => async () => {
        const verdict = await agent(
          `Try to refute this claim about ${file}, line ${fault.line}: ${fault.what}\nIf you are not sure, it is not real.`,
          { label: `verify: ${file}:${fault.line}`, phase: "Verify", schema: VERDICT, effort: "high" },
        );
        return verdict?.isReal ? { file, ...fault, why: verdict.why } : null;
      }),
    ),
);

const ORDER = ["high", "medium", "low"];
const confirmed = perFile
  .filter(Boolean)
  .flat()
  .filter(Boolean)
  .sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
log(`${confirmed.length} faults are confirmed`);
return { confirmed, unread: files.filter((_, at) => perFile[at] === null) };
