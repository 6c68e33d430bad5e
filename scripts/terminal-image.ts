import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PiTerminal } from "../tests/support/pi/terminal.ts";
import { ROOT } from "./process.ts";
import { terminalPage } from "./terminal-page.ts";

/** Columns and rows of a terminal. */
interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** Makes a picture of the screen at this path in the checkout. Needs chromium. */
export async function terminalImage(
  pi: Pick<PiTerminal, "painted">,
  path: string,
  { columns, rows }: TerminalSize,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "belay-image-"));
  try {
    const page = join(folder, "page.html");
    writeFileSync(page, terminalPage(await pi.painted()));
    const flags = ["--headless", "--no-sandbox", "--force-device-scale-factor=2", "--hide-scrollbars"];
    const size = `--window-size=${Math.ceil(columns * 8.43) + 36},${Math.ceil(rows * 18.2) + 28}`;
    const shot = [...flags, size, `--screenshot=${join(ROOT, path)}`, `file://${page}`];
    const { status, stderr } = spawnSync("chromium", shot);
    if (status !== 0) throw new Error(`chromium ended with ${status}: ${stderr}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
