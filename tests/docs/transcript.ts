import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { run } from "../../src/cli/run.ts";
import { openStore } from "../../src/index.ts";

/** One command of a transcript, and the lines that it is shown to print. */
export interface Step {
  readonly line: string;
  readonly shown: readonly string[];
  readonly stopped: "Ctrl-C" | "kill -9" | null;
}

/** The model that a transcript's commands ask. */
export interface Reader {
  readonly url: string;
  readonly requests: readonly unknown[];
  /** Requests beyond this number wait for an answer. */
  allow(requests: number): void;
}

const MAIN = join(ROOT, "src/cli/main.ts");
/** Sub-calls that a process has recorded answers of, and those that it has in flight, when it is killed. */
const RECORDED = 5;
const IN_FLIGHT = 5;

export function stepsOf(text: string): Step[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = "", ...output] = part.trimEnd().split("\n");
      const stopped = output.includes("Killed") ? "kill -9" : output.includes("^C") ? "Ctrl-C" : null;
      return { line, shown: output.filter((shown) => shown !== "^C" && shown !== "Killed"), stopped };
    });
}

/** Does what a step shows, in the working folder, and compares. */
export async function replay(step: Step, reader: Reader): Promise<void> {
  const { line, shown, stopped } = step;
  const [program = "", ...args] = wordsOf(line.replace("http://127.0.0.1:8080/v1", reader.url));
  if (program === "cat") return writeFileSync(args[0] ?? "", `${shown.join("\n")}\n`);
  // It reads a terminal.
  if (args[0] === "repl") return;
  if (line.includes(" | ")) return expectPiped(line);
  if (stopped === "kill -9") return await kill(args, reader);
  const { code, printed } = await typed(args, stopped === "Ctrl-C" ? reader : null);
  expect(code, `${line}\n${printed}`).toBe(stopped ? 130 : 0);
  expectShown(shown, printed);
}

function expectPiped(line: string): void {
  const { status } = spawnSync("sh", ["-c", line.replace("belay", `${process.execPath} ${MAIN}`)], { cwd: ROOT });
  expect(status, line).toBe(0);
}

/** The words of a line, as a shell takes them apart. */
function wordsOf(line: string): string[] {
  return Array.from(
    line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g),
    ([, single, double, bare]) => single ?? double ?? bare ?? "",
  );
}

/** Runs a command in this process. Gives what it printed on stdout and stderr, and its exit code. */
async function typed(args: string[], interrupted: Reader | null): Promise<{ code: number; printed: string }> {
  const written: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0),
  );
  const asked = interrupted?.requests.length ?? 0;
  const interrupting =
    interrupted &&
    vi
      .waitFor(() => expect(interrupted.requests.length).toBeGreaterThan(asked), { timeout: 30_000, interval: 1 })
      .then(() => process.emit("SIGINT"));
  try {
    const code = await run(args);
    await interrupting;
    return { code, printed: written.join("") };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a command in a process of its own, and kills that when some answers are recorded and others are in flight. */
async function kill(args: string[], reader: Reader): Promise<void> {
  const asked = reader.requests.length;
  reader.allow(asked + RECORDED);
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: "ignore" });
  const ended = once(child, "exit");
  await using store = await openStore(process.env.BELAY_HOME ?? "");
  const name = args[args.indexOf("--session") + 1] ?? "";
  await vi.waitFor(
    async () => {
      expect(reader.requests.length - asked).toBe(RECORDED + IN_FLIGHT);
      const { execs } = await store.describe(name);
      expect(execs.at(-1)?.calls.filter(({ status }) => status === "ok")).toHaveLength(RECORDED);
    },
    { timeout: 30_000, interval: 5 },
  );
  child.kill("SIGKILL");
  expect((await ended)[1]).toBe("SIGKILL");
  reader.allow(Number.POSITIVE_INFINITY);
}

/** The lines that are shown stand in the output as whole lines and in this order; `…` stands for anything. */
export function expectShown(shown: readonly string[], printed: string): void {
  const lines = printed.split(/\r?\n/);
  for (const text of shown) {
    const at = lines.findIndex((line) => patternOf(text).test(line));
    expect(at, `${text}\nis not in what is left of the output:\n${lines.join("\n")}`).toBeGreaterThanOrEqual(0);
    lines.splice(0, at + 1);
  }
}

function patternOf(shown: string): RegExp {
  const literal = (part: string) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`^${shown.split("…").map(literal).join(".*")}$`);
}
