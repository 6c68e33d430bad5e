import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";
import { fileOf, pageSource, type Trace } from "../../../src/view/index.ts";
import { folderWith } from "../tree.ts";
import { CHROMIUM, launch } from "./chromium.ts";

export interface Look {
  readonly width?: number;
  readonly scheme?: "light" | "dark";
  /** What follows the address. */
  readonly place?: string;
  /** Words that the browser says on the console of what the test does. */
  readonly allowed?: RegExp;
}

/** Opens a page that says nothing on its console and asks nobody else for anything. */
type OpenPage = (url: string, look?: Look) => Promise<Page>;

/** Tests in one Chromium. They are skipped on a computer without one. */
export function inChromium(name: string, tests: (open: OpenPage) => void): void {
  describe.skipIf(CHROMIUM === undefined)(name, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launch();
    });
    afterAll(() => browser.close());
    tests((url, look) => open(browser, url, look));
  });
}

async function open(
  browser: Browser,
  url: string,
  { width = 1500, scheme = "light", place = "", allowed = /^$/ }: Look = {},
) {
  const page = await browser.newPage({ viewport: { width, height: 920 }, colorScheme: scheme });
  const troubles: string[] = [];
  page.on("console", (message) => allowed.test(message.text()) || troubles.push(`console: ${message.text()}`));
  page.on("pageerror", ({ message }) => troubles.push(`error: ${message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(url.replace(/#.*$/, ""))) troubles.push(`request: ${request.url()}`);
  });
  onTestFinished(async () => {
    await page.close();
    expect(troubles).toEqual([]);
  });
  await page.goto(`${url}${place}`);
  await page.waitForSelector("html[data-ready], html[data-failed]", { state: "attached", timeout: 60_000 });
  return page;
}

/** The address of a trace as a file. */
export async function written(trace: Trace, change = (html: string) => html): Promise<string> {
  const file = join(folderWith(), "trace.html");
  writeFileSync(file, change([...fileOf(trace, await pageSource())].join("")));
  return pathToFileURL(file).href;
}

/** The words of the details. */
export const detailsOf = (page: Page) => page.locator("aside").textContent();
