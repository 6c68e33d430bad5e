import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Page } from "playwright-core";
import { pdf } from "../tests/src/documents/packed.ts";
import { startModelServer } from "../tests/support/model-server.ts";
import { mustRun } from "./process.ts";

// Makes the pictures of an answer's page: a question about a folder of contracts, with a scripted model.

const SIZE = { width: 1200, height: 900 };

const LEASE = [
  ["Lease of the office at Quay 7", "between Harbour Homes Ltd and Miller & Sons", "signed on 12 May 2024"],
  ["1. The rent is 900 EUR a month.", "2. It is due on the first of each month."],
  [
    "7. Either party may give notice in writing.",
    "The notice period is 24 months to the end of a quarter.",
    "8. Repairs",
  ],
];
const ADDENDUM = [
  ["Addendum of 3 March 2025", "Clause 2: the rent is 950 EUR from April 2025.", "All else stays as it is."],
];
const LETTERS = 36;

const CELLS = [
  'for (const id of ["lease.pdf", "addendum.pdf"]) print(peek_doc(id, 0, 2000));',
  `const [notice] = find("The notice period is 24 months").matches;
const [rent] = find("the rent is 950 EUR").matches;
const [rest] = find("All else stays as it is.").matches;
answer(
  "The notice period is 24 months to the end of a quarter [1]. The addendum of March 2025 does not change it: " +
    "it raises the rent to 950 EUR [2] and leaves all else as it is [3].",
  { cite: [notice, rent, rest] },
);`,
];

/** Takes a picture of the page of an answer in each scheme, with its first source opened. @param command arguments of node that make it `belay` */
export async function makeAnswerPictures(page: Page, folder: string, command: readonly string[]): Promise<void> {
  const home = mkdtempSync(join(tmpdir(), "demo-"));
  const contracts = join(home, "contracts");
  mkdirSync(join(contracts, "letters"), { recursive: true });
  writeFileSync(join(contracts, "lease.pdf"), pdf(...LEASE));
  writeFileSync(join(contracts, "addendum.pdf"), pdf(...ADDENDUM));
  writeFileSync(join(contracts, "annex-scan.pdf"), pdf([]));
  for (let number = 1; number <= LETTERS; number++) {
    writeFileSync(join(contracts, "letters", `letter-${number}.txt`), `Letter ${number}: we thank you for yours.\n`);
  }
  await using server = await startModelServer(({ body, index }) => {
    const code = CELLS[body.messages.filter(({ role }) => role === "assistant").length];
    return {
      tools: [{ id: `t${index}`, name: "rlm_exec", arguments: { code } }],
      usage: { prompt: 4200, completion: 210 },
    };
  });
  const env = { ...process.env, BELAY_HOME: join(home, "store"), XDG_CONFIG_HOME: home };
  const question = "How long is the notice period of the lease, and does an addendum change it?";
  const model = ["--model", "local/scripted", "--base-url", server.url, "--price", "3/15"];
  const asked = ["ask", question, "-c", "contracts", "--session", "lease", "--view=page.html", "-q", ...model];
  try {
    await mustRun(process.execPath, [...command, ...asked], { cwd: home, env });
    await photograph(page, home, folder);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The folder of the script is not shown. */
async function photograph(page: Page, home: string, folder: string): Promise<void> {
  await page.setViewportSize(SIZE);
  await page.goto(pathToFileURL(join(home, "page.html")).href);
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  await page.getByRole("button", { name: /^Source 1/ }).click();
  const shown = page.getByText(`from ${home}/contracts`).first();
  await shown.evaluate((element) => {
    element.textContent = element.textContent?.replace(/from \S+\//, "from ") ?? "";
  });
  await page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)");
  await inBothSchemes(page, (scheme) => join(folder, `answer-${scheme}.png`));
}

/** Takes a picture of what a page shows in each scheme. */
export async function inBothSchemes(page: Page, pathOf: (scheme: "light" | "dark") => string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: pathOf(colorScheme) });
  }
}
