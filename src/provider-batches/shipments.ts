import { type Clock, firstly, RlmError, remedy } from "../../runtime/index.ts";
import { type BatchAccount, failure, refusalKind } from "../models/index.ts";
import { amount } from "../platform/figures.ts";
import type { ParcelAnswer, Rest, RowAnswer, Shipment, ShipmentChange, Shipping } from "../store/index.ts";
import { type Carrier, CarrierError, nullIfGone, type ResultRow, type RowRequest } from "./carrier.ts";
import { HINDERED_MS, LATE_MS, lookDelay, TOO_MANY_TOKENS_MS, UNLISTED_MS } from "./pace.ts";
import { isProven, proofOfNames, provenBody } from "./proof.ts";

/** The parts with which a shipment is advanced, under the lease of its account. */
export interface Advancing {
  readonly shipping: Shipping;
  readonly account: BatchAccount;
  readonly carrier: Carrier;
  readonly fence: number;
  readonly clock: Pick<Clock, "now">;
  /** From 0 to 1. */
  random(): number;
  /** Waits are multiplied by this: 1, or less in tests. */
  readonly pace: number;
  /** A batch that nobody can look for is made again, and may be paid twice. */
  readonly resendsDoubtful: boolean;
  /** Jobs or sessions may go on. */
  answered(): void;
  /** Nothing can be sent for this account until somebody acts. */
  hindered(error: RlmError): void;
  /** The provider does not do what it is asked for now, and is asked again later. */
  failing(error: RlmError): void;
}

/** Takes the next step of a shipment that is to be looked at: the provider gets it, or is asked for its answers. */
export async function advance(parts: Advancing, shipment: Shipment): Promise<void> {
  if (!isProven(parts.account, shipment)) {
    parts.failing(notProven(`the row of shipment ${shipment.id}`));
    await parts.shipping.step(shipment.id, parts.fence, { lookMs: HINDERED_MS * parts.pace });
    return;
  }
  try {
    await (shipment.state === "out" ? look(parts, shipment) : leave(parts, shipment));
  } catch (error) {
    if (!(error instanceof CarrierError)) throw error;
    const problem = `batches of ${shipment.account}: ${error.message}`;
    const code = hindranceOf(error);
    if (code === null) parts.failing(new RlmError("provider_error", problem, { suggestion: CHECK_NETWORK }));
    else parts.hindered(new RlmError(code, problem, failure(code, problem)));
    const lookMs = code ? HINDERED_MS : lookDelay(shipment.madeMs ?? shipment.closedMs, parts.random());
    await step(parts, shipment, { lookMs: Math.max(lookMs, doubtMs(parts, shipment)) });
  }
}

/** Sends a shipment that has not left. Between its two last commits only the create is out, which is sent once. */
async function leave(parts: Advancing, found: Shipment): Promise<void> {
  const { carrier, clock } = parts;
  const isLost = found.asked_at !== null;
  if (!isLost && found.wanted === 0) return end(parts, found, { kind: "again", otherwise: NOT_RUN });
  if (isLost && !(await isNotMade(parts, found))) return;
  const shipment: Shipment = isLost ? { ...found, asked_at: null, file: null } : found;
  try {
    const rows = () => requestsOf(parts, shipment);
    let { file } = shipment;
    if (file === null && carrier.upload) {
      file = await carrier.upload(shipment.id, rows());
      if (!(await step(parts, shipment, { file }))) return; // ▣ the file
    }
    const asking = () => isStillAsked(parts, { ...shipment, file }); // ▣ asked_at
    const batch = await carrier.create({ shipment: shipment.id, file, rows: rows(), asking }); // only now, once
    const asked = { ...shipment, file, asked_at: clock.now() };
    await step(parts, asked, { state: "out", batch, lookMs: lookDelay(0, parts.random()) }); // ▣ its name
  } catch (error) {
    if (error instanceof NotProven) return withoutThem(parts, shipment, error.numbers);
    if (!(error instanceof CarrierError) || !isRefusal(error) || hindranceOf(error)) throw error;
    parts.hindered(refused(shipment, error));
    await end(parts, shipment, { kind: "refused", afterMs: 0, most: null }); // ▣ nothing was run
  }
}

/** Answers the requests that nobody with the key has asked for; the others wait for another shipment. */
async function withoutThem(parts: Advancing, shipment: Shipment, numbers: readonly number[]): Promise<void> {
  const error = notProven(`${amount(numbers.length, "request")} by batch of ${shipment.model}`);
  parts.failing(error);
  const { message, suggestion } = error;
  const answer = answerOf(failure("policy_violation", message, { suggestion }));
  const answers = numbers.map((n) => ({ n, ...answer, again: false }));
  if (!(await parts.shipping.answer(shipment.id, parts.fence, answers))) return; // ▣
  await end(parts, shipment, { kind: "refused", afterMs: 0, most: null }); // ▣ nothing was sent
}

