import { expect, test } from "vitest";
import { RlmError } from "../../../../runtime/index.ts";
import type { SessionDescription } from "../../../../src/history/index.ts";
import type { Cleared, Switched } from "../../../../src/pi/externalize/asked.ts";
import { openStateBoard, type State } from "../../../../src/pi/runs/board.ts";
import { completions, runCommand } from "../../../../src/pi/view/commands.ts";
import type { Control } from "../../../../src/pi/view/control.ts";
import type { BranchReport } from "../../../../src/pi/view/report.ts";
import type { ReadableSessions } from "../../../../src/session/index.ts";

const SUMMARY = {
  id: "01SESSION",
  name: null,
  label: null,
  origin: "pi",
  status: "open",
  created_at: 0,
  changed_at: 55_000,
  bytes: 0,
  holder: null,
  forked_from: null,
  execs: 2,
  sub_calls: 12,
  tokens: 400,
  cost_usd: 0.02,
  context: { hash: "", sources: ["/a/docs"], chars: 5 },
  last: { exec_id: "E2", kind: "cell", input: "result = 1" },
} as const;

function checkpoint(id: string, exec_id: string, at: number, kind: "end" | "step" = "end") {
  return { id, parent: null, exec_id, kind, at, pages: 1, bytes: 1, head: false };
}

function exec(exec_id: string, input: string, error_code: string | null = null) {
  const counts = {
    number: 1,
    began_at: 0,
    time_ms: 1,
    resumed: 0,
    tokens: 0,
    cost_usd: 0,
    calls: [],
    rest: [],
    again: null,
  };
  const tree = { parent: null, ask: null, turn: null, resumes: [], ended_at: 1, checkpoint_id: null, coverage: null };
  const outcome = { source: input, file: null, stdout: "", stderr: "", warnings: [], result_json: null, error: null };
  const status = error_code ? "failed" : "ok";
  return { exec_id, kind: "cell", input, status, error_code, ...counts, ...tree, ...outcome } as const;
}

const SESSION: SessionDescription = {
  ...SUMMARY,
  ...{ head: null, settings: null },
  execs: [exec("E1", "let a = 1"), exec("E2", "nope()", "js_error")],
  checkpoints: [
    checkpoint("01AAAAAAAAAA", "E1", 30_000),
    checkpoint("01BBBBBBBBBB", "E2", 40_000, "step"),
    checkpoint("01CCCCCCCCCC", "E2", 59_000),
  ],
};

const CONTEXT = { sources: ["/a/docs"], chars: 1_234_567, tokens_estimate: 308_641, documents: 30 };
const USED: Partial<State> = { session: "01SESSION", checkpoint: "01CCCCCCCCCC", checkpoints: 2, context: CONTEXT };
const RUNNING: Partial<State> = {
  running: {
    ...{ tool: "rlm_exec", tool_call_id: "call", exec_id: null, phase: "running", started_at: 50_000 },
    ...{ turn: null, child: null, calls: null, load: null, notice: null },
  },
};

interface Scene {
  readonly state?: Partial<State>;
  readonly control?: Partial<Control>;
  readonly hasUI?: boolean;
  readonly isIdle?: boolean;
  /** What the person answers when asked. */
  readonly confirms?: boolean;
  /** What the person chooses of a list. */
  readonly choose?: (options: readonly string[]) => string | undefined;
}

const NOTHING_TOLD: BranchReport = {
  overview: { objects: [], epochs: [], compactions: [], isOff: false },
  size: { tokens: 0, window: null },
  sessions: [],
};

/** Runs `/rlm LINE` 60 s after 1970 began: what was done, and said. */
async function ran(
  line: string,
  { state = {}, control = {}, hasUI = true, isIdle = true, confirms = true, choose }: Scene = {},
) {
  const board = openStateBoard();
  board.change(state);
  const done: unknown[] = [];
  const said: string[] = [];
  const whole: Control = {
    board,
    refresh: async () => board.change(state),
    setEnabled(enabled) {
      done.push(enabled);
      return "nothing";
    },
    followBranch() {},
    async leave() {
      done.push("left");
      return { compacted: true, is: "nothing" };
    },
    externalize: () => ({ is: "out", objects: 41, tokens: 61_000 }),
    clear() {
      done.push("cleared");
      return { is: "cleared", objects: 41 };
    },
    report: async () => NOTHING_TOLD,
    documents: async () => ({ listed: [], left: 0 }),
    cancel: () => board.current().running !== null,
    sessions: async () => ({ sessions: [SUMMARY], damaged: [] }),
    branch: async () => ({ session: SESSION, checkpoint: "01CCCCCCCCCC" }),
    look: async () => null,
    goTo: async (...place) => void done.push(place),
    settings: (cwd) => ({ settings: [{ key: "max_tokens", value: "7", from: cwd }], files: ["a", "b"] }),
    ...control,
  };
  const ui = {
    notify: (text: string, type = "info") => void said.push(type === "info" ? text : `${type}: ${text}`),
    async select(_title: string, options: string[]) {
      done.push(options);
      return choose?.(options);
    },
    async confirm(title: string) {
      done.push(title);
      return confirms;
    },
    // As in rpc mode: nothing is drawn.
    custom: async () => JSON.parse("null"),
  };
  const write = (text: string) => void said.push(`stderr: ${text}`);
  const context = { cwd: "/project", hasUI, ui, isIdle: () => isIdle, compact() {} };
  await runCommand(line, whole, context, { now: () => 60_000, write });
  return { done, said: said.join("\n") };
}

