import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { BUILD_VARIABLE } from "../../bench/built.ts";
import { ROOT, run } from "../../scripts/process.ts";
import { BUNDLED } from "../support/command.ts";
import { folderWith } from "../support/tree.ts";

test("documents are compared with the programs that are there, and the others are named", async () => {
  const programs = folderWith({ pdftotext: "#!/bin/sh\necho text\n" });
  chmodSync(join(programs, "pdftotext"), 0o755);
  const { stdout, output } = await run(process.execPath, ["bench/run.ts", "--json", "--smallest", "documents"], {
    cwd: ROOT,
    env: { ...process.env, PATH: programs, [BUILD_VARIABLE]: BUNDLED },
  });
  expect(stdout, output).toMatch(/^\{/);
  const { cases, notes, aims } = JSON.parse(stdout).parts.documents;
  const contestants = cases.map(({ figures }: { figures: { contestant: string }[] }) =>
    figures.map(({ contestant }) => contestant),
  );
  expect(contestants).toEqual([
    ["Belay, report.pdf", "pdftotext"],
    ["Belay, plan.docx"],
    ["Belay, again", "Belay, first load"],
  ]);
  expect(notes[0]).toBe("pandoc is not on this machine.");
  expect(notes).toContainEqual(expect.stringMatching(/^right statements about docx: \d+ of \d+/));
  expect(aims.map(({ text }: { text: string }) => text)).toContain("all statements about documents are right");
});
