import { fileURLToPath } from "node:url";

/** The page's script and style, as the page contains them. */
export interface PageSource {
  readonly script: string;
  readonly style: string;
}

/** Builds the page. In the package's bundle, its result replaces this module. */
export async function pageSource(): Promise<PageSource> {
  const { rolldown } = await import("rolldown");
  const input = fileURLToPath(new URL("./page/main.ts", import.meta.url));
  const build = await rolldown({ input, platform: "browser", tsconfig: false });
  const { output } = await build.generate({ format: "iife", minify: true });
  await build.close();
  return { script: output[0].code.trim(), style: await pageStyle() };
}

/** The page's style alone. */
export async function pageStyle(): Promise<string> {
  const { readFile } = await import("node:fs/promises");
  const style = await readFile(new URL("./page/page.css", import.meta.url), "utf8");
  return style
    .replaceAll(/\s+/g, " ")
    .replaceAll(/ ?([{};:,]) ?/g, "$1")
    .trim();
}
