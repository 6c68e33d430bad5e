import { expect, test } from "vitest";
import { json } from "../belay.ts";
import { FILES, META, scene } from "./scene.ts";

const failing = { status: 400, body: '{"error":{"message":"no"}}' };

test("a fork answers one agent by hand and skips another, and the copy continues with the rest", async () => {
  const { workflow, belay, server } = await scene({}, ({ prompt }) =>
    prompt.includes("find b") ? failing : { text: `did ${prompt}` },
  );
  const { run } = json(await workflow("audit.js", ...FILES, "--json"));
  const made = server.requests.length;
  const forked = json(
    await belay("fork", run, "--name", "by-hand", "--answer", '2="found b"', "--skip", "3", "--json"),
  );
  expect(forked).toMatchObject({ success: true, session: { name: "by-hand", status: "unfinished" } });
  const resumed = await belay("resume", "by-hand");
  expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([0, [null, "did verify found b"]]);
  // Only what follows the answer by hand is asked.
  expect(server.requests.length).toBe(made + 1);
  expect((await belay("show", "by-hand")).stdout).toMatch(/by hand .*Find: b/);
  await belay("fork", run, "--skip", "3");
  const label = `copy of ${run}: workflow audit: looks at files`;
  expect(json(await belay("sessions", "--json")).sessions[0]).toMatchObject({ name: null, label });
  expect((await belay("show", run)).stdout).not.toContain("by hand");
});

test.each([
  [["--answer", "2"], 2, "it takes CALL=JSON"],
  [["--answer", "2=yes"], 1, "the answer of call 2 cannot be read as JSON"],
  [["--answer", '2={"a":1,"a":2}'], 1, "cannot be read as JSON: an object has two properties of one name"],
  [["--answer", '2={"id":9007199254740993}'], 1, "cannot be read as JSON: JavaScript would round the number id"],
  [["--answer", '2="a"', "--skip", "2"], 1, "the call 2 is answered twice"],
  [["--answer", '9="a"'], 1, "has no call 9"],
  [["--answer", "2=@none.json"], 1, "none.json does not exist"],
])("fork refuses %j", async (more, code, words) => {
  const { workflow, belay } = await scene();
  const { run } = json(await workflow("audit.js", ...FILES, "--json"));
  const refused = await belay("fork", run, ...more);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(words)]);
});

const SCRIPT = `${META}
phase("Find");
const kind = await agent("kind", { label: "kind" });
const rest = await agent("rest of " + kind, { label: "rest" });
return [kind, rest];
`;

test("a wrong answer is replaced by one by hand, and what follows is asked anew, with a word for answers without use", async () => {
  const { belay, workflow, server } = await scene({ "work/audit.js": SCRIPT });
  const { stdout } = await workflow("audit.js", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ result_json: ["did kind", "did rest of did kind"] });
  const [run] = JSON.parse((await belay("sessions", "--json")).stdout).sessions;
  const made = await belay("fork", run.name, "--answer", '1="bug"', "--skip", "2", "--name", "by-hand");
  expect(made).toMatchObject({
    code: 0,
    stdout: "by-hand\n",
    stderr: "the cell runs again, since it had used an answer that is replaced; its calls take over the others\n",
  });
  const resumed = await belay("resume", "by-hand", "--json");
  // The second call asks something else now, so it is made, and a warning says so.
  expect(JSON.parse(resumed.stdout)).toMatchObject({ result_json: ["bug", "did rest of bug"] });
  expect(server.requests).toHaveLength(3);
  expect((await belay("show", "by-hand")).stdout).toMatch(/1 {2}by hand .* Find: kind/);
  expect(JSON.parse(resumed.stdout).warnings).toContain(
    "answers_unused: 1 of 2 answers by hand had no use: no call asked the same again",
  );
  const shown = JSON.parse((await belay("show", "by-hand", "--json")).stdout);
  const [, again] = shown.session.execs;
  expect(again).toMatchObject({ again: { exec: 1, by_hand: [1, 2] }, calls: [{ by_hand: true }, { by_hand: false }] });
});
