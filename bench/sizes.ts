import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { openCorpus } from "./corpus.ts";
import { figuresOf, printed, type Report } from "./report.ts";
import { size } from "./size.ts";
import { benchTableRows } from "./table-rows.ts";

const MB = 2 ** 20;
/** Bytes of the corpora, by the names that `--size` knows. A context has 100 MB with the lines between its documents. */
export const SIZES: Readonly<Record<string, number>> = { "1mb": MB, "10mb": 10 * MB, "100mb": 95 * MB };
const PAGE = fileURLToPath(new URL("../docs/benchmarks.md", import.meta.url));
const NOTES = fileURLToPath(new URL("./benchmarks-notes.md", import.meta.url));
/** The part of a corpus that is neither English nor code. */
const OTHER_SHARE = 0.05;

/**
 * Measures at each size up to this one.
 *
 * @param isWritten docs/benchmarks.md is made of it
 */
export async function benchSizes(largest: string, isWritten: boolean): Promise<void> {
  const reports: Report[] = [];
  for (const [name, bytes] of Object.entries(SIZES)) {
    using corpus = await openCorpus(size(bytes, MB / 4), otherText(size(bytes, MB / 4) * OTHER_SHARE));
    const report = await benchTableRows(corpus);
    reports.push({
      ...report,
      title: `${name.replace("mb", " MB")}: ${corpus.files.length.toLocaleString("en-US")} files`,
    });
    console.log(`\n${printed(report)}`);
    if (isWritten) writeFileSync(PAGE, page(reports, name));
    if (name === largest) break;
  }
}

/** Lines of Chinese, Japanese, Korean and emoji, always the same ones. */
function otherText(bytes: number): string {
  const words = [
    "検索エンジン",
    "的",
    "設計",
    "我们",
    "서울에서",
    "만나요",
    "😀",
    "🚀🛰️",
    "ガイド",
    "naïve",
    "を",
    "数据",
    "。",
  ];
  let state = 1;
  let text = "";
  for (let left = bytes; left > 0; ) {
    const line = Array.from({ length: 12 }, () => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return words[(state >>> 8) % words.length];
    }).join(state % 3 === 0 ? " " : "");
    text += `${line}\n`;
    left -= Buffer.byteLength(line) + 1;
  }
  return text;
}

function page(all: readonly Report[], largest: string): string {
  // The smallest size says little beside the others.
  const reports = all.slice(-2);
  const rows = (reports.at(-1)?.cases ?? []).map(({ name, measured }) => {
    const [belay = [], ...others] = measured.map((_, index) =>
      reports.map(({ cases }) => {
        const one = cases.find((candidate) => candidate.name === name);
        return one && figuresOf(one)[index];
      }),
    );
    const medians = belay.map((figure) => milliseconds(figure?.median ?? null));
    const ratios = others.map((figures) => {
      const each = figures.map((figure) => figure?.belay_ratio?.toPrecision(2) ?? "–");
      return `${figures.at(-1)?.contestant ?? ""}: ${each.join(", ")}`;
    });
    return `| ${inTable(name)} | ${medians.join(" | ")} | ${ratios.join("; ")} |`;
  });
  const [cpu] = cpus();
  return `# Benchmarks

\`npm run bench -- --size ${largest} --write\` writes this page.

Node ${process.version}, ${process.platform}-${process.arch}, ${cpus().length} CPUs (${cpu?.model.trim()}), load at the end ${loadavg()[0]?.toFixed(1)}. The corpora are sources and documents of
packages with 5 % of Chinese, Japanese, Korean and emoji (${reports.map(({ title }) => title).join("; ")}). Contestants take turns.

| | Belay, median ms: ${reports.map(({ title }) => title.split(":")[0]).join(" | ")} | Belay ÷ other, at each size |
|---|${reports.map(() => "---|").join("")}---|
${rows.join("\n")}

${readFileSync(NOTES, "utf8")}`;
}

const inTable = (name: string) => (name.includes("/") ? `\`${name.replaceAll("|", "\\|")}\`` : name);

function milliseconds(value: number | null): string {
  return value === null ? "–" : value.toLocaleString("en-US", { maximumSignificantDigits: 3 });
}
