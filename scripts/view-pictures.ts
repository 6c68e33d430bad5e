import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { startModelServer } from "../tests/support/model-server.ts";
import { launch } from "../tests/support/view/chromium.ts";
import { inBothSchemes, makeAnswerPictures } from "./answer-pictures.ts";
import { mustRun, ROOT } from "./process.ts";

// Makes the pictures of docs/pictures: the page of an answer, and the calls of an ask whose process was killed, with a scripted model.
// Needs a Chromium.

const SIZE = { width: 1200, height: 480 };
/** Dollars per million tokens of the scripted model. */
const PRICE = "3/15";

/** The cells that the model writes, and the words before them. */
const turnsOf = (calls: number) => [
  [
    "I look where kills are spoken of.",
    'const { matches } = find("kill|crash|resume|checkpoint|journal", "i");\nprint(matches.length, peek(matches[0][0], matches[0][0] + 80));',
  ],
  [
    "I ask about each passage.",
    `const passages = matches.slice(0, ${calls}).map(([start]) => peek(start - 300, start + 300));
const told = await llm_query_batch(
  passages.map((passage) => ({ prompt: "What does this promise after a kill?\\n\\n" + passage })),
  { tools: [], max_concurrent: 8 },
);
print(told.results.filter(({ ok }) => ok).length);`,
  ],
  ["That is enough.", 'answer("A step is on disk before its call is sent.", { cite: [matches[0]] })'],
];

/** How the pictures of an ask are made. */
interface Asked {
  readonly calls: number;
  /** Time between the kill and the resume, ms; 0: nothing is killed. */
  readonly awayMs: number;
  /** Arguments of node that make it `belay`. */
  readonly command: readonly string[];
}

/** Takes a picture of the calls of an ask in each scheme. */
export async function makePictures(page: Page, folder: string, { calls, awayMs, command }: Asked): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "demo-"));
  const turns = turnsOf(calls);
  await using server = await startModelServer(({ body, index, prompt }) => {
    const isRoot = (body.tools ?? []).some((tool) => tool.function.name === "rlm_exec");
    const [text = "", code = ""] = turns[body.messages.filter(({ role }) => role === "assistant").length] ?? [];
    const usage = { prompt: 260 + (prompt.length % 90), completion: 30 + (index % 40) };
    if (isRoot)
      return { text, tools: [{ id: `t${index}`, name: "rlm_exec", arguments: { code } }], delayMs: 300, usage };
    const delayMs = 60 + ((index * 7919) % 190) + (index % 23 === 0 ? 700 : 0);
    if (index % 17 === 6) return { status: 400, delayMs };
    return { text: "A step is on disk before its call is sent.", usage, delayMs };
  });
  const env = { ...process.env, BELAY_HOME: join(home, "store"), XDG_CONFIG_HOME: home };
  cpSync(join(ROOT, "docs"), join(home, "docs"), { recursive: true, filter: (path) => !path.endsWith(".png") });
  const model = [
    "--model",
    "local/scripted",
    "--base-url",
    server.url,
    "--price",
    PRICE,
    "--max-cost-usd",
    "20",
    "--max-sub-calls",
    "500",
  ];
  const asked = ["ask", "What is promised after a kill?", "-c", "docs", "--session", "promises", ...model];
  try {
    if (awayMs > 0) {
      const child = spawn(process.execPath, [...command, ...asked, "-q"], { cwd: home, env, stdio: "ignore" });
      while (server.requests.length < (calls * 2) / 5 && child.exitCode === null) await setTimeout(10);
      child.kill("SIGKILL");
      await setTimeout(awayMs);
    }
    const on = awayMs > 0 ? ["resume", "promises", ...model] : asked;
    await mustRun(process.execPath, [...command, ...on, "-q"], { cwd: home, env });
    await mustRun(process.execPath, [...command, "view", "promises", "-o", "page.html"], { cwd: home, env });
    await photograph(page, home, folder);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Takes a picture of the calls in each scheme, with the first batch opened. The folder of the script is not shown. */
async function photograph(page: Page, home: string, folder: string): Promise<void> {
  await page.setViewportSize(SIZE);
  await page.goto(pathToFileURL(join(home, "page.html")).href);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  await page.evaluate("document.querySelector('.work').scrollIntoView()");
  await page.getByRole("row", { name: /batch of/ }).dblclick();
  await page.getByRole("heading", { name: /^Batch of/ }).waitFor();
  const shown = page.getByText(`load ${home}/docs`, { exact: true }).first();
  await shown.evaluate((label) => {
    label.textContent = "load docs";
  });
  await inBothSchemes(page, (scheme) => join(folder, `view-${scheme}.png`));
}

if (process.argv[1] === import.meta.filename) {
  const command = [join(ROOT, "src/cli/main.ts")];
  const pictures = join(ROOT, "docs/pictures");
  const browser = await launch();
  const page = await browser.newPage();
  await makeAnswerPictures(page, pictures, command);
  await makePictures(page, pictures, { calls: 150, awayMs: 4000, command });
  await browser.close();
}
