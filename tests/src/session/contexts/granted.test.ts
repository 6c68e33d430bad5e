import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openGranted } from "../../../../src/session/contexts/granted.ts";
import { openSessionWith } from "../../../../src/session/session.ts";
import { startModelServer } from "../../../support/model-server.ts";
import { folderWith } from "../../../support/tree.ts";

test("of folders that a journal names, those count that the caller names too", () => {
  const folder = folderWith({ "own/part/": "", "own/a.txt": "", "private/": "" });
  const at = (name: string) => join(folder, name);
  symlinkSync(at("private"), at("own/link"));
  const granted = openGranted([at("own")], folder);
  const among = (...names: string[]) => granted.among(names.map(at));
  expect(among("own", "own/part", "own/a.txt", "own/gone")).toEqual(
    ["own", "own/part", "own/a.txt", "own/gone"].map(at),
  );
  // What lies wider shrinks to what is allowed.
  expect(granted.among(["/"])).toEqual([at("own")]);
  expect(among("private", "own/link", "own/../private", "owner")).toEqual([]);
  // A journal cannot keep the host busy.
  expect(granted.among([...Array.from({ length: 1_000 }, () => "/gone"), at("own")])).toEqual([]);
  granted.allow([at("private")]);
  expect(among("private", "own/link")).toEqual([at("private")]);
});

test("a sub-agent reads what the caller allows, and not what the session's journal was loaded from", async () => {
  const folder = folderWith({ "private/secret.txt": "the secret", "own/a.txt": "own text" });
  const at = (name: string) => join(folder, name);
  await using server = await startModelServer(({ body, prompt }) => {
    const asks = body.messages.at(-1)?.role === "user";
    return asks ? { tools: [{ id: "t", name: "read_file", arguments: { path: prompt } }] } : { text: "done" };
  });
  const store = at("store");
  const first = await openSessionWith({ store, session: "s", roots: [at("private")] }, {});
  await first.load(at("private"));
  await first.close();
  const options = { roots: [at("own")], model: "local/m", baseUrl: server.url };
  await using second = await openSessionWith({ store, session: "s", ...options }, {});
  const paths = [at("private/secret.txt"), at("own/a.txt")];
  const source = `for (const path of ${JSON.stringify(paths)}) await llm_query(path, { tools: ["read_file"] })`;
  expect(await second.exec(source)).toMatchObject({ success: true });
  const answers = server.requests.flatMap(({ body }) => body.messages.filter(({ role }) => role === "tool"));
  expect(JSON.stringify(answers)).toContain("own text");
  expect(JSON.stringify(answers)).not.toContain("the secret");
});
