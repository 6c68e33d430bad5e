import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type LongScene, longScene, promptOf, UNANSWERED } from "../../campaigns/pi/long.ts";
import { TEST_EXTENSION } from "../support/command.ts";
import { FAULT_VARIABLE, type PiFault } from "../support/pi/fault.ts";
import { played } from "../support/pi/played.ts";
import { entriesIn, NEWEST_PI, type Pi, type PiEntry, type PiLine, startPi } from "../support/pi/process.ts";

// One long conversation on each line of Pi: what a request says is what the branch says, whatever happens in between.

const WINDOW = 32_000;
/** Settings of Pi with which the small model has room, and a compaction has something to take away. */
const COMPACTION = { reserveTokens: 2000, keepRecentTokens: 2000 };
/** Of such prompts Pi would have a model summarize every word. */
const LONG = `Remember this. ${"It is long. ".repeat(1200)}`;
const ENTRY = "rlm_externalize";
const STUB = "RLM externalized";

const epochsIn = (file: string) => entriesIn(file).filter(({ customType }) => customType === ENTRY);
const compactionsIn = (file: string) => entriesIn(file).filter(({ type }) => type === "compaction");

played(NEWEST_PI, "requests go on byte for byte through kills, reloads, forks and compactions", async (line) => {
  await using story = await openStory(line);
  await dieBesideTheEntry(story);
  await dieDuringTheAnswer(story);
  const pi = story.start();
  await reload(story, pi);
  await fork(story, pi);
  await goBack(story, pi);
  await changeToSmallModel(story, pi);
  await compactByHand(story, pi);
  await askWithoutUsage(story, pi);
  await pi.kill();
  const last = story.start();
  await story.next(last);
  story.goesOn();
  if (line.version !== "0.73.1") await changeTools(story, last);
  expect([story.scene.report().refused, compactionsIn(story.session).length]).toEqual([0, 1]);
  for (const { events } of story.started) {
    expect(events.filter(({ type }) => type === "extension_error")).toEqual([]);
  }
});

/** Killed before the entry, nothing has gone out. Killed behind it, it is on disk, and its stubs were never sent. */
async function dieBesideTheEntry({ scene: { newest }, session, start, next }: Story): Promise<void> {
  const entry = { at: "entry", record: ENTRY } as const;
  const first = start({ ...entry, side: "before" });
  await first.prompt(LONG);
  let turns = 0;
  await diesIn(first, () => next(first).then(() => void turns++));
  expect(turns).toBeGreaterThan(1);
  const raw = newest();
  expect([raw.includes(STUB), epochsIn(session).length]).toEqual([false, 0]);
  const second = start({ ...entry, side: "after" });
  await diesIn(second, () => next(second));
  expect([newest(), epochsIn(session).length]).toEqual([raw, 1]);
}

/** Killed during the answer: the stubs are sent, and nothing more goes out. The next process has other settings. */
async function dieDuringTheAnswer({ scene: { home, newest }, session, start, next, goesOn }: Story): Promise<void> {
  const pi = start();
  await next(pi);
  expect(newest()).toContain(STUB);
  goesOn("anew");
  pi.send({ type: "prompt", message: UNANSWERED });
  await pi.until(({ type }) => type === "message_update", pi.events.length);
  await pi.kill();
  expect(epochsIn(session)).toHaveLength(1);
  goesOn();
  expect(newest()).toContain(UNANSWERED);
  const settings = { externalize_min_tokens: 300, externalize_at: 0.9, externalize_to: 0.2, manifest_tokens: 1000 };
  writeFileSync(join(home.agent, "belay.json"), JSON.stringify(settings));
}

async function reload({ next, goesOn }: Story, pi: Pi): Promise<void> {
  await next(pi);
  goesOn();
  await pi.prompt("/again");
  await next(pi);
  goesOn();
}

/** A fork behind the epoch has its stubs, and one before it has not. */
async function fork({ session, next, seen }: Story, pi: Pi): Promise<void> {
  const prompts = promptsIn(session);
  for (const [from, expected] of [[prompts.at(-1), [true, 1]] as const, [prompts[2], [false, 0]] as const]) {
    await pi.ask("fork", { entryId: from?.id });
    await next(pi);
    expect(seen(await pi.sessionFile())).toEqual(expected);
    await pi.ask("switch_session", { sessionPath: session });
  }
}

/** The prompt that follows the entry finds its stubs again; one before it finds texts, and then the entry does. */
async function goBack({ session, next, seen }: Story, pi: Pi): Promise<void> {
  const prompts = promptsIn(session);
  const entry = epochsIn(session)[0]?.id;
  await pi.prompt(`/goto ${prompts.find(({ parentId }) => parentId === entry)?.id}`);
  await next(pi);
  expect(seen(session)).toEqual([true, 1]);
  await pi.prompt(`/goto ${prompts[2]?.id}`);
  await next(pi);
  expect(seen(session)).toEqual([false, 1]);
  await pi.prompt(`/goto ${entry}`);
}

