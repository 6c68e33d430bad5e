import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readJsonFile } from "../../../src/models/keys/pi-files.ts";
import { readConfig } from "../../../src/settings/config.ts";
import { readPiConfig } from "../../../src/settings/pi.ts";
import { folderWith } from "../../support/tree.ts";

type Place = (path: string) => void;

/** What would hang a reader that opens it, or fill its memory, with what is said of it. */
const TRAPS: Readonly<Record<string, readonly [Place, said: string]>> = {
  "a FIFO": [(path) => execFileSync("mkfifo", [path]), "is a FIFO, not a regular file"],
  "a folder": [(path) => mkdirSync(path), "is a folder, not a regular file"],
  "a file of 20 GB": [
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 20e9);
    },
    "has more than 64 KB",
  ],
};

function messageOf(work: () => unknown): string {
  try {
    return `accepted: ${JSON.stringify(work())}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** A home, an agent dir and a project; reads either configuration. */
function scene() {
  const folder = folderWith({ "home/": "", "agent/": "", "project/.git/": "", "project/.pi/": "" });
  const [userFile, agentDir, cwd] = [join(folder, "home/config.json"), join(folder, "agent"), join(folder, "project")];
  const places = { cwd, env: {}, agentDir, userFile };
  return {
    folder,
    files: {
      user: userFile,
      agent: join(agentDir, "belay.json"),
      project: join(cwd, "belay.config.json"),
      piProject: join(cwd, ".pi/belay.json"),
    },
    command: () => messageOf(() => readConfig({}, places)),
    pi: () => messageOf(() => readPiConfig(places)),
  };
}

test.each(Object.entries(TRAPS))("%s in the place of a configuration file is refused by name", (_, [place, said]) => {
  const { files, command, pi } = scene();
  for (const [file, read] of [
    [files.project, command],
    [files.user, command],
    [files.user, pi],
    [files.agent, pi],
    [files.piProject, pi],
  ] as const) {
    place(file);
    expect(read()).toBe(`${file} ${said}`);
    rmSync(file, { recursive: true });
  }
});

test("a project's file is read through no symlink, the user's own may be one", () => {
  const { folder, files, command, pi } = scene();
  const target = join(folder, "target.json");
  writeFileSync(target, '{"max_tokens":7}');
  for (const file of [files.project, files.piProject, files.user, files.agent]) symlinkSync(target, file);
  expect(command()).toBe(`${files.project} is a symlink, and a project's file is read through none`);
  expect(pi()).toBe(`${files.piProject} is a symlink, and a project's file is read through none`);
  rmSync(files.project);
  rmSync(files.piProject);
  expect(command()).toBe('accepted: {"max_tokens":7}');
  expect(pi()).toBe('accepted: {"max_tokens":7}');
});

test("a link to a device is refused, whose it may be", () => {
  const { files, command, pi } = scene();
  symlinkSync("/dev/zero", files.user);
  expect(command()).toBe(`${files.user} is a device, not a regular file`);
  expect(pi()).toBe(`${files.user} is a device, not a regular file`);
  rmSync(files.user);
  symlinkSync("/dev/zero", files.project);
  expect(command()).toBe(`${files.project} is a symlink, and a project's file is read through none`);
});

test("a project's .pi that is a symlink is not entered", () => {
  const { folder, files, pi } = scene();
  const target = folderWith({ "belay.json": '{"max_tokens":7}' });
  rmSync(join(folder, "project/.pi"), { recursive: true });
  symlinkSync(target, join(folder, "project/.pi"));
  expect(pi()).toBe(`${join(folder, "project/.pi")} is a symlink, and a project's file is read through none`);
  rmSync(join(target, "belay.json"));
  expect(pi()).toBe("accepted: {}");
  expect(files.piProject).toContain(".pi");
});

test("Pi's own files are read in the same way, up to 1 MB", () => {
  const { files } = scene();
  for (const [place, said] of Object.values(TRAPS)) {
    place(files.agent);
    expect(messageOf(() => readJsonFile(files.agent))).toBe(`${files.agent} ${said.replace("64 KB", "1024 KB")}`);
    rmSync(files.agent, { recursive: true });
  }
});
