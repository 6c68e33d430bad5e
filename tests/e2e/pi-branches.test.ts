import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { findingsIn } from "../../src/store/whole-reads.ts";
import { envelopeOf, resultTo } from "../support/pi/model.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, type Pi, type PiEvent } from "../support/pi/process.ts";
import { exec, mirrored, type PiScene, piScene } from "../support/pi/scene.ts";

const NOTEBOOK = JSON.stringify({ nbformat: 4, cells: [{ cell_type: "code", source: "beta = 1", outputs: [] }] });

played(NEWEST_PI, "variables, memory, helpers and context are those of the branch", async (line) => {
  await using scene = await piScene(line, { files: { "a.txt": "alpha\n", "note.ipynb": NOTEBOOK } });
  const { model, home, start } = scene;
  let pi = start();
  await pi.prompt(
    model.plan("prepare", { tool: "rlm_load", args: { path: home.project } }, exec("let path = ['root']; path")),
  );
  const file = await pi.sessionFile();
  const trunk = leafOf(file);
  expect(await walk(scene, pi, "left")).toEqual(["root", "left"]);
  writeFileSync(`${home.project}/left.txt`, "left");
  await pi.prompt(
    model.plan(
      "left only",
      { tool: "rlm_memory_put", args: { key: "side", value: "left" } },
      { tool: "rlm_helpers_add", args: { name: "side", code: "const side = () => 'left';" } },
      { tool: "rlm_load_append", args: { path: `${home.project}/left.txt` } },
    ),
  );
  const left = leafOf(file);
  const sides = "result = [memory.list(), helpers.list().length, list_docs().length, path]";

  // Back to the trunk: nothing of the left is there, and the other branch grows beside it.
  await pi.prompt(`/goto ${trunk}`);
  expect(await told(scene, pi, "look from the trunk", sides)).toEqual([[], 0, 2, ["root"]]);
  expect(await walk(scene, pi, "right")).toEqual(["root", "right"]);
  const right = leafOf(file);
  await pi.prompt(`/goto ${left}`);
  expect(await told(scene, pi, "look from the left", sides)).toEqual([["side"], 1, 3, ["root", "left"]]);
  await pi.prompt(`/goto ${right}`);
  expect(await walk(scene, pi, "further")).toEqual(["root", "right", "further"]);

  // A new process goes on where the file's last entry is.
  await pi.kill();
  pi = start(file);
  expect(await walk(scene, pi, "next process")).toEqual(["root", "right", "further", "next process"]);
  // The notebook became text when it was loaded, and keeps the places of its cells.
  expect(await told(scene, pi, "where", "result = doc_at(find('beta').matches[0][0]).place")).toBe("cell 1");

  // Compaction takes messages out of the model's sight, not state out of the branch.
  await pi.ask("compact");
  expect(entriesIn(file).at(-1)?.type).toBe("compaction");
  expect(await walk(scene, pi, "compacted")).toHaveLength(5);

  // A fork from before a prompt stands where that prompt found it; the session that it left stays as it was.
  const { messages }: { readonly messages?: readonly { entryId: string; text: string }[] } =
    await pi.ask("get_fork_messages");
  const from = messages?.find(({ text }) => text === promptOf("further"));
  await pi.ask("fork", { entryId: from?.entryId });
  const forked = await pi.sessionFile();
  expect(forked).not.toBe(file);
  expect(await walk(scene, pi, "forked")).toEqual(["root", "right", "forked"]);
  await pi.ask("switch_session", { sessionPath: file });
  expect(await walk(scene, pi, "back")).toHaveLength(6);
  await pi.ask("switch_session", { sessionPath: forked });
  expect(await walk(scene, pi, "back in the fork")).toEqual(["root", "right", "forked", "back in the fork"]);

  // An earlier state can be taken up again where the conversation is.
  const state = mirrored(forked, "rlm_complete").at(-2)?.data?.checkpoint;
  pi.send({ type: "prompt", message: "/rlm checkpoints" });
  const dialog: PiEvent & { readonly options?: readonly string[] } = await pi.until(
    ({ method }) => method === "select",
  );
  const value = dialog.options?.find((option) => option.endsWith(String(state).slice(-8)));
  pi.send({ type: "extension_ui_response", id: dialog.id, value });
  await pi.until(({ method, message }) => method === "notify" && String(message).includes("is at checkpoint"));
  expect(await walk(scene, pi, "earlier")).toEqual(["root", "right", "forked", "earlier"]);

  // A session without RLM has neither state nor entries.
  await pi.ask("new_session");
  expect(await told(scene, pi, "look in a new session", "P.length")).toBe("context_not_loaded");
  expect(pi.events.filter(({ type }) => type === "extension_error")).toEqual([]);
  await pi.kill();
  const checkpoints = mirrored(file, "rlm_complete").map(({ data }) => data?.checkpoint);
  expect(new Set(checkpoints).size).toBe(checkpoints.length);
  await using store = await openStore(home.belay);
  expect(await findingsIn(store)).toEqual([]);
});

function promptOf(step: string): string {
  return `take the step ${step}`;
}

/** Has a cell add a step to the path; answers the path, or the error code. */
function walk(scene: PiScene, pi: Pi, step: string): Promise<unknown> {
  return told(scene, pi, promptOf(step), `path.push(${JSON.stringify(step)}); result = path`);
}

/** The result of a cell as the model is told it, or the error's code. */
async function told({ model }: PiScene, pi: Pi, prompt: string, code: string): Promise<unknown> {
  await pi.prompt(model.plan(prompt, exec(code)));
  const { success, result_json, error_code } = envelopeOf(resultTo(model.turns().at(-1), prompt));
  return success === true ? result_json : error_code;
}

function leafOf(file: string): string {
  return entriesIn(file).at(-1)?.id ?? "";
}
