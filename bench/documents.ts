import { execFile, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { load } from "../src/context/load/load.ts";
import { pdf, zip } from "../tests/src/documents/packed.ts";
import type { Corpus } from "./corpus.ts";
import { type Contestant, median, takeTurns, timed } from "./measure.ts";
import type { Aim, Case, Report } from "./report.ts";
import { size } from "./size.ts";
import { rightStatements } from "./statements.ts";

const PAGES = size(500, 2);
const PARAGRAPHS = size(20_000, 20);
const LINES_OF_PAGE = 45;
const TURNS = { rounds: 8, warmups: 1 };

/** Documents to P, by Belay's readers and by programs for one kind. */
export async function benchDocuments(corpus: Corpus): Promise<Report> {
  const folder = corpus.scratch();
  const lines = asciiLines(corpus.context.text.slice(0, corpus.context.text.length));
  const [report, plan] = [join(folder, "report.pdf"), join(folder, "plan.docx")];
  writeFileSync(report, pdf(...Array.from({ length: PAGES }, (_, n) => linesFrom(lines, n * LINES_OF_PAGE))));
  writeFileSync(plan, docxOf(Array.from({ length: PARAGRAPHS }, (_, n) => lines[n % lines.length] ?? "")));
  const cases = [
    await against(`${PAGES} pages of PDF`, report, "pdftotext", [report, "-"]),
    await against(`${PARAGRAPHS.toLocaleString("en-US")} paragraphs of DOCX`, plan, "pandoc", ["-t", "plain", plan]),
    await again(corpus, folder),
  ];
  const { notes = [], aims } = await rightStatements(corpus);
  return {
    title: "documents: originals into P",
    cases,
    notes: [
      ...PROGRAMS.filter(({ name }) => !isThere(name)).map(({ name }) => `${name} is not on this machine.`),
      "Belay reads in a process, which is there already after the first round. What a program needs to start counts.",
      "The folder again: its texts are kept by the hash of original, kind and reader.",
      ...notes,
    ],
    aims: [...ratios(cases), await held(report), ...aims],
  };
}

const PROGRAMS = [
  { name: "pdftotext", most: 4 },
  { name: "pandoc", most: 0.3 },
] as const;

function isThere(program: string): boolean {
  return spawnSync(program, ["-v"], { stdio: "ignore" }).error === undefined;
}

/** A load that converts each document anew, unless its text is kept in a folder. */
function loading(path: string, keptIn?: string): Promise<number> {
  const documents = keptIn === undefined ? {} : { keptIn };
  return timed(() => load({ kind: "path", path }, { roots: [dirname(path)], cwd: dirname(path), documents }));
}

async function against(name: string, path: string, program: string, args: readonly string[]): Promise<Case> {
  const belay: Contestant = { name: `Belay, ${basename(path)}`, once: () => loading(path) };
  const options = { maxBuffer: Number.POSITIVE_INFINITY };
  const peer: Contestant = { name: program, once: () => timed(() => promisify(execFile)(program, args, options)) };
  return { name, measured: await takeTurns(isThere(program) ? [belay, peer] : [belay], TURNS) };
}

async function again({ scratch }: Corpus, folder: string): Promise<Case> {
  const kept = scratch();
  await loading(folder, kept);
  const contestants = [
    { name: AGAIN, once: () => loading(folder, kept) },
    { name: "Belay, first load", once: () => loading(folder, scratch()) },
  ];
  return { name: "the folder again", measured: await takeTurns(contestants, TURNS) };
}

const AGAIN = "Belay, again";

/** The aims for pairs of which both were measured. */
function ratios(cases: readonly Case[]): Aim[] {
  return cases.flatMap(({ measured: [belay, other] }) => {
    if (!belay || !other) return [];
    const most = belay.name === AGAIN ? 0.1 : (PROGRAMS.find(({ name }) => name === other.name)?.most ?? 1);
    const ratio = median(belay.samples) / median(other.samples);
    const text = `${belay.name} takes at most ${most} of the time of ${other.name}`;
    return [{ text, value: `${ratio.toFixed(2)}x`, met: ratio <= most }];
  });
}

/** The most work of the main thread between two turns of its loop in a load of this document. Other programs do not count. */
async function held(path: string): Promise<Aim> {
  let [longest, isLoading] = [0, true];
  let before = process.threadCpuUsage();
  const turn = () => {
    const { user, system } = process.threadCpuUsage(before);
    before = process.threadCpuUsage();
    longest = Math.max(longest, (user + system) / 1000);
    if (isLoading) setImmediate(turn);
  };
  setImmediate(turn);
  await loading(path);
  isLoading = false;
  return {
    text: "a load of the PDF holds the main loop for at most 20 ms of its time",
    value: `${longest.toFixed(1)} ms`,
    met: longest <= 20,
  };
}

/** Lines of at most 90 characters. The font of the PDF has no others than ASCII. */
function asciiLines(text: string): string[] {
  return text.replace(/[^\n -~]/g, "?").match(/[^\n]{30,90}/g) ?? [];
}

function linesFrom(lines: readonly string[], start: number): string[] {
  return Array.from({ length: LINES_OF_PAGE }, (_, n) => lines[(start + n) % lines.length] ?? "");
}

function docxOf(paragraphs: readonly string[]): Buffer {
  const escaped = (said: string) => said.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const body = paragraphs.map((said) => `<w:p><w:r><w:t xml:space="preserve">${escaped(said)}</w:t></w:r></w:p>`);
  const office = "http://schemas.openxmlformats.org";
  const main = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
  return zip([
    {
      name: "[Content_Types].xml",
      data: `<Types xmlns="${office}/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="${main}"/></Types>`,
    },
    {
      name: "_rels/.rels",
      data: `<Relationships xmlns="${office}/package/2006/relationships"><Relationship Id="r1" Type="${office}/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`,
    },
    {
      name: "word/document.xml",
      data: `<w:document xmlns:w="${office}/wordprocessingml/2006/main"><w:body>${body.join("")}</w:body></w:document>`,
    },
  ]);
}