/**
 * ▣ Keeps that the create is asked for. false: another process has the account, or may have looked for the batch already, since
 * this one stood still meanwhile.
 */
async function isStillAsked(parts: Advancing, shipment: Shipment): Promise<boolean> {
  const from = parts.clock.now();
  return (await step(parts, shipment, { asked: true })) && parts.clock.now() - from < LATE_MS * parts.pace;
}

/**
 * Looks for a batch whose create may have been carried out. true: it was not made, and cannot be made any more. Otherwise the
 * shipment has its batch, or is looked at later.
 */
async function isNotMade(parts: Advancing, shipment: Shipment): Promise<boolean> {
  const { carrier, shipping } = parts;
  const { id, account, parcels, state, asked_at, askedMs, file } = shipment;
  const leftMs = doubtMs(parts, shipment);
  const known = new Set(await shipping.batches(account));
  const lost = { shipment: id, parcels, file, asked_at: asked_at ?? 0, known };
  try {
    let found = await carrier.find(lost);
    if (found.kind === "none" && carrier.fence && file !== null) {
      // A create that is still on its way finds no file from now on.
      await carrier.fence(file);
      found = await carrier.find(lost);
    }
    if (found.kind === "found") {
      await step(parts, shipment, { state: "out", batch: found.batch, lookMs: 0 }); // ▣ adopted
      return false;
    }
    if (found.kind === "maybe" || leftMs > 0) {
      const maybeMs = found.kind === "maybe" ? lookDelay(askedMs ?? 0, parts.random()) : 0;
      await step(parts, shipment, { lookMs: Math.max(leftMs, maybeMs) });
      return false;
    }
    if (!carrier.fence && state !== "doubt") {
      // Its sender has ended, but what it sent may be on its way: the time runs from now on, whoever looks again.
      await step(parts, shipment, { state: "doubt", lookMs: UNLISTED_MS }); // ▣
      return false;
    }
  } catch (error) {
    if (!(error instanceof CarrierError) || !isMissing(error)) throw error;
    if (!parts.resendsDoubtful) {
      await step(parts, shipment, { state: "doubt", lookMs: HINDERED_MS }); // ▣
      parts.hindered(inDoubt(shipment));
      return false;
    }
  }
  return step(parts, shipment, { state: "closed", asked: false, file: null }); // ▣ as if it had not been asked
}

/** Time for which a shipment stays in doubt, ms before it is multiplied by the pace. */
const doubtMs = ({ pace }: Advancing, { state, lookMs }: Shipment): number => (state === "doubt" ? lookMs / pace : 0);

async function look(parts: Advancing, shipment: Shipment): Promise<void> {
  const { carrier, random } = parts;
  const { batch, wanted, cancelled, parcels, madeMs } = shipment;
  if (batch === null) return;
  const seen = await carrier.look(batch).catch(nullIfGone);
  if (seen === null) return end(parts, shipment, { kind: "answered", answer: LOST });
  if (seen.state === "over") return takeIn(parts, shipment, batch);
  if (seen.state === "out") {
    // Its answers may be kept already, by a process that died then: providers refuse to cancel a batch that is over.
    const cancels = wanted === 0 && !cancelled;
    if (cancels) await carrier.cancel(batch);
    const done = seen.done === null ? {} : { done: seen.done };
    const lookMs = lookDelay(madeMs ?? 0, random());
    await step(parts, shipment, { lookMs, ...done, ...(cancels ? { cancelled: true } : {}) }); // ▣
    return;
  }
  if (seen.why === "file") return end(parts, shipment, { kind: "refused", afterMs: 0, most: null });
  const most = Math.ceil(parcels / 2);
  if (seen.why === "tokens" && parcels > 1) {
    return end(parts, shipment, { kind: "refused", afterMs: TOO_MANY_TOKENS_MS * parts.pace, most });
  }
  const error = failure("provider_error", `the batch ${batch} was refused: ${seen.message}`, { retriable: false });
  return end(parts, shipment, { kind: "answered", answer: answerOf(error) });
}

/** ▣ Keeps the answers of a batch that is over, piece by piece. A process that dies among them reads them again. */
async function takeIn(parts: Advancing, shipment: Shipment, batch: string): Promise<void> {
  const { shipping, fence, carrier } = parts;
  const rows = await carrier.results(batch);
  if (rows === null) return end(parts, shipment, { kind: "answered", answer: LOST });
  let rest: Rest = { kind: "again", otherwise: NOT_RUN };
  try {
    for await (const piece of rows) {
      const answers = piece.flatMap((row) => answerIn(shipment, row));
      if (!(await shipping.answer(shipment.id, fence, answers))) return; // ▣
      parts.answered();
    }
  } catch (error) {
    // Another look would get the same rows. They were run and paid for.
    if (!(error instanceof CarrierError) || error.status !== 422) throw error;
    rest = { kind: "answered", answer: answerOf(failure("answer_lost", error.message)) };
  }
  await end(parts, shipment, rest);
  // Providers limit what they store.
  if (shipment.file !== null) await carrier.fence?.(shipment.file).catch(() => {});
}