/** A smaller window brings an epoch, and many results at once go through the valve. */
async function changeToSmallModel({ scene: { newest, report }, session, next }: Story, pi: Pi): Promise<void> {
  await pi.prompt(LONG);
  await pi.prompt(LONG);
  await changeModel(pi, "small");
  await next(pi);
  await next(pi, 12);
  expect(epochsIn(session).at(-1)?.data).toMatchObject({ cause: "valve", window: 12_000 });
  expect(newest()).toContain("Read on with rlm_peek(");
  expect([report().refused, compactionsIn(session)]).toEqual([0, []]);
}

/** No model could read what Pi would have it summarize. */
async function compactByHand({ session }: Story, pi: Pi): Promise<void> {
  await pi.ask("compact");
  expect(compactionsIn(session)).toMatchObject([{ details: { rlm: 1 } }]);
  const told = pi.events.map(({ message }) => message);
  expect(told).toContainEqual(expect.stringContaining("too large for a model to summarize"));
}

/** If a provider counts nothing, Pi estimates by the texts that are outside. */
async function askWithoutUsage({ scene: { report }, session, next, epoch, goesOn }: Story, pi: Pi): Promise<void> {
  await changeModel(pi, "no_usage");
  for (let n = 0; n < 4; n++) await next(pi, 4);
  await epoch(pi);
  expect([report().refused, compactionsIn(session).length]).toEqual([0, 1]);
  goesOn("anew");
}

/** Pi from 0.87 on says within the conversation which tools there are now; it stays there behind an epoch. */
async function changeTools({ scene: { newest }, next, epoch }: Story, pi: Pi): Promise<void> {
  await changeModel(pi, "system_in_place");
  await pi.prompt("/tools read rlm_peek rlm_search");
  await next(pi);
  expect(placesOfSystem(newest())).toEqual([0, expect.any(Number)]);
  await epoch(pi);
  expect(placesOfSystem(newest())).toEqual([0, expect.any(Number)]);
}

/** A session that one process after another goes on with. */
interface Story extends AsyncDisposable {
  readonly scene: LongScene;
  readonly session: string;
  readonly started: readonly Pi[];
  start(fault?: PiFault): Pi;
  /** The next turn, in which a file is read, and so many more. */
  next(pi: Pi, more?: number): Promise<void>;
  /** Turns up to the next entry. */
  epoch(pi: Pi): Promise<void>;
  /** The newest request goes on from the one that was looked at last, byte for byte, unless it begins anew. */
  goesOn(how?: "anew"): void;
  /** Whether the newest request has stubs, and how many entries the session has. */
  seen(session: string): readonly [boolean, number];
}

async function openStory(line: PiLine): Promise<Story> {
  const scene = await longScene(90, WINDOW, 2, COMPACTION);
  const { home, newest } = scene;
  const session = join(home.project, "..", "session.jsonl");
  const started: Pi[] = [];
  let [file, sent] = [0, ""];
  const story: Story = {
    scene,
    session,
    started,
    start(fault) {
      const env = fault ? { [FAULT_VARIABLE]: JSON.stringify(fault) } : {};
      const pi = startPi(line, { home, extensions: [TEST_EXTENSION], session, env });
      started.push(pi);
      return pi;
    },
    next: (pi, more = 0) => pi.prompt(promptOf(file++, ...Array.from({ length: more }, () => file++))),
    async epoch(pi) {
      const before = epochsIn(session).length;
      while (epochsIn(session).length === before) await story.next(pi);
    },
    goesOn(how) {
      if (how === undefined) expect(newest().slice(0, sent.length)).toBe(sent);
      sent = newest();
    },
    seen: (of) => [newest().includes(STUB), epochsIn(of).length],
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map((pi) => pi.kill()));
      await scene[Symbol.asyncDispose]();
    },
  };
  return story;
}

const changeModel = (pi: Pi, modelId: string) => pi.ask("set_model", { provider: "mock", modelId });

/** Where messages of the system stand in a request. */
function placesOfSystem(sent: string): readonly number[] {
  const [, ...messages] = sent.split("\n");
  return messages.flatMap((message, n) => (/^\{"role":"(system|developer)"/.test(message) ? [n] : []));
}

/** Has the process do this until it is dead. */
async function diesIn(pi: Pi, work: () => Promise<void>): Promise<void> {
  const ended = pi.ended.then(() => false);
  const worked = () =>
    work().then(
      () => true,
      () => ended,
    );
  while (await Promise.race([ended, worked()]));
  expect(await pi.ended, pi.stderr()).toBe("SIGKILL");
}

const promptsIn = (file: string): readonly PiEntry[] =>
  entriesIn(file).filter(({ message }) => message?.role === "user");
