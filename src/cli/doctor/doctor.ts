import { existsSync } from "node:fs";
import { type Json, openSession, RlmError } from "../../index.ts";
import { defaultModels, endSentence, fetchedProblem } from "../../models/index.ts";
import { messageOf } from "../../platform/errors.ts";
import { megabytes } from "../../platform/figures.ts";
import { proxyFor, shownAddress } from "../../platform/outbound.ts";
import { version } from "../../platform/version.ts";
import { inLine } from "../../platform/visible.ts";
import { findProjectFile, readConfig } from "../../settings/index.ts";
import { isServer, withoutPasswords } from "../../store/store-place.ts";
import type { Host } from "../commands/define.ts";
import type { Arguments } from "../flags/arguments.ts";
import { OUTPUT_FLAGS } from "../flags/declared.ts";
import { storePlace } from "../flags/values.ts";
import { nodeProblem, OLDEST_NODE } from "../node-version.ts";
import { processTerminal, type Style, type Terminal } from "../render/terminal.ts";
import { inFlags } from "../render/wording.ts";
import { checkPrice, configPlaces, modelsOf } from "../session/settings.ts";
import { checkAgents } from "./agents.ts";
import { checkMcp } from "./mcp.ts";
import { checkFolder, checkKey, checkQueue, checkServer, checkSessions, type Found } from "./store.ts";

/** `belay doctor`: prints every check with its cure. Gives exit code 1 if one failed. */
export async function doctorCommand(args: Arguments, host: Host): Promise<number> {
  const terminal = processTerminal(() => {});
  const { stdout } = terminal;
  const checks: Check[] = [];
  for (const check of checkInstallation(storePlace(args), host, terminal)) {
    checks.push(toldOnce(await check(), checks));
  }
  const isWell = checks.every(({ state }) => state !== "failed");
  if (args.get(OUTPUT_FLAGS.json)) {
    stdout.json({ success: isWell, version: version(), checks });
    return isWell ? 0 : 1;
  }
  const width = Math.max(...checks.map(({ name }) => name.length));
  stdout.write(`belay ${version()}\n`);
  for (const { name, state, detail, cure } of checks) {
    stdout.write(state.padEnd(9), STYLES[state]);
    stdout.write(`${name.padEnd(width)}  ${detail.replaceAll("\n", `\n${" ".repeat(11 + width)}`)}\n`);
    if (cure) stdout.write(`${" ".repeat(9 + width)}  cure: ${cure}\n`);
  }
  stdout.write(isWell ? "all is well\n" : `${checks.filter(({ state }) => state === "failed").length} failed\n`);
  return isWell ? 0 : 1;
}

/** A failure that an earlier check met already is told there, with its cure. */
function toldOnce({ name, state, detail: found, ...rest }: Check, earlier: readonly Check[]): Check {
  const detail = withoutPasswords(found);
  const first = state === "ok" ? undefined : earlier.find((one) => one.detail === detail);
  return first
    ? { name, state, detail: `cannot be looked at until ${first.name} is cured` }
    : { name, state, detail, ...rest };
}

const STYLES: Record<Check["state"], Style> = { ok: "green", warning: "yellow", failed: "red" };

/** A result with the name of what Belay needs. */
interface Check extends Found {
  readonly name: string;
}

/** All checks, in the order in which a failure explains the next one. None of them throws. */
function checkInstallation(place: string, host: Host, terminal: Terminal): (() => Promise<Check>)[] {
  const checks: Checking[] = [
    ["node", `install Node ${OLDEST_NODE} or newer from https://nodejs.org`, checkNode],
    ["engine", REINSTALL, checkEngine],
    ["sqlite", "install Node from https://nodejs.org: other builds may lack SQLite", checkSqlite],
    ["settings", "correct the file or variable", checkSettings],
    ...storeChecks(place),
    [
      "key",
      "remove the file: a new key is made, and settings of older sessions are to be typed once more",
      () => checkKey(place),
    ],
    [
      "sessions",
      "`belay rm SESSION` drops a damaged session, and `belay jobs rm RUN` a run; keep a copy of the folder before",
      () => checkSessions(place, host, terminal),
    ],
    ["agents", "correct `agents` in ~/.belay/config.json", () => checkAgents(place, host)],
    ["proxy", "correct the variable", checkProxy],
    ["mcp", REINSTALL, checkMcp],
    ["memory", "close other programs, or load smaller contexts", checkMemory],
  ];
  return checks.map(([name, cure, run]) => async () => {
    const result = await run().catch((error: unknown) => ({
      state: "failed" as const,
      detail: inLine(messageOf(error)),
      ...(error instanceof RlmError ? { cure: inFlags(error.suggestion) } : {}),
    }));
    return { name, ...result, ...(result.state === "ok" || "cure" in result ? {} : { cure }) };
  });
}

