import { join } from "node:path";
import { expect, test } from "vitest";
import type { Json } from "../../../../runtime/index.ts";
import { openSession, openStore } from "../../../../src/index.ts";
import { optionProblem } from "../../../../src/session/options.ts";
import { remarksOf, withRemarks } from "../../../../src/session/stored/remarks.ts";
import { openSigner } from "../../../../src/settings/signed-settings.ts";
import { folderWith } from "../../../support/tree.ts";

test("a label is kept with its session, changed, inherited by a fork and taken away", async () => {
  const folder = join(folderWith(), "store");
  await using store = await openStore(folder);
  const labels = async () => (await store.list()).map(({ name, label }) => [name, label]);
  const opened = async (label?: string) => {
    const given = label === undefined ? {} : { label };
    await using session = await openSession({ store: folder, session: "main", ...given });
    await session.exec("1");
  };
  await opened();
  expect(await labels()).toEqual([["main", null]]);
  await opened("letters of 1912 – été");
  await opened();
  expect(await labels()).toEqual([["main", "letters of 1912 – été"]]);
  await store.fork("main", { name: "past" });
  await opened("other");
  expect(await labels()).toEqual([
    ["main", "other"],
    ["past", "letters of 1912 – été"],
  ]);
  expect((await store.describe("main")).label).toBe("other");
  await opened("");
  expect((await store.describe("main")).label).toBeNull();
});

test("a label is a line of up to 200 characters", async () => {
  const refused = "a line of up to 200 characters";
  for (const label of ["a\nb", "\u001b[2J", "a\u0000", "a\u2028b", "\u202egnp.exe", "x".repeat(201), 5]) {
    expect(optionProblem("label", label)).toBe(refused);
  }
  for (const label of ["", "x".repeat(200), "👩‍💻".repeat(2), "a\u00a0b"])
    expect(optionProblem("label", label)).toBeNull();
  const message = `openSession(): label must be ${refused}, and is another text`;
  await expect(openSession({ label: "a\nb" })).rejects.toMatchObject({ code: "invalid_argument", message });
});

test("a row without a remark, or with a damaged one, has none", () => {
  const rows: Json[] = [null, 5, [], {}, { remarks: 5 }, { remarks: { label: "a\nb" } }, { remarks: { label: 5 } }];
  for (const settings of rows) expect(remarksOf({ settings })).toEqual({ label: null });
  expect(remarksOf({ settings: { cwd: "/x", remarks: { label: "a" } } })).toEqual({ label: "a" });
});

test("a remark leaves the signature of the settings beside it", () => {
  const folder = folderWith({ "store/": "" });
  const signer = openSigner(join(folder, "store"), { XDG_CONFIG_HOME: join(folder, "mine") });
  const signed = signer.sign({ cwd: "/here" }, "S1");
  const labelled = withRemarks(signed, { label: "a" });
  expect(labelled).toEqual({ ...Object(signed), remarks: { label: "a" } });
  for (const settings of [labelled, withRemarks(labelled, { label: "b" }), withRemarks(labelled, { label: null })]) {
    expect(signer.doubt(settings, "S1")).toBeNull();
  }
  expect(withRemarks(labelled, { label: null })).toEqual(signed);
  expect(withRemarks(null, { label: null })).toBeNull();
});