test("status says what there is", async () => {
  expect((await ran("")).said).toBe("RLM is on\nnot used in this session; the model begins with rlm_load");
  const conversation = { objects: 41, tokens: 61_234, next: { tokens: 62_000, window: 200_000 } };
  expect((await ran("", { state: { conversation } })).said).toBe(
    "RLM is on\nconversation  41 objects outside · 61k tokens · context 31 % of 200k\nnot used in this session; the model begins with rlm_load",
  );
  const budget = { remaining_sub_calls: 47, remaining_tokens: 498_766, remaining_time_ms: 298_000 };
  const unread = "2 files could not be read: scan.pdf (has no text), … 1 more.";
  const context = { ...CONTEXT, unread };
  expect((await ran("", { state: { ...USED, context } })).said).toMatch(
    /^unread +2 files could not be read: scan\.pdf/m,
  );
  expect((await ran("status", { state: { ...USED, ...RUNNING, budget, enabled: false } })).said).toBe(
    [
      "RLM is off: the model is not offered its tools (/rlm on)",
      "context      /a/docs · 30 documents · 1,234,567 characters (~309k tokens)",
      ...["running      rlm_exec running 10 s", "budget left  47 sub-calls · 499k tokens · 4 min 58 s"],
      ...["checkpoints  2, at CCCCCCCC", "session      1SESSION"],
    ].join("\n"),
  );
});

test("on and off", async () => {
  expect(await ran("off")).toMatchObject({ done: [false], said: expect.stringContaining("RLM is off") });
  expect((await ran("off", { state: RUNNING })).said).toMatch(/^rlm_exec ends as cancelled; .* stays\. RLM is off/);
  expect(await ran(" on ")).toMatchObject({ done: [true], said: expect.stringContaining("RLM is on") });
});

test("cancel ends what runs", async () => {
  expect((await ran("cancel")).said).toBe("nothing runs");
  expect((await ran("cancel", { state: RUNNING })).said).toBe(
    "rlm_exec ends as cancelled; what it changed so far stays",
  );
});

test("sessions are listed, that of the branch with a mark", async () => {
  const other = { ...SUMMARY, id: "01OTHER", name: "notes", context: null, last: null };
  const sessions = async () => ({ sessions: [SUMMARY, other], damaged: [] });
  expect((await ran("sessions", { state: USED, control: { sessions } })).said.split("\n")).toEqual([
    "* 1SESSION  pi  open  5 s ago  docs  2 execs  12 calls $0.020  result = 1",
    "  notes     pi  open  5 s ago  -     2 execs  12 calls $0.020",
  ]);
  const listing = (listed: ReadableSessions) => ran("sessions", { control: { sessions: async () => listed } });
  expect((await listing({ sessions: [], damaged: [] })).said).toBe("no sessions in the store yet");
  const damaged = [{ id: "01D", problem: "the row of session 01D is damaged" }];
  expect((await listing({ sessions: [], damaged })).said).toBe("the row of session 01D is damaged");
  expect((await listing({ sessions: [SUMMARY], damaged })).said).toMatch(/\S.*\nthe row of session 01D is damaged$/s);
});

test("a checkpoint is picked, and the branch goes there", async () => {
  const { done, said } = await ran("checkpoints", { choose: ([, older]) => older });
  const labels = ["* 1 s ago     cell nope() (js_error)  CCCCCCCC", "  30 s ago    cell let a = 1  AAAAAAAA"];
  expect(done).toEqual([labels, ["01SESSION", "01AAAAAAAAAA"]]);
  expect(said).toContain("the branch is at checkpoint AAAAAAAA");
});

test("a checkpoint is not gone to when nothing is picked, or where the branch stands, or while something runs", async () => {
  expect(await ran("checkpoints", { choose: () => undefined })).toMatchObject({ done: [expect.anything()], said: "" });
  const same = await ran("checkpoints", { choose: ([newest]) => newest });
  expect(same).toMatchObject({ done: [expect.anything()], said: "the branch is there already" });
  const busy = await ran("checkpoints AAAAAAAA", { state: RUNNING });
  expect(busy).toEqual({ done: [], said: "error: rlm_exec is running\nWait for it, or end it with /rlm cancel." });
  const unused = await ran("checkpoints", { control: { branch: async () => null } });
  expect(unused.said).toBe("RLM was not used on this branch: there is no checkpoint");
});

