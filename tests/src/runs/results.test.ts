import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLine, tableLines } from "../../../src/runs/results.ts";
import type { JobPage, JobRow } from "../../../src/store/index.ts";
import { anyCharacter } from "../../support/any-character.ts";
import { collected } from "../../support/collected.ts";
import { JOB } from "../../support/jobs/scene.ts";
import { scene } from "../cli/batch/scene.ts";
import { said } from "../cli/belay.ts";

test("what a line of a table quotes is read again as it was", () => {
  const cells = fc.array(fc.string({ unit: anyCharacter }), { minLength: 2, maxLength: 5 });
  fc.assert(
    fc.property(cells, (row) => {
      const [read] = parse(csvLine(row), { record_delimiter: "\n" });
      expect(read?.map((cell, at) => (cell === `'${row[at]}` ? row[at] : cell))).toEqual(row);
    }),
  );
});

test("a text that a spreadsheet would calculate gets a quote before it, and a number does not", () => {
  const formulas = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "＝1"];
  expect(csvLine(formulas, true)).toBe("=1+1,+cmd|' /C calc'!A0,-2+3,@SUM(A1),\"\t=1\",＝1\n");
  expect(csvLine(formulas)).toBe("'=1+1,'+cmd|' /C calc'!A0,'-2+3,'@SUM(A1),'\t=1,'＝1\n");
  expect(csvLine(["-5", "+1.5e3", "-.5", -7, 0.25, true, null, " a", "a,b", 'say "a"', "two\nlines"])).toBe(
    '-5,+1.5e3,-.5,-7,0.25,true,," a","a,b","say ""a""","two\nlines"\n',
  );
});

/** Jobs that are over, each with its input and what its cell gave; without one it failed. */
function tableOf(...jobs: (readonly [input: string, result?: string])[]): Promise<string[]> {
  const rows = jobs.map(([, result], n): JobRow => {
    const told = result === undefined ? { error: "Error: no", error_code: "js_error" } : { cost_usd: 0.5 };
    return { ...JOB, n, id: `j${n}`, state: result === undefined ? "failed" : "done", told };
  });
  return collected(
    tableLines({
      run: "R",
      order: null,
      jobs: {
        list: async (_run, { from, limit, among }: JobPage) =>
          rows.filter(({ n }) => n >= from && (among ?? [n]).includes(n)).slice(0, limit),
        input: async ({ n }) => jobs[n]?.[0] ?? "null",
        result: async ({ n }) => jobs[n]?.[1] ?? null,
      },
    }),
  );
}

test("a table has a column for each field of the inputs and of the results, in whichever job it is", async () => {
  expect(
    await tableOf(
      ['{"id":"a","text":"x"}', '{"label":"good","job":1,"text":"y"}'],
      ['{"id":"b","n":2}'],
      ['"bare"', '[1,{"a":2}]'],
      ["null", '{"label":null,"more":{"deep":[1]}}'],
    ),
  ).toEqual([
    "job,status,id,text,n,input,label,result.job,result.text,more,result,error,cost_usd\n",
    "j0,done,a,x,,,good,1,y,,,,0.5\n",
    "j1,failed,b,,2,,,,,,,Error: no (js_error),0\n",
    'j2,done,,,,bare,,,,,"[1,{""a"":2}]",,0.5\n',
    'j3,done,,,,,,,,"{""deep"":[1]}",,,0.5\n',
  ]);
});

test("results with more fields than a table has columns for are whole, in one column", async () => {
  const wide = JSON.stringify(Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [`f${n}`, n])));
  const [header, first, second] = await tableOf(['"x"', wide], ['"y"', '{"a":1}']);
  expect(header).toBe("job,status,input,result,error,cost_usd\n");
  expect(first).toHaveLength(`j0,done,x,"${wide.replaceAll('"', '""')}",,0.5\n`.length);
  expect(second).toBe('j1,done,y,"{""a"":1}",,0.5\n');
});

test("-o labels.csv is a table from a table, and jobs out --format writes either", async () => {
  const { folder, type, lines } = await scene({
    "in.csv": "id,text\na,one\nb,bad\nc,=three\n",
    "ask.js": 'if (job.text === "bad") throw new Error("no label"); ({ label: job.text })',
  });
  const line = ["batch", "ask.js", "--jobs", "in.csv", "--name", "mine", "-o", "labels.csv"];
  expect(await type(line)).toMatchObject({ code: 1 });
  const table = [
    "job,status,id,text,label,error,cost_usd",
    "a,done,a,one,one,,0",
    "b,failed,b,bad,,Error: no label (js_error),0",
    "c,done,c,'=three,'=three,,0\n",
  ].join("\n");
  expect(readFileSync(join(folder, "labels.csv"), "utf8")).toBe(table);
  expect(await type(["jobs", "out", "mine", "--format", "csv"])).toMatchObject({ code: 0, stdout: table });
  const drawn = [
    "job  status  id  text    label   error                       cost_usd",
    "a    done    a   one     one                                        0",
    "b    failed  b   bad             Error: no label (js_error)         0",
    "c    done    c   =three  =three                                     0\n",
  ].join("\n");
  expect(await type(["jobs", "out", "mine", "--format", "table"])).toMatchObject({ code: 0, stdout: drawn });
  await type(["jobs", "out", "mine", "-o", "labels.txt", "--format", "jsonl"]);
  expect(lines("labels.txt").map(({ job }) => job)).toEqual(["a", "b", "c"]);
});

test("results that go to a FIFO that nobody reads end the command with an error, also if all jobs are done", async () => {
  const { folder, type } = await scene({ "in.jsonl": "1\n2\n" });
  const line = ["batch", "once.js", "--jobs", "in.jsonl"];
  expect(await type(line)).toMatchObject({ code: 0 });
  execFileSync("mkfifo", [join(folder, "pipe.jsonl")]);
  expect(await type([...line, "-o", "pipe.jsonl"])).toMatchObject(
    said(1, "pipe.jsonl cannot be written: nobody reads this FIFO (output_failed)"),
  );
});
