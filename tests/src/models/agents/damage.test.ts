import { randomUUID } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { expect, test } from "vitest";
import { canMount, smallDisk } from "../../../support/small-disk.ts";
import { folderWith } from "../../../support/tree.ts";
import { ask, openPlace, type Place, told } from "./support.ts";

// An agent has the user's rights, and can put anything in its outbox.

/** A command of the shell that has the path of its outbox in `$box`, and notes its start in its folder. */
const shell = (line: string) => ({
  command: [
    "sh",
    "-c",
    `box=$(dirname "$(readlink /proc/$$/fd/0)"); echo started >> "$HOME/starts"; ${line}; echo said`,
  ],
  env: ["HOME"],
  max_bytes: 10_000,
});

/** Agents get this folder as that of the user. */
function withHome(folder: string): Disposable {
  const own = process.env.HOME ?? "";
  process.env.HOME = folder;
  return {
    [Symbol.dispose]() {
      process.env.HOME = own;
    },
  };
}

const SAID = ["said"];
const NOTHING = ["empty_answer"];

test.runIf(process.platform === "linux").each<readonly [what: string, line: string, answers: readonly string[]]>([
  ["a pipe in place of its output", 'rm "$box/out"; mkfifo "$box/out"', NOTHING],
  ["a pipe in place of its errors", 'rm "$box/err"; mkfifo "$box/err"', SAID],
  ["a link in place of its output", 'rm "$box/out"; ln -s "$HOME/secret" "$box/out"', NOTHING],
  ["a link in place of what is written next", 'ln -s "$HOME/secret" "$box/result.json.new"', SAID],
  ["a folder in place of its end", 'mkdir "$box/result.json"', SAID],
  ["an end of its own", `printf '{"tries":1,"ended":"exited","code":0,"signal":null}' > "$box/result.json"`, SAID],
  ["a start of its own", `printf '{"tries":9,"cut":0,"at":0}' > "$box/started"`, ["answer_lost"]],
  ["half of a job", 'printf "{" > "$box/started"; printf "{" > "$box/job.json"', SAID],
  ["no lock", 'rm "$box/lock"', SAID],
  ["a pipe in place of the lock", 'rm "$box/lock"; mkfifo "$box/lock"', SAID],
  ["no outbox", 'rm -rf "$box"', ["answer_lost"]],
])("an agent that leaves %s is started once, and leads nowhere else", async (_what, line, answers) => {
  const place = openPlace();
  const home = folderWith({ secret: "a secret of the user" });
  using _home = withHome(home);
  // Its mark is its own: tests of other files run at the same time.
  const asking = { command: shell(line), id: `damage.${randomUUID()}` };
  expect(answers).toContain(told(await ask(place, "go", asking)));
  // A later process does not take it for one that was never started.
  expect(["said", "empty_answer", "answer_lost"]).toContain(told(await ask(place, "go", asking)));
  expect(readFileSync(`${home}/starts`, "utf8")).toBe("started\n");
  expect(readFileSync(`${home}/secret`, "utf8")).toBe("a secret of the user");
});

test("an agent whose end no disk takes is in doubt, and is adopted when there is room", async ({ skip }) => {
  skip(!canMount(), "this process may not mount a file system");
  const disk = smallDisk(2 ** 21);
  const place: Place = { ...openPlace(), outboxes: disk };
  const command = {
    command: ["sh", "-c", `echo x >> "$HOME/starts"; echo '{"text":"said"}'; cat /dev/zero > ${disk}/filler; exit 0`],
    output: { text: "/text" },
    env: ["HOME"],
  };
  const home = folderWith();
  using _home = withHome(home);
  const asking = { command, id: `damage.${randomUUID()}` };
  const full = await ask(place, "go", asking);
  expect(full).toMatchObject({ ok: false, error: { code: "answer_lost" }, ends: "job" });
  expect(JSON.stringify(full)).toContain("ENOSPC");
  rmSync(`${disk}/filler`);
  expect(told(await ask(place, "go", asking))).toBe("said");
  expect(readFileSync(`${home}/starts`, "utf8")).toBe("x\n");
});