test("without dialogs checkpoints are listed, and one is named by the end of its id", async () => {
  expect((await ran("checkpoints", { hasUI: false })).said).toContain("stderr: * 1 s ago     cell nope()");
  expect((await ran("checkpoints aaaaaaaa", { hasUI: false })).done).toEqual([["01SESSION", "01AAAAAAAAAA"]]);
  expect((await ran("checkpoints zz")).said).toBe("error: no checkpoint ends in zz\n/rlm checkpoints lists them.");
});

test("off says what becomes of old texts", async () => {
  const off = async (sent: Switched) => (await ran("off", { control: { setEnabled: () => sent } })).said;
  expect(await off("nothing")).toMatch(/Its state stays\.$/);
  expect(await off("raw")).toContain("Old objects are sent whole again; rlm_peek and rlm_search stay");
  expect(await off("stubs")).toMatch(/Old objects stay stubs.* \/rlm off --compact makes a summary of them instead\.$/);
  expect((await ran("off --compct")).said).toBe("error: /rlm off does not take --compct\n/rlm off --compact");
});

test("off --compact waits for nothing, and says what is left", async () => {
  const whole = await ran("off --compact");
  expect(whole.done).toEqual(["left"]);
  expect(whole.said).toMatch(/The conversation is compacted; .* All else is Pi's: the package can be removed\.$/);
  const leave = async () => ({ compacted: false, is: "stubs" }) as const;
  expect((await ran("off --compact", { control: { leave } })).said).toMatch(
    /There was nothing to compact\. What Pi keeps of it does not fit .* stay\.$/,
  );
  const busy = await ran("off --compact", { isIdle: false });
  expect(busy).toEqual({ done: [], said: "error: the model is answering\nWait until it has finished, or press Esc." });
});

test("externalize says what went outside, or why nothing did", async () => {
  expect((await ran("externalize")).said).toBe(
    "41 objects of the conversation are outside; the next request is ~61k tokens smaller",
  );
  const not = async (is: "nothing" | "off" | "no_model") =>
    (await ran("externalize", { control: { externalize: () => ({ is }) } })).said;
  expect(await not("nothing")).toContain("Nothing more can go outside");
  expect(await not("off")).toContain("/rlm on");
  expect(await not("no_model")).toContain("/model");
});

test("clear asks before, and says why it does not", async () => {
  const asked = "Send all objects of the conversation again?";
  const said = "41 objects of the conversation will be sent whole again.";
  expect(await ran("clear")).toEqual({ done: [asked, "cleared"], said });
  expect(await ran("clear", { confirms: false })).toEqual({ done: [asked], said: "" });
  expect(await ran("clear --yes", { hasUI: false })).toEqual({ done: ["cleared"], said: `stderr: ${said}\n` });
  expect((await ran("clear", { hasUI: false })).said).toBe("stderr: the question needs a user interface\nAdd --yes.\n");
  const not = async (cleared: Cleared) => (await ran("clear", { control: { clear: () => cleared } })).said;
  expect(await not({ is: "nothing" })).toBe("Nothing of the conversation is outside.");
  expect(await not({ is: "too_large", tokens: 300_000, most: 183_616 })).toMatch(
    /^error: the conversation has ~300k tokens with all its objects, and a request may have 184k\n\/rlm off --compact/,
  );
  expect(await not({ is: "out_again", tokens: 150_000, most: 120_000 })).toMatch(/would go outside again.*\n\/rlm off/);
});

test("config shows settings and where they come from", async () => {
  expect((await ran("config")).said).toBe(
    "max_tokens  7  /project\n\nfiles, the first goes before the others:\n  a\n  b",
  );
});

test("what goes wrong is said with what to do about it", async () => {
  const settings = () => {
    throw new RlmError("invalid_config", "belay.json: unknown key x", { suggestion: "Take it out." });
  };
  expect((await ran("config", { control: { settings } })).said).toBe("error: belay.json: unknown key x\nTake it out.");
  expect((await ran("cancle")).said).toBe("error: /rlm has no cancle\nDid you mean /rlm cancel?");
  expect((await ran("?", { hasUI: false })).said).toContain("There are /rlm status, /rlm on");
  const broken = { sessions: () => Promise.reject(new Error("disk")) };
  expect((await ran("sessions", { control: broken })).said).toBe("error: Error: disk");
});

test("arguments are completed until they are whole", () => {
  const names = (typed: string) => completions(typed)?.map(({ value }) => value) ?? null;
  expect(names("")).toEqual([
    ...["status", "on", "off", "off --compact", "externalize", "clear", "cancel", "store", "inspect", "trace"],
    ...["trace --jsonl", "view", "view --no-texts", "sessions", "checkpoints", "config"],
  ]);
  expect(names("c")).toEqual(["clear", "cancel", "checkpoints", "config"]);
  expect(names("CH")).toEqual(["checkpoints"]);
  expect(names("off")).toEqual(["off --compact"]);
  expect(names("cancel")).toBeNull();
  expect(names("x")).toBeNull();
});
