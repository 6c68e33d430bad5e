// Reviews a change by a panel: reviewers with one view each, and a chair who decides from what they found.
//
//   git diff main > change.diff
//   belay workflow examples/workflows/review-panel.js --args '{"diff":"change.diff"}'

export const meta = {
  name: "review-panel",
  description: "Reviews a change from several views at once, drops what other reviewers refute, and decides",
  phases: [{ title: "Review" }, { title: "Vote" }, { title: "Decide", model: "opus" }],
};

const VIEWS = [
  { key: "correctness", ask: "Which inputs make it give a wrong result?" },
  { key: "security", ask: "What can somebody do who controls its input?" },
  { key: "tests", ask: "Which behaviour has no test?" },
  { key: "simplicity", ask: "What could be left out?" },
];

const REMARKS = {
  type: "object",
  properties: { remarks: { type: "array", items: { $ref: "#/$defs/Remark" } } },
  required: ["remarks"],
  $defs: {
    Remark: {
      type: "object",
      properties: { place: { type: "string" }, text: { type: "string" } },
      required: ["place", "text"],
    },
  },
};

const VOTE = {
  type: "object",
  properties: { holds: { type: "boolean" } },
  required: ["holds"],
};

const { diff, voters = 3 } = args;

phase("Review");
const reviews = await parallel(
  VIEWS.map(({ key, ask }) => async () => {
    const review = await agent(`Read the change in ${diff}. ${ask} Give the place of each remark as file:line.`, {
      label: `review: ${key}`,
      schema: REMARKS,
    });
    return review && review.remarks.map((remark) => ({ ...remark, view: key }));
  }),
);

// Two reviewers often say the same of one place.
const seen = new Set();
const remarks = reviews
  .filter(Boolean)
  .flat()
  .filter(({ place, view }) => !seen.has(`${view} ${place}`) && seen.add(`${view} ${place}`));
log(`${remarks.length} remarks of ${reviews.filter(Boolean).length} reviewers`);

phase("Vote");
const voted = await parallel(
  remarks.map((remark) => async () => {
    const votes = await parallel(
      Array.from(
        { length: voters },
        (_, n) => () =>
          agent(`Voter ${n + 1}: does this remark on ${diff} hold? ${remark.place}: ${remark.text}`, {
            label: `vote: ${remark.place}`,
            phase: "Vote",
            schema: VOTE,
            effort: "low",
          }),
      ),
    );
    return { ...remark, votes: votes.filter((vote) => vote?.holds).length };
  }),
);
const held = voted.filter((remark) => remark && remark.votes * 2 > voters);

phase("Decide");
const decision = await agent(
  `Decide whether the change in ${diff} can be merged. Remarks that a majority holds to be true:\n${JSON.stringify(held, null, 2)}`,
  { label: "chair", model: "opus" },
);
return { decision, held };
