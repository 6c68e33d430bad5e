import { type Clock, firstly, RlmError, remedy } from "../../runtime/index.ts";
import { type BatchAccount, failure, refusalKind, type SubCallError } from "../models/index.ts";
import { amount } from "../platform/figures.ts";
import type { BatchAnswer, BatchChange, BatchStore, ProviderBatch, Rest } from "../store/index.ts";
import { isProven, proofOfNames, provenBody } from "./proof.ts";
import { type BatchClient, nullIfGone, ProviderError, type RowRequest } from "./providers/provider.ts";
import { openRows } from "./result-rows.ts";

/** The parts with which a batch is advanced, under the lease of its account. */
export interface Advancing {
  readonly batches: BatchStore;
  readonly account: BatchAccount;
  readonly client: BatchClient;
  readonly fence: number;
  readonly clock: Pick<Clock, "now">;
  /** From 0 to 1. */
  random(): number;
  /** Waits are multiplied by this: 1, or less in tests. */
  readonly pace: number;
  /** A batch that nobody can look for is made again, and may be paid twice. */
  readonly resendsDoubtful: boolean;
  /** Jobs or sessions may continue. */
  answered(): void;
  /** Nothing can be sent for this account until a person acts. */
  hindered(error: RlmError): void;
  /** The provider does not do what it is asked for now, and is asked again later. */
  failing(error: RlmError): void;
}

/**
 * Takes the next step of a batch that is to be looked at: the provider gets it, or is asked for its
 * answers.
 */
export async function advance(parts: Advancing, batch: ProviderBatch): Promise<void> {
  if (!isProven(parts.account, batch)) {
    parts.failing(notProven(`the row of batch ${batch.id}`));
    await parts.batches.step(batch.id, parts.fence, { lookMs: HINDERED_MS * parts.pace });
    return;
  }
  try {
    await (batch.state === "out" ? look(parts, batch) : leave(parts, batch));
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    const problem = `batches of ${batch.account}: ${error.message}`;
    const code = hindranceOf(error);
    if (code === null) parts.failing(new RlmError("provider_error", problem, { suggestion: CHECK_NETWORK }));
    else parts.hindered(new RlmError(code, problem, failure(code, problem)));
    const lookMs = code ? HINDERED_MS : lookDelay(batch.madeMs ?? batch.closedMs, parts.random());
    await step(parts, batch, { lookMs: Math.max(lookMs, doubtMs(parts, batch)) });
  }
}

/**
 * Sends a batch that has not left. Between its two last commits only the create is out, which is
 * sent once.
 */
async function leave(parts: Advancing, found: ProviderBatch): Promise<void> {
  const { client, clock } = parts;
  const isLost = found.asked_at !== null;
  if (!isLost && found.wanted === 0) return end(parts, found, { kind: "again", otherwise: NOT_RUN });
  if (isLost && !(await isNotMade(parts, found))) return;
  const batch: ProviderBatch = isLost ? { ...found, asked_at: null, file: null } : found;
  try {
    const rows = () => requestsOf(parts, batch);
    let { file } = batch;
    if (file === null && client.upload) {
      file = await client.upload(batch.id, rows());
      if (!(await step(parts, batch, { file }))) return; // ▣ the file
    }
    const asking = () => isStillAsked(parts, { ...batch, file }); // ▣ asked_at
    const name = await client.create({ id: batch.id, file, rows: rows(), asking }); // only now, once
    const asked = { ...batch, file, asked_at: clock.now() };
    await step(parts, asked, { state: "out", batch: name, lookMs: lookDelay(0, parts.random()) }); // ▣ its name
  } catch (error) {
    if (error instanceof NotProven) return withoutThem(parts, batch, error.numbers);
    if (!(error instanceof ProviderError) || !isRefusal(error) || hindranceOf(error)) throw error;
    parts.hindered(refused(batch, error));
    await end(parts, batch, { kind: "refused", afterMs: 0, most: null }); // ▣ nothing was run
  }
}

/**
 * Answers the requests that nobody with the key has asked for; the others wait for another batch.
 */
async function withoutThem(parts: Advancing, batch: ProviderBatch, numbers: readonly number[]): Promise<void> {
  const error = notProven(`${amount(numbers.length, "request")} by batch of ${batch.model}`);
  parts.failing(error);
  const { message, suggestion } = error;
  const answer = answerOf(failure("policy_violation", message, { suggestion }));
  const answers = numbers.map((n) => ({ n, ...answer, again: false }));
  if (!(await parts.batches.answer(batch.id, parts.fence, answers))) return; // ▣
  await end(parts, batch, { kind: "refused", afterMs: 0, most: null }); // ▣ nothing was sent
}

/**
 * ▣ Keeps that the create is asked for. false: another process has the account, or may have looked
 * for the batch already, since this one stood still meanwhile.
 */
async function isStillAsked(parts: Advancing, batch: ProviderBatch): Promise<boolean> {
  const from = parts.clock.now();
  return (await step(parts, batch, { asked: true })) && parts.clock.now() - from < LATE_MS * parts.pace;
}