type Checking = [name: string, cure: string, () => Promise<Found>];

function storeChecks(place: string): Checking[] {
  if (!isServer(place)) return [["store", "set BELAY_HOME to a folder that can be written", () => checkFolder(place)]];
  return [
    ["store", "name another store with --store", () => checkServer(place)],
    ["queue", "`belay doctor` again reports more once the store can be used", () => checkQueue(place)],
  ];
}

const REINSTALL = "install Belay again: npm install belay-rlm";
/** A context of 100 MB with its index and the engine. */
const ENOUGH_MEMORY = 512 * 2 ** 20;

async function checkNode(): Promise<Found> {
  const problem = nodeProblem(process.versions.node);
  const detail = problem ?? `${process.versions.node} on ${process.platform} ${process.arch}`;
  return { state: problem === null ? "ok" : "failed", detail };
}

async function checkEngine(): Promise<Found> {
  await expectCell('[6 * 7, find("needle").matches]', [42, [[2, 8]]]);
  return { state: "ok", detail: "a cell ran, and a find" };
}

/** Runs a search in a session, whose store is SQLite. */
async function checkSqlite(): Promise<Found> {
  await expectCell('search("needle")[0].start', 0);
  return { state: "ok", detail: `${process.versions.sqlite}, and a search ran` };
}

async function expectCell(source: string, expected: Json): Promise<void> {
  await using session = await openSession();
  await session.load({ text: "a needle in a haystack\n", name: "probe" });
  const envelope = await session.exec(source);
  const got = envelope.success ? JSON.stringify(envelope.result_json) : envelope.error_message;
  if (got !== JSON.stringify(expected)) throw new Error(`${source} gave ${got} and not ${JSON.stringify(expected)}`);
}

/**
 * Files and variables, and whether the model can be asked as far as that shows without asking it.
 */
async function checkSettings(): Promise<Found> {
  const places = configPlaces();
  const files = [findProjectFile(places.cwd) ?? "", places.userFile].filter((path) => existsSync(path));
  const origin = files.length > 0 ? `read ${files.join(", ")}` : `there is no ${places.userFile}`;
  let state: Check["state"] = "failed";
  try {
    const settings = readConfig({}, places);
    const [only, ...others] = defaultModels(process.env);
    const usual = settings.base_url === undefined && others.length === 0 ? only : undefined;
    const { model = usual } = settings;
    const lists = fetchedProblem(process.env);
    const cure = "remove the file, or write it anew with `belay models --refresh`";
    if (lists !== null) return { state: "warning", detail: `${lists}, so its lists of models do not count`, cure };
    if (model === undefined) return { state: "ok", detail: `no model, so llm_query needs --model; ${origin}` };
    state = "warning";
    modelsOf({ ...settings, model }).resolve(null);
    checkPrice({ ...settings, model });
    const ends = endSentence(model);
    if (ends !== null) return { state, detail: `${ends}; ${origin}`, cure: "name another model" };
    return { state: "ok", detail: `model ${model}; ${origin}` };
  } catch (error) {
    if (!(error instanceof RlmError)) throw error;
    return { state, detail: error.message, cure: inFlags(error.suggestion) };
  }
}

/** The ways of requests to providers. */
async function checkProxy(): Promise<Found> {
  const ways = ["https", "http"].map((scheme) => {
    const proxy = proxyFor(new URL(`${scheme}://provider.example`));
    return `${scheme} ${proxy === null ? "directly" : `by ${shownAddress(proxy)}`}`;
  });
  return { state: "ok", detail: ways.join(", ") };
}

async function checkMemory(): Promise<Found> {
  const free = process.availableMemory();
  const detail = `${megabytes(free)} free`;
  if (free >= ENOUGH_MEMORY) return { state: "ok", detail };
  return { state: "warning", detail: `${detail}: large contexts may not fit` };
}