/** The answer of a row; none for rows of others, and for those that were not run. */
function answerIn({ id }: Shipment, { custom_id, answer }: ResultRow): RowAnswer[] {
  const n = custom_id.startsWith(`${id}-`) ? Number(custom_id.slice(id.length + 1)) : Number.NaN;
  if (answer === null || !Number.isSafeInteger(n)) return [];
  return [{ n, ...answer, again: answer.status === 429 || answer.status >= 500 }];
}

async function end({ shipping, fence, answered }: Advancing, { id }: Shipment, rest: Rest): Promise<void> {
  await shipping.end(id, fence, rest); // ▣ over
  answered();
}

/** Names of the provider's are kept with their proof. @param shipment as it stands */
function step(parts: Advancing, shipment: Shipment, change: ShipmentChange): Promise<boolean> {
  const { shipping, fence, pace, account } = parts;
  const { state, file, batch, asked, lookMs } = change;
  const isNamed = [state, file, batch, asked].some((one) => one !== undefined);
  const named = { ...shipment, ...change, isAsked: asked ?? shipment.asked_at !== null };
  return shipping.step(shipment.id, fence, {
    ...change,
    ...(isNamed ? { proof: proofOfNames(account, named) } : {}),
    ...(lookMs === undefined ? {} : { lookMs: lookMs * pace }),
  });
}

/** Requests of a shipment that nobody with the account's key has asked for. */
class NotProven extends Error {
  readonly numbers: readonly number[];
  constructor(numbers: readonly number[]) {
    super(`requests ${numbers} are not proven`);
    this.numbers = numbers;
  }
}

/** The requests of a shipment as rows, page by page. @throws NotProven */
async function* requestsOf({ shipping, account }: Advancing, shipment: Shipment): AsyncGenerator<RowRequest[]> {
  const { id } = shipment;
  for (let from = 0; ; ) {
    const page = await shipping.requests(id, from);
    const last = page.at(-1);
    if (!last) return;
    const rows: RowRequest[] = [];
    const others: number[] = [];
    for (const request of page) {
      const body = provenBody(account, shipment, request);
      if (body === null) others.push(request.n);
      else rows.push({ custom_id: `${id}-${request.n}`, body });
    }
    if (others.length > 0) throw new NotProven(others);
    yield rows;
    from = last.n + 1;
  }
}

/** The failure of all requests of an account until somebody acts; null: it is not that. */
function hindranceOf({ status, message: words }: CarrierError): "no_credit" | "auth_failed" | null {
  if (status === null) return null;
  const kind = refusalKind({ status, words, hasWait: false, isTooLong: false, tokens: 0 });
  if (kind === "credit") return "no_credit";
  return status === 401 || status === 403 ? "auth_failed" : null;
}

const isMissing = ({ status }: CarrierError) => status === 404 || status === 405;
/** The provider has answered that it did not do it, and would not do it later. */
const isRefusal = ({ status }: CarrierError) =>
  status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;

const LOST = answerOf(
  failure("answer_lost", "the request was answered and paid for, but the provider no longer keeps the answer"),
);
const NOT_RUN = answerOf(failure("timeout", "the provider's batches expired three times before the request was run"));

function answerOf(error: ReturnType<typeof failure>): ParcelAnswer {
  return { status: 0, body: { ...error } };
}

const CHECK_NETWORK = `Belay asks again. Check the network, and ${remedy("checkServer")}.`;

function notProven(what: string): RlmError {
  return new RlmError("store_corrupt", `${what}: not made with this key, so nothing of it is sent`, {
    suggestion: "Somebody who can write to the store may have changed its rows: see who can.",
  });
}

function refused({ model }: Shipment, error: CarrierError): RlmError {
  const why = isMissing(error) ? `${error.message}: this server has no batches` : error.message;
  const suggestion = `Nothing was sent. ${firstly("sendNow")}.`;
  return new RlmError("provider_error", `${model}: ${why}`, { suggestion });
}

function inDoubt({ model, parcels }: Shipment): RlmError {
  const problem = `a batch of ${amount(parcels, "call")} may have been made, and cannot be looked for`;
  const suggestion = `${firstly("resendDoubtful")}, which may pay for these calls twice.`;
  return new RlmError("provider_error", `${model}: ${problem}`, { suggestion });
}