/**
 * Looks for a batch whose create may have been carried out. true: it was not made, and cannot be
 * made any more. Otherwise its name is kept, or it is looked at later.
 */
async function isNotMade(parts: Advancing, batch: ProviderBatch): Promise<boolean> {
  const { client, batches } = parts;
  const { id, account, requests, state, asked_at, askedMs, file } = batch;
  const leftMs = doubtMs(parts, batch);
  const known = new Set(await batches.names(account));
  const lost = { id, requests, file, asked_at: asked_at ?? 0, known };
  try {
    let found = await client.find(lost);
    if (found.kind === "none" && client.fence && file !== null) {
      // A create that is still on its way finds no file from now on.
      await client.fence(file);
      found = await client.find(lost);
    }
    if (found.kind === "found") {
      await step(parts, batch, { state: "out", batch: found.batch, lookMs: 0 }); // ▣ adopted
      return false;
    }
    if (found.kind === "maybe" || leftMs > 0) {
      const maybeMs = found.kind === "maybe" ? lookDelay(askedMs ?? 0, parts.random()) : 0;
      await step(parts, batch, { lookMs: Math.max(leftMs, maybeMs) });
      return false;
    }
    if (!client.fence && state !== "doubt") {
      // Its sender has ended, but what it sent may be on its way: the time runs from now on,
      // whoever looks again.
      await step(parts, batch, { state: "doubt", lookMs: UNLISTED_MS }); // ▣
      return false;
    }
  } catch (error) {
    if (!(error instanceof ProviderError) || !isMissing(error)) throw error;
    if (!parts.resendsDoubtful) {
      await step(parts, batch, { state: "doubt", lookMs: HINDERED_MS }); // ▣
      parts.hindered(inDoubt(batch));
      return false;
    }
  }
  return step(parts, batch, { state: "closed", asked: false, file: null }); // ▣ as if it had not been asked
}

/** Time for which a batch stays in doubt, ms before it is multiplied by the pace. */
const doubtMs = ({ pace }: Advancing, { state, lookMs }: ProviderBatch): number =>
  state === "doubt" ? lookMs / pace : 0;

async function look(parts: Advancing, batch: ProviderBatch): Promise<void> {
  const { client, random } = parts;
  const { batch: name, wanted, cancelled, requests, madeMs } = batch;
  if (name === null) return;
  const seen = await client.look(name).catch(nullIfGone);
  if (seen === null) return end(parts, batch, { kind: "answered", answer: LOST });
  if (seen.state === "over") return takeIn(parts, batch, name);
  if (seen.state === "out") {
    // Its answers may be kept already, by a process that died then: providers refuse to cancel a
    // batch that has ended.
    const cancels = wanted === 0 && !cancelled;
    if (cancels) await client.cancel(name);
    const done = seen.done === null ? {} : { done: seen.done };
    const lookMs = lookDelay(madeMs ?? 0, random());
    await step(parts, batch, { lookMs, ...done, ...(cancels ? { cancelled: true } : {}) }); // ▣
    return;
  }
  if (seen.why === "file") return end(parts, batch, { kind: "refused", afterMs: 0, most: null });
  const most = Math.ceil(requests / 2);
  if (seen.why === "tokens" && requests > 1) {
    return end(parts, batch, { kind: "refused", afterMs: TOO_MANY_TOKENS_MS * parts.pace, most });
  }
  const error = failure("provider_error", `the batch ${name} was refused: ${seen.message}`, { retriable: false });
  return end(parts, batch, { kind: "answered", answer: answerOf(error) });
}

/**
 * ▣ Keeps the answers of a batch that has ended, piece by piece. A process that dies among them
 * reads them again.
 */
async function takeIn(parts: Advancing, batch: ProviderBatch, name: string): Promise<void> {
  const { batches, fence, client } = parts;
  const rows = await client.results(name);
  if (rows === null) return end(parts, batch, { kind: "answered", answer: LOST });
  let rest: Rest = { kind: "again", otherwise: NOT_RUN };
  const { answersIn, oddities } = openRows(batch);
  try {
    for await (const piece of rows) {
      if (!(await batches.answer(batch.id, fence, answersIn(piece)))) return; // ▣
      parts.answered();
    }
  } catch (error) {
    // Another look would get the same rows. They were run and paid for.
    if (!(error instanceof ProviderError) || error.status !== 422) throw error;
    rest = { kind: "answered", answer: answerOf(failure("answer_lost", error.message)) };
  }
  const odd = oddities();
  if (odd !== null)
    parts.failing(new RlmError("provider_error", `the batch ${name}: ${odd}`, { suggestion: FIRST_COUNTS }));
  await end(parts, batch, rest);
  // Providers limit what they store.
  if (batch.file !== null) await client.fence?.(batch.file).catch(() => {});
}

async function end({ batches, fence, answered }: Advancing, { id }: ProviderBatch, rest: Rest): Promise<void> {
  await batches.end(id, fence, rest); // ▣ over
  answered();
}

