import { execFileSync } from "node:child_process";
import { truncateSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { inputsOf } from "../../../../src/runs/inputs/inputs.ts";
import { tableDecoding } from "../../../../src/runs/inputs/lines.ts";
import type { TableShape } from "../../../../src/runs/inputs/tables.ts";
import { collected } from "../../../support/collected.ts";
import { folderWith, type Tree } from "../../../support/tree.ts";
import { scene } from "../../cli/batch/scene.ts";
import { said } from "../../cli/belay.ts";
import { ORIGINALS } from "../../documents/originals.ts";
import { zip } from "../../documents/packed.ts";

// Jobs of sheets and tables that a reader of documents gives.

const NEVER = new AbortController().signal;

function inFolder(tree: Tree): void {
  const before = process.cwd();
  onTestFinished(() => process.chdir(before));
  process.chdir(folderWith(tree));
}

/** The inputs as JSON with their places, and what was told of them. */
async function read(jobs: string, shape: TableShape = {}) {
  const decoding = tableDecoding(jobs, { lossy: false });
  const { all } = await inputsOf(jobs, NEVER, {}, { decoding, shape });
  const inputs = (await collected(all)).map(({ at, value }) => [at, JSON.stringify(value)]);
  return { inputs, notes: decoding.notes() };
}

const cell = (at: string, value: string, more = "") => `<c r="${at}"${more}><v>${value}</v></c>`;
const text = (at: string, value: string) => `<c r="${at}" t="inlineStr"><is><t>${value}</t></is></c>`;

/** A workbook with these sheets. Its styles are a date, a date with a time of day, and hours. */
function workbook(sheets: Readonly<Record<string, readonly string[]>>, more: Parameters<typeof zip>[0] = []): Buffer {
  const names = Object.keys(sheets);
  const relation = (n: number) =>
    `<Relationship Id="r${n}" Type="http://x/worksheet" Target="worksheets/sheet${n}.xml"/>`;
  const styles = [0, 14, 22, 46].map((id) => `<xf numFmtId="${id}"/>`).join("");
  return zip([
    { name: "[Content_Types].xml", data: "<Types/>" },
    {
      name: "xl/workbook.xml",
      data: `<workbook><sheets>${names.map((name, n) => `<sheet name="${name}" r:id="r${n}"/>`).join("")}</sheets></workbook>`,
    },
    {
      name: "xl/_rels/workbook.xml.rels",
      data: `<Relationships>${names.map((_, n) => relation(n)).join("")}</Relationships>`,
    },
    { name: "xl/styles.xml", data: `<styleSheet><cellXfs>${styles}</cellXfs></styleSheet>` },
    ...names.map((name, n) => ({
      name: `xl/worksheets/sheet${n}.xml`,
      data: `<worksheet><sheetData>${sheets[name]?.map((row, at) => `<row r="${at + 1}">${row}</row>`).join("")}</sheetData></worksheet>`,
    })),
    ...more,
  ]);
}

test("cells of a sheet have their raw values: ids, numbers as written, dates in ISO form, hours beyond a day", async () => {
  const names = ["id", "n", "day", "at", "took"].map((name, n) => text(`${"ABCDE"[n]}1`, name)).join("");
  const rows = [
    names,
    `${text("A2", "007")}${cell("B2", "1234567890123456789")}${cell("C2", "45292", ' s="1"')}${cell("D2", "45292.75", ' s="2"')}${cell("E2", "1.5", ' s="3"')}`,
    `${cell("A3", "8")}${cell("B3", "0.30000000000000004")}${cell("D3", "#N/A", ' t="e"')}${cell("E3", "1", ' t="b"')}`,
  ];
  inFolder({ "a.xlsx": workbook({ Sales: rows, Empty: [] }) });
  expect(await read("a.xlsx")).toEqual({
    inputs: [
      [
        "row 2 of Sales in a.xlsx",
        '{"id":"007","n":1234567890123456789,"day":"2024-01-01","at":"2024-01-01T18:00:00","took":"36:00:00"}',
      ],
      ["row 3 of Sales in a.xlsx", '{"id":8,"n":0.30000000000000004,"day":"","at":"#N/A","took":true}'],
    ],
    notes: [],
  });
});

test("a sheet of several is chosen by its name, and a row that is wider than the header is not cut", async () => {
  const one = [text("A1", "a"), text("A2", "x")];
  inFolder({
    "two.xlsx": workbook({ One: one, Two: [text("A1", "b"), text("A2", "y")] }),
    "wide.xlsx": workbook({ One: [...one, `${text("A3", "x")}${text("B3", "more")}`] }),
  });
  await expect(read("two.xlsx")).rejects.toMatchObject({
    message: 'two.xlsx has 2 sheets: "One", "Two"',
    suggestion: "Name one with --sheet NAME, or --table NAME of a database.",
  });
  await expect(read("two.xlsx", { sheet: "no" })).rejects.toThrow('has no sheet "no"; it has "One", "Two"');
  expect((await read("two.xlsx", { sheet: "Two" })).inputs).toEqual([["row 2 of Two in two.xlsx", '{"b":"y"}']]);
  await expect(read("wide.xlsx")).rejects.toMatchObject({
    at: "row 3 of One in wide.xlsx",
    message: "has 2 columns, and the first row has 1",
    cure: "Name the columns: --columns a,column_2; add --no-header if the first row is not one of names.",
  });
  expect((await read("wide.xlsx", { columns: ["a", "b"] })).inputs).toMatchObject([{}, { 1: '{"a":"x","b":"more"}' }]);
  await expect(inputsOf("two.xlsx", NEVER, {}, { shape: { table: "One" } })).rejects.toThrow(
    "--table is for databases",
  );
});

test("jobs come of ODS and Parquet files and of a table of a database", async () => {
  inFolder({ "cost.ods": ORIGINALS["cost.ods"]?.() ?? "", "cities.parquet": ORIGINALS["cities.parquet"]?.() ?? "" });
  const database = new DatabaseSync("shop.db");
  database.exec("CREATE TABLE a(id INTEGER, name TEXT, price REAL, pic BLOB); CREATE TABLE b(x);");
  database.exec("INSERT INTO a VALUES (1234567890123456789, '007', 1.5, x'00'), (2, CAST(x'61e9' AS TEXT), 3, NULL)");
  database.close();
  expect((await read("cost.ods", { noHeader: true })).inputs).toEqual([
    ["row 3 of Kosten in cost.ods", '{"column_1":"2024-02-01","column_2":1.5}'],
    ["row 4 of Kosten in cost.ods", '{"column_1":"twice","column_2":"twice"}'],
    ["row 5 of Kosten in cost.ods", '{"column_1":"twice","column_2":"twice"}'],
  ]);
  expect((await read("cities.parquet")).inputs).toMatchObject([{ 1: '{"city":"Bern","people":134000}' }, {}]);
  expect(await read("shop.db", { table: "a" })).toEqual({
    inputs: [
      ["row 1 of a in shop.db", '{"id":1234567890123456789,"name":"007","price":1.5,"pic":null}'],
      ["row 2 of a in shop.db", '{"id":2,"name":"a\ufffd","price":3,"pic":null}'],
    ],
    notes: ["shop.db: 1 binary value of a left out", "shop.db: 1 character without a meaning of a left out"],
  });
  await expect(read("shop.db")).rejects.toThrow('shop.db has 2 tables: "a", "b"');
});

test("a file is bounded before it is read, and so is a row; what stands beside a database is not waited for", async () => {
  const long = text("A2", "x".repeat(2 ** 20));
  inFolder({ "long.xlsx": workbook({ One: [text("A1", "a"), long] }), "big.db": "SQLite format 3\0" });
  await expect(read("long.xlsx")).rejects.toMatchObject({ message: "is longer than 1 MB" });
  truncateSync("big.db", 2 ** 28 + 1);
  await expect(read("big.db")).rejects.toMatchObject({ at: "big.db", message: "is larger than 256 MB" });
  const database = new DatabaseSync("shop.db");
  database.exec("CREATE TABLE a(x); INSERT INTO a VALUES (1)");
  database.close();
  execFileSync("mkfifo", ["shop.db-wal"]);
  expect((await read("shop.db")).inputs).toEqual([["row 1 of a in shop.db", '{"x":1}']]);
});

test("a workbook becomes a table of results, and --encoding says nothing of it", async () => {
  const { type } = await scene({ "a.xlsx": workbook({ One: [text("A1", "word"), text("A2", "=1+1")] }) });
  const line = ["batch", "once.js", "--jobs", "a.xlsx", "-o", "-", "--format", "csv"];
  expect((await type(line)).stdout).toContain("1,done,'=1+1,");
  expect((await type([...line, "--plain"])).stdout).toContain("1,done,=1+1,");
  expect(await type([...line, "--encoding", "latin1"])).toMatchObject(
    said(2, "--encoding sets how contexts load, and these jobs have none"),
  );
});

test("comments of the sheet whose rows are jobs are told, and those of another sheet are not", async () => {
  const sheets = { One: [text("A1", "id"), text("A2", "a")], Two: [text("A1", "id"), text("A2", "b")] };
  const relation = '<Relationship Id="c" Type="http://x/comments" Target="../comments1.xml"/>';
  const comments = [
    { name: "xl/worksheets/_rels/sheet0.xml.rels", data: `<Relationships>${relation}</Relationships>` },
    { name: "xl/comments1.xml", data: "<comments><comment>Too dear</comment></comments>" },
  ];
  inFolder({ "a.xlsx": workbook(sheets, comments) });
  const notes = async (sheet: string) => (await read("a.xlsx", { sheet })).notes;
  expect(await notes("One")).toEqual(["a.xlsx: 1 part with comments of One left out"]);
  expect(await notes("Two")).toEqual([]);
});
