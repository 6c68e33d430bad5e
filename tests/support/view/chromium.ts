import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const PLACES = [
  ...["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"],
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The Chromium of this computer; undefined: there is none. */
export const CHROMIUM = process.env.BELAY_CHROMIUM ?? PLACES.find((place) => existsSync(place));

const QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];
const OFF = [
  "--disable-software-rasterizer",
  "--disable-component-update",
  "--disable-sync",
  "--enable-precise-memory-info",
  "--disable-lcd-text",
];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? "", args: [...QUIET, ...OFF] });
}
