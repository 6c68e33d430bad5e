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

/**
 * Opens a page that says nothing on its console and asks nobody else for anything. It takes the place of the one before: a page of
 * its own is a process of its own, which costs ten times as much.
 */
export type OpenPage = (url: string, look?: Look) => Promise<Page>;

/** Opens one Chromium for all tests of a file. What it answers names some of them, which are skipped on a computer without one. */
export function openChromium(): (name: string, tests: (open: OpenPage) => void) => void {
  let browser: Browser;
  let open: OpenPage;
  if (CHROMIUM !== undefined) {
    beforeAll(async () => {
      browser = await launch();
      open = openIn(await browser.newPage());
    });
    afterAll(() => browser.close());
  }
  return (name, tests) => describe.skipIf(CHROMIUM === undefined)(name, () => tests((url, look) => open(url, look)));
}

function openIn(page: Page): OpenPage {
  let [at, allowed] = ["about:blank", /^$/];
  const troubles: string[] = [];
  page.on("console", (message) => allowed.test(message.text()) || troubles.push(`console: ${message.text()}`));
  page.on("pageerror", ({ message }) => troubles.push(`error: ${message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(at)) troubles.push(`request: ${request.url()}`);
  });
  // One that follows a session would go on asking, and a second address of one file would not load it anew.
  const leave = () => page.goto("about:blank");
  return async (url, look = {}) => {
    const { width = 1500, scheme = "light", place = "" } = look;
    onTestFinished(async () => {
      await leave();
      expect(troubles.splice(0)).toEqual([]);
    });
    await leave();
    [at, allowed] = [url.replace(/#.*$/, ""), look.allowed ?? /^$/];
    await page.setViewportSize({ width, height: 920 });
    await page.emulateMedia({ colorScheme: scheme });
    await page.goto(`${url}${place}`);
    await page.waitForSelector("html[data-ready], html[data-failed]", { state: "attached", timeout: 60_000 });
    return page;
  };
}

/** The address of a trace as a file. */
export async function written(trace: Trace, change = (html: string) => html): Promise<string> {
  const file = join(folderWith(), "trace.html");
  writeFileSync(file, change([...fileOf(trace, await pageSource())].join("")));
  return pathToFileURL(file).href;
}

/** The words of the details. */
export const detailsOf = (page: Page) => page.locator("aside").textContent();
