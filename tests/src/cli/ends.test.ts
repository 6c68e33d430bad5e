import { spawnSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { belay, belayLine, finished, startBelay, temporaryFolder } from "./belay.ts";

test("the first Ctrl-C ends the run: a session that is kept is suspended, another cancelled", async () => {
  const cells = ["-e", "'ready'", "-e", "for (;;) {}", "-e", "'never'"];
  const sendOnceReady = (signal: NodeJS.Signals) => {
    let isSent = false;
    return (child: ReturnType<typeof startBelay>, stdout: string) => {
      if (isSent || !stdout.includes("ready")) return;
      isSent = true;
      setTimeout(() => child.kill(signal), 300);
    };
  };
  const home = join(temporaryFolder(), "home");
  const [text, json, unkept] = await Promise.all([
    belay(["exec", ...cells, "-s", "loop", "--store", home], { onOutput: sendOnceReady("SIGINT") }),
    belay(["exec", "--json", ...cells], { onOutput: sendOnceReady("SIGTERM") }),
    belay(["exec", "--no-store", ...cells], { onOutput: sendOnceReady("SIGHUP") }),
  ]);
  const line = `belay resume loop --store ${home}`;
  expect(text).toEqual({ code: 130, stdout: "ready\n", stderr: `suspended; continue with: ${line}\n` });
  const envelopes = json.stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(json).toMatchObject({ code: 143, stderr: "" });
  const resume = `belay resume ${envelopes[0].session_id.slice(-8)}`;
  const suggestion = `\`${resume}\` finishes it.`;
  const open = { success: false, error_code: "cancelled", resumable: true, suggestion, resume };
  expect(envelopes).toMatchObject([{ success: true }, open]);
  expect(unkept).toEqual({ code: 129, stdout: "ready\n", stderr: "cancelled\n" });
});

test("Ctrl-C while stdin is awaited ends the run", async () => {
  const child = startBelay(["exec", "-e", "1", "-c", "-"]);
  // More than a pipe holds: once it is written, the command is reading.
  child.stdin?.write("x".repeat(2_000_000), () => child.kill("SIGINT"));
  expect(await finished(child)).toEqual({ code: 130, stdout: "", stderr: "" });
});

test("a reader that goes away ends the run quietly", async () => {
  const path = join(temporaryFolder(), "long.txt");
  writeFileSync(path, "line\n".repeat(100_000));
  const child = startBelay(["exec", "-q", "-c", path, "-e", "P", "-e", "P", "-e", "print(P); for (;;) {}"]);
  child.stdin?.end();
  child.stdout?.once("data", () => child.stdout?.destroy());
  expect(await finished(child)).toMatchObject({ code: 0, stderr: "" });
});

test.skipIf(!existsSync("/dev/full"))("a full disk under stdout is a failure", () => {
  const { status, stderr } = spawnSync("sh", ["-c", `${belayLine("exec -e 1")} > /dev/full`], { encoding: "utf8" });
  expect([status, stderr]).toEqual([1, "belay: stdout cannot be written (ENOSPC)\n"]);
});
