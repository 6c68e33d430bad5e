// Migrates files: a plan, then one agent for each file in a worktree of its own, then a review of each change.
//
//   belay workflow examples/workflows/migration.js --args '{"task":"from callbacks to promises","glob":"src/**/*.js"}' --agent claude
//
// It needs an agent that can write files. Worktrees with changes stay, and `belay show` names them.

export const meta = {
  name: "migration",
  description: "Finds the places to migrate, changes each in a worktree of its own, and reviews each change",
  phases: [{ title: "Discover" }, { title: "Migrate" }, { title: "Review" }],
};

const PLACES = {
  type: "object",
  properties: { files: { type: "array", items: { type: "string" } } },
  required: ["files"],
};

const CHANGE = {
  type: "object",
  properties: { changed: { type: "boolean" }, summary: { type: "string" } },
  required: ["changed", "summary"],
};

const REVIEW = {
  type: "object",
  properties: { approved: { type: "boolean" }, problems: { type: "array", items: { type: "string" } } },
  required: ["approved", "problems"],
};

const MOST = args.most ?? 200;

phase("Discover");
const found = await agent(`List the files that match ${args.glob} and need this migration: ${args.task}`, {
  label: "discover",
  schema: PLACES,
});
const files = [...new Set(found.files)].slice(0, MOST);
if (files.length < found.files.length) log(`${found.files.length - files.length} files are left out`);

const results = await pipeline(
  files,
  (file) =>
    agent(`Migrate ${file}: ${args.task}. Change nothing else, and run the tests of this file.`, {
      label: `migrate: ${file}`,
      phase: "Migrate",
      isolation: "worktree",
      schema: CHANGE,
    }),
  async (change, file) => {
    if (!change?.changed) return { file, status: change ? "nothing to do" : "failed" };
    const review = await agent(`Review this change of ${file} for "${args.task}":\n${change.summary}`, {
      label: `review: ${file}`,
      phase: "Review",
      schema: REVIEW,
    });
    return { file, status: review?.approved ? "approved" : "rejected", problems: review?.problems ?? [] };
  },
);

const count = (status) => results.filter((one) => one?.status === status).length;
log(`${count("approved")} approved, ${count("rejected")} rejected, ${count("nothing to do")} without a change`);
return results;
