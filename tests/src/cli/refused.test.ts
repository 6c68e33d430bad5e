import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { shareStore } from "../../../src/store/index.ts";
import { type ScriptedAnswer, startModelServer } from "../../support/model-server.ts";
import { folderWith } from "../../support/tree.ts";
import { json } from "./belay.ts";
import { belayHere, killedHere } from "./in-process.ts";

// A command that is refused changes nothing. Settings of the command that makes a session are recorded; later flags hold for their
// command alone, and for what it leaves unfinished.

/** Two servers, of which the first does not answer slow prompts until `isFast` is set. */
async function scene() {
  const pace = { isFast: false };
  const answer = (by: string) => async () => {
    const server = await startModelServer(
      ({ prompt }): ScriptedAnswer => ({
        text: `${by} ${prompt}`,
        ...(prompt.startsWith("slow") && !pace.isFast ? { delayMs: 60_000 } : {}),
      }),
    );
    onTestFinished(() => server.close());
    return server;
  };
  const [first, other] = [await answer("first")(), await answer("other")()];
  const [home, cwd] = [
    join(folderWith(), "home"),
    folderWith({ "a.txt": "alpha", "b.txt": "beta", "c/x.pdf": "%PDF-" }),
  ];
  const at = ({ url }: { readonly url: string }) => ["--base-url", url];
  const run = (...args: string[]) => belayHere([...args, "-s", "work", "-q", "--json"], { home, cwd });
  const begin = ["-s", "work", "-c", "a.txt", "--model", "local/m", ...at(first), "--max-sub-calls", "7"];
  const row = async () => {
    await using store = await shareStore(home);
    return store.find("work");
  };
  return { pace, first, other, home, cwd, at, run, begin, row };
}

const call = (prompt: string) => `await llm_query(${JSON.stringify(prompt)}, { tools: [] })`;

test("a command that is refused because of something unfinished records nothing, and the resume asks where it began", async () => {
  const { pace, first, other, home, cwd, at, run, begin, row } = await scene();
  await killedHere(first, 1, ["exec", "-e", call("slow one"), ...begin], { home, cwd });
  const before = (await row())?.settings;
  const flags = [...at(other), "--max-sub-calls", "9", "--label", "mine", "--root", "c", "--keep-steps"];
  for (const args of [
    ["exec", "-e", "1", "-o", "out.json"],
    ["query", "What?"],
    ["ask", "What?"],
  ]) {
    expect(json(await run(...args, ...flags))).toMatchObject({ error_code: "exec_unfinished" });
  }
  // The same line over another context, and one that gives up what is there.
  const same = ["exec", "-e", call("slow one"), ...flags, "-c", "b.txt"];
  expect(json(await run(...same))).toMatchObject({ error_code: "context_changed" });
  expect(json(await run(...same, "--discard"))).toMatchObject({ error_code: "context_changed" });
  expect((await row())?.settings).toEqual(before);
  pace.isFast = true;
  expect(json(await belayHere(["resume", "work", "-q", "--json"], { home, cwd }))).toMatchObject({
    result_json: "first slow one",
    budget: { remaining_sub_calls: 6 },
  });
  expect(other.requests).toHaveLength(0);
});

test("later flags hold for their command alone, and for what it leaves unfinished", async () => {
  const { pace, first, other, home, cwd, at, run, begin, row } = await scene();
  expect((await belayHere(["exec", "-e", "1", "-q", ...begin], { home, cwd })).code).toBe(0);
  const once = json(
    await run("exec", "-e", `[${call("a")}, budget().sub_calls]`, ...at(other), "--max-sub-calls", "3"),
  );
  expect(once).toMatchObject({ result_json: ["other a", 2] });
  expect(json(await run("exec", "-e", `[${call("b")}, budget().sub_calls]`))).toMatchObject({
    result_json: ["first b", 6],
  });
  const line = [
    "exec",
    "-e",
    `[${call("slow c")}, budget().sub_calls]`,
    "-s",
    "work",
    ...at(other),
    "--max-sub-calls",
    "3",
  ];
  await killedHere(other, 1, line, { home, cwd });
  pace.isFast = true;
  const resumed = json(await belayHere(["resume", "work", "-q", "--json"], { home, cwd }));
  expect(resumed).toMatchObject({ result_json: ["other slow c", 2] });
  expect(json(await run("exec", "-e", call("d")))).toMatchObject({ result_json: "first d" });
  expect((await row())?.settings).toMatchObject({ settings: { base_url: first.url, max_sub_calls: 7 } });
  const shown = json(await belayHere(["show", "work", "--json"], { home, cwd }));
  expect(shown.session.settings).not.toHaveProperty("unfinished");
});

test("a resume with flags that is killed too goes on with them", async () => {
  const { pace, first, other, home, cwd, at, begin } = await scene();
  await killedHere(first, 1, ["exec", "-e", call("slow one"), ...begin], { home, cwd });
  await killedHere(other, 1, ["resume", "work", ...at(other)], { home, cwd });
  pace.isFast = true;
  const resumed = await belayHere(["resume", "work", "-q", "--json"], { home, cwd });
  expect(json(resumed)).toMatchObject({ result_json: "other slow one", resumed: 2 });
});

test("a load that fails leaves the settings, the label and the roots as they were; a session made for it is gone", async () => {
  const { home, cwd, at, other, run, begin, row } = await scene();
  const failing = ["-c", "c/x.pdf", ...at(other), "--label", "mine"];
  expect(json(await run("exec", "-e", "1", ...failing))).toMatchObject({ success: false, session_id: null });
  expect(await row()).toBeNull();
  await belayHere(["exec", "-e", "1", "-q", ...begin], { home, cwd });
  const before = (await row())?.settings;
  expect(json(await run("exec", "-e", "1", ...failing, "--append"))).toMatchObject({ success: false });
  const unknown = [
    "--base-url",
    "",
    "--model",
    "anthropic/claude-haiku-4-5",
    "--sub-model",
    "nope/x",
    "--label",
    "mine",
  ];
  expect(json(await run("ask", "What?", ...unknown))).toMatchObject({ error_code: "no_model_configured" });
  expect((await row())?.settings).toEqual(before);
  // What is loaded may be read later, whatever the flags of its command.
  writeFileSync(join(cwd, "c", "y.txt"), "gamma");
  expect((await run("exec", "-e", "1", "-c", "c/y.txt", "--append", ...at(other), "--label", "mine")).code).toBe(0);
  expect((await row())?.settings).toMatchObject({
    settings: { roots: [join(cwd, "a.txt"), join(cwd, "c/y.txt")] },
    remarks: { label: "mine" },
  });
});
