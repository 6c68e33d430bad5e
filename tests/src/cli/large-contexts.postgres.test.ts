import { afterAll, expect, test } from "vitest";
import { openSession } from "../../../src/index.ts";
import { lowerBorder } from "../../support/low-border.ts";
import { freshStoreUrl, NO_POSTGRES } from "../../support/postgres/server.ts";
import { folderWith, grow } from "../../support/tree.ts";
import { json } from "./belay.ts";
import { belayHere } from "./in-process.ts";

/** One more than a small context has here. */
const FILES = 21;
afterAll(lowerBorder(FILES - 1));

test.skipIf(NO_POSTGRES)(
  "a store on a server refuses what is large, names the flags, and goes on as it was",
  async () => {
    const url = await freshStoreUrl();
    const cwd = folderWith(Object.fromEntries(Array.from({ length: FILES - 1 }, (_, n) => [`files/${n}.txt`, "text"])));
    const home = folderWith();
    const exec = async (code: string, ...args: string[]) =>
      json(await belayHere(["exec", "-e", code, "-s", "a", "--json", ...args], { cwd, home }));
    const onServer = ["--store", url];
    const load = ["-c", "files", "--max-files", "100"];
    expect(await exec("let n = list_docs().length; n", ...onServer, ...load)).toMatchObject({ result_json: FILES - 1 });
    grow(cwd, { "files/more.txt": "text" });
    for (const change of [["--reload"], ["--append"], ["-s", "new"]]) {
      expect(await exec("n", ...onServer, ...load, ...change)).toMatchObject({
        error_code: "context_too_large",
        suggestion: expect.stringMatching(
          /^Only a store in a folder keeps larger ones: name one with `--store FOLDER`, and .* `--max-files 1000`\. Or: /,
        ),
      });
    }
    expect(await exec("n += 1", ...onServer)).toMatchObject({ result_json: FILES });
    const { sessions } = json(await belayHere(["sessions", "--json", ...onServer], { home }));
    expect(sessions).toMatchObject([{ name: "a" }]);

    await using session = await openSession({ store: url, maxFiles: 100, cwd });
    await expect(session.load("files")).rejects.toMatchObject({
      code: "context_too_large",
      suggestion: expect.stringContaining("name one as `store`, and allow so many with `maxFiles: 1000`"),
    });
    // The cure works.
    const cured = await exec("list_docs().length", "--store", "folder", "-c", "files", "--max-files", "1000");
    expect(cured).toMatchObject({ result_json: FILES });
  },
);
