import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { expect, vi } from "vitest";
import { ROOT } from "../../scripts/process.ts";
import { run } from "../../src/cli/run.ts";
import { openStore } from "../../src/index.ts";
import { belayLine } from "../src/cli/belay.ts";
import { COMMAND } from "../support/command.ts";
import { wordsOf } from "../support/words.ts";

/** One command of a transcript, and the lines that it is shown to print. */
export interface Step {
  readonly line: string;
  readonly shown: readonly string[];
  readonly stopped: "Ctrl-C" | "kill -9" | null;
  /** The exit code of a command that is not stopped. `echo $?` after it shows another one than 0. */
  readonly code: number;
}

/** The model that a transcript's commands ask. */
export interface Reader {
  readonly url: string;
  /** The provider of commands with `--delivery batch`. It answers once one of them waits. */
  readonly provider: { readonly url: string; answer(): void };
  /** Sub-calls that have reached it. */
  readonly questions: number;
  /** Sub-calls beyond this number wait for an answer. */
  allow(questions: number): void;
}

/** Sub-calls that a process has recorded answers of, and those that it has in flight, when it is stopped. */
const RECORDED = 5;
const IN_FLIGHT = 5;

export function stepsOf(text: string): Step[] {
  const steps = text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = "", ...output] = part.trimEnd().split("\n");
      const stopped = output.includes("Killed") ? "kill -9" : output.includes("^C") ? "Ctrl-C" : null;
      return { line, shown: output.filter((shown) => shown !== "^C" && shown !== "Killed"), stopped } as const;
    });
  return steps.flatMap((step, at) => {
    const { line, shown = [] } = steps[at + 1] ?? {};
    return step.line === ECHO ? [] : [{ ...step, code: line === ECHO ? Number(shown[0]) : 0 }];
  });
}

const ECHO = "echo $?";

/** Does what a step shows, in the working folder, and compares. */
export async function replay(step: Step, reader: Reader): Promise<void> {
  const { line, shown, stopped } = step;
  const [program = "", ...args] = wordsOf(line.replace("http://127.0.0.1:8080/v1", reader.url));
  if (program === "cat") return writeFileSync(args[0] ?? "", `${shown.join("\n")}\n`);
  // It reads a terminal.
  if (args[0] === "repl") return;
  if (line.includes(" | ")) return expectPiped(line);
  if (stopped === "kill -9") return await kill(args, reader);
  if (args.includes("--delivery")) {
    vi.stubEnv("BELAY_BASE_URL", reader.provider.url);
    if (!args.includes("--wait")) reader.provider.answer();
  }
  const { code, printed } = await (stopped ? interrupted(args, reader) : typed(args));
  expect(code, `${line}\n${printed}`).toBe(stopped ? 130 : step.code);
  expectShown(shown, printed);
}

function expectPiped(line: string): void {
  const { status } = spawnSync("sh", ["-c", line.replace("belay", belayLine(""))], { cwd: ROOT });
  expect(status, line).toBe(0);
}

interface Typed {
  readonly code: number;
  /** On stdout and stderr. */
  readonly printed: string;
}

/** Runs a command in this process. */
async function typed(args: string[]): Promise<Typed> {
  const written: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0),
  );
  try {
    const code = await run(args);
    return { code, printed: written.join("") };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Runs a command in this process, and presses Ctrl-C in its middle. */
async function interrupted(args: string[], reader: Reader): Promise<Typed> {
  const middle = middleOf(args, reader).then(() => process.emit("SIGINT"));
  const ended = await typed(args);
  await middle;
  reader.allow(Number.POSITIVE_INFINITY);
  return ended;
}

/** Runs a command in a process of its own, and kills that in its middle. */
async function kill(args: string[], reader: Reader): Promise<void> {
  const middle = middleOf(args, reader);
  const child = spawn(process.execPath, [...COMMAND, ...args], { stdio: "ignore" });
  const ended = once(child, "exit");
  await middle;
  child.kill("SIGKILL");
  expect((await ended)[1]).toBe("SIGKILL");
  reader.allow(Number.POSITIVE_INFINITY);
}

/** When a command that is about to run has recorded the answers of some sub-calls and has others in flight. */
async function middleOf(args: readonly string[], reader: Reader): Promise<void> {
  const asked = reader.questions;
  reader.allow(asked + RECORDED);
  await using store = await openStore(process.env.BELAY_HOME ?? "");
  const name = args[args.indexOf("--session") + 1] ?? "";
  await vi.waitFor(
    async () => {
      expect(reader.questions - asked).toBe(RECORDED + IN_FLIGHT);
      const { execs } = await store.describe(name);
      expect(execs.at(-1)?.calls.filter(({ status }) => status === "ok")).toHaveLength(RECORDED);
    },
    { timeout: 30_000, interval: 5 },
  );
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
