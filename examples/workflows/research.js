// Answers a question from documents, and keeps only claims that were verified.
//
//   belay workflow examples/workflows/research.js --args '{"question":"Why did sales fall?","sources":["report.pdf","notes/"]}'

export const meta = {
  name: "research",
  description: "Plans sub-questions, answers each from the sources, verifies the claims, and writes the answer",
  phases: [{ title: "Plan" }, { title: "Read" }, { title: "Verify" }, { title: "Write" }],
};

const PLAN = {
  type: "object",
  properties: { questions: { type: "array", items: { type: "string" } } },
  required: ["questions"],
};

const CLAIMS = {
  type: "object",
  properties: {
    claims: {
      type: "array",
      items: {
        type: "object",
        properties: { text: { type: "string" }, source: { type: "string" }, quote: { type: "string" } },
        required: ["text", "source", "quote"],
      },
    },
  },
  required: ["claims"],
};

const CHECK = {
  type: "object",
  properties: { verdict: { enum: ["supported", "contradicted", "not found"] } },
  required: ["verdict"],
};

const { question, sources } = args;

phase("Plan");
const plan = await agent(`Split this question into at most 5 that can be looked up in ${sources.join(", ")}: ${question}`, {
  label: "plan",
  schema: PLAN,
});

phase("Read");
const pairs = plan.questions.flatMap((part) => sources.map((source) => ({ part, source })));
const checked = await pipeline(
  pairs,
  ({ part, source }) =>
    agent(`What does ${source} say about this? Quote it. ${part}`, {
      label: `read: ${source}`,
      phase: "Read",
      schema: CLAIMS,
    }),
  (found) =>
    parallel(
      found.claims.map((claim) => async () => {
        const check = await agent(`Open ${claim.source}. Does it support this? ${claim.text}\nThe quote is: ${claim.quote}`, {
          label: `verify: ${claim.source}`,
          phase: "Verify",
          schema: CHECK,
        });
        return check?.verdict === "supported" ? claim : null;
      }),
    ),
);

const claims = checked.flat().filter(Boolean);
log(`${claims.length} claims are supported by their sources`);
if (claims.length === 0) return { answer: null, claims };

phase("Write");
const answer = await agent(`Answer "${question}" from these claims alone, and name the source of each:\n${JSON.stringify(claims)}`, {
  label: "write",
});
return { answer, claims };