/** Names of the provider's are kept with their proof. @param batch in its current state */
function step(parts: Advancing, batch: ProviderBatch, change: BatchChange): Promise<boolean> {
  const { batches, fence, pace, account } = parts;
  const { state, file, batch: name, asked, lookMs } = change;
  const isNamed = [state, file, name, asked].some((one) => one !== undefined);
  const named = { ...batch, ...change, isAsked: asked ?? batch.asked_at !== null };
  return batches.step(batch.id, fence, {
    ...change,
    ...(isNamed ? { proof: proofOfNames(account, named) } : {}),
    ...(lookMs === undefined ? {} : { lookMs: lookMs * pace }),
  });
}

/** Requests of a batch that nobody with the account's key has asked for. */
class NotProven extends Error {
  readonly numbers: readonly number[];
  constructor(numbers: readonly number[]) {
    super(`requests ${numbers} are not proven`);
    this.numbers = numbers;
  }
}

/** The requests of a batch as rows, page by page. @throws NotProven */
async function* requestsOf({ batches, account }: Advancing, batch: ProviderBatch): AsyncGenerator<RowRequest[]> {
  const { id } = batch;
  for (let from = 0; ; ) {
    const page = await batches.toSend(id, from);
    const last = page.at(-1);
    if (!last) return;
    const rows: RowRequest[] = [];
    const others: number[] = [];
    for (const request of page) {
      const body = provenBody(account, batch, request);
      if (body === null) others.push(request.n);
      else rows.push({ custom_id: `${id}-${request.n}`, body });
    }
    if (others.length > 0) throw new NotProven(others);
    yield rows;
    from = last.n + 1;
  }
}

/** The failure of all requests of an account until a person acts; null: it is not that. */
function hindranceOf({ status, message: words }: ProviderError): "no_credit" | "auth_failed" | null {
  if (status === null) return null;
  const kind = refusalKind({ status, words, hasWait: false, isTooLong: false, tokens: 0 });
  if (kind === "credit") return "no_credit";
  return status === 401 || status === 403 ? "auth_failed" : null;
}

const isMissing = ({ status }: ProviderError) => status === 404 || status === 405;
/** The provider has answered that it did not do it, and would not do it later. */
const isRefusal = ({ status }: ProviderError) =>
  status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;

const LOST = answerOf(
  failure("answer_lost", "the request was answered and paid for, but the provider no longer keeps the answer"),
);
const NOT_RUN = answerOf(
  failure("timeout", "three of the provider's batches had no answer to the request: they expired, or left it out"),
);

function answerOf(error: SubCallError): BatchAnswer {
  return { status: 0, body: { ...error } };
}

const FIRST_COUNTS = "The first answer that succeeded counts, and other rows are left out. Report it to the provider.";

const CHECK_NETWORK = `Belay asks again. Check the network, and ${remedy("checkServer")}.`;

function notProven(what: string): RlmError {
  return new RlmError("store_corrupt", `${what}: not made with this key, so nothing of it is sent`, {
    suggestion: "A user with write access to the store may have changed its rows: check who has it.",
  });
}

function refused({ model }: ProviderBatch, error: ProviderError): RlmError {
  const why = isMissing(error) ? `${error.message}: this server has no batches` : error.message;
  const suggestion = `Nothing was sent. ${firstly("sendNow")}.`;
  return new RlmError("provider_error", `${model}: ${why}`, { suggestion });
}

function inDoubt({ model, requests }: ProviderBatch): RlmError {
  const problem = `a batch of ${amount(requests, "call")} may have been made, and cannot be looked for`;
  const suggestion = `${firstly("resendDoubtful")}, which may pay for these calls twice.`;
  return new RlmError("provider_error", `${model}: ${problem}`, { suggestion });
}

/**
 * A batch without a fence that is not listed so long after it was first looked for was not made,
 * ms.
 */
const UNLISTED_MS = 60_000;
/** A create is not sent any more so long after it was kept that it is asked for, ms. */
const LATE_MS = UNLISTED_MS / 4;
/** Time until the next look at what another process, or the user, may change, ms. */
export const HINDERED_MS = 60_000;
/** After this a provider takes as many tokens again, ms. */
const TOO_MANY_TOKENS_MS = 900_000;

const FIRST_LOOK_MS = 1000;
const LAST_LOOK_MS = 300_000;

/**
 * Time until the next look, ms: a tenth of the age, with 1 s at the least and 5 min at the most;
 * more or less by a tenth. That is about 60 looks in the first 50 minutes and 310 in a day.
 *
 * @param random from 0 to 1
 */
function lookDelay(ageMs: number, random: number): number {
  return Math.round(Math.min(LAST_LOOK_MS, Math.max(FIRST_LOOK_MS, ageMs / 10)) * (0.9 + 0.2 * random));
}

/** Factor of all waits for batches: 1, or less in tests. */
export function batchPace(): number {
  const pace = Number(process.env.BELAY_SHIPPING_PACE);
  return pace > 0 && pace < 1 ? pace : 1;
}
