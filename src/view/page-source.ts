import { fileURLToPath } from "node:url";

/** The page's script and style, as the page contains them. */
export interface PageSource {
  readonly script: string;
  readonly style: string;
}

let built: Promise<PageSource> | undefined;

/** Builds the page, once in a process. In the package's bundle, its result replaces this module. */
export function pageSource(): Promise<PageSource> {
  built ??= build();
  return built;
}

async function build(): Promise<PageSource> {
  const { rolldown } = await import("rolldown");
  const input = fileURLToPath(new URL("./page/main.ts", import.meta.url));
  const bundle = await rolldown({ input, platform: "browser", tsconfig: false });
  const { output } = await bundle.generate({ format: "iife", minify: true });
  await bundle.close();
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
