import type { Methods } from "../methods.ts";
import { shown } from "../rows/checkpoint.ts";
import { answersTo, reuseAnswer, reusedAnswers, runsOfFiles } from "./answers.ts";
import { deliveredJobs, keepRequest, requestsOfCall, waitsOf } from "./batch-requests.ts";
import * as batches from "./batches.ts";
import { keepText, readAnswer } from "./cache.ts";
import { hasCheckpoint, readCheckpoint, readImage } from "./checkpoints.ts";
import { hasContext, insertContext, readContext, readIndex } from "./contexts.ts";
import type { Dialect } from "./dialect.ts";
import { readJournal } from "./journal.ts";
import { checkpointsOf, fork, readable } from "./reach.ts";
import {
  addJobs,
  countStates,
  damagedJobs,
  damagedRuns,
  findJob,
  findRun,
  knownJobs,
  listJobs,
  listRuns,
  openRun,
  readInput,
  readJobOfRun,
  readResult,
  removeRun,
  setLimits,
} from "./runs.ts";
import { damagedSessions, findSession, listSessions, shownSession } from "./sessions.ts";
import type { Plan } from "./sql.ts";
import { begin, changeRun, countLapses, finish, putBack, replaceJobs, wakeHeld } from "./tries.ts";
import { verifyPage } from "./verify.ts";

// Methods of the store that are one plan each: the port says what they promise.

/** A database that performs plans. */
interface Performing {
  /** The reads of the plan may be of several moments. */
  looks<T>(plan: (own: Dialect) => Plan<T>): Promise<T>;
  /** The reads of the plan are all of one moment. */
  reads<T>(plan: (own: Dialect) => Plan<T>): Promise<T>;
  /** All writes of the plan are kept, or none. */
  changes<T>(plan: (own: Dialect) => Plan<T>): Promise<T>;
}

/**
 * Methods that take leases or need them, or that a server does in one statement: each database has
 * its own.
 */
type OfLeases =
  | "create"
  | "lease"
  | "release"
  | "remove"
  | "gc"
  | "sweepTexts"
  | "jobs.due"
  | "batches.lease"
  | "batches.release";
type OfHolders = "commit" | "thin" | "putBaseline" | "jobs.reserve" | "jobs.give" | "jobs.slot" | "jobs.hush";

export function planned({ looks, reads, changes }: Performing): Omit<Methods, OfLeases | OfHolders> {
  return {
    find: (nameOrId) => reads((own) => findSession(nameOrId, own)),
    list: (page) => looks((own) => listSessions(page, own)),
    damaged: () => looks((own) => damagedSessions(own)),
    journal: (id, from = 1) => reads(() => readJournal(id, from)),
    readable: (id) => reads(() => readable(id)),
    checkpoints: (id) => reads(() => checkpointsOf(id)),
    checkpoint: (id) =>
      looks(function* () {
        return shown(yield* readCheckpoint(id));
      }),
    image: (id) => reads(() => readImage(id)),
    hasBaseline: (id) => looks(() => hasCheckpoint(id)),
    putContext: (context) => changes((own) => insertContext(context, own)),
    context: (key, how) => reads((own) => readContext(key, own, how)),
    contextIndex: (key) => looks(() => readIndex(key)),
    hasContext: (key) => looks(() => hasContext(key)),
    cached: (key) => looks(() => readAnswer(key)),
    keepText: (hash, text, at) => changes(() => keepText(hash, text, at)),
    fork: (session, checkpoint, wanted) =>
      changes(function* (own) {
        yield* fork(session, checkpoint, wanted);
        return yield* shownSession(wanted.id, own);
      }),
    verify: (part, after) => reads((own) => verifyPage(part, after, own)),

    "jobs.open": (run) => changes(({ now }) => openRun(run, now)),
    "jobs.add": (run, jobs) => changes(({ now }) => addJobs(run, jobs, now)),
    "jobs.known": (run, jobs) => looks(() => knownJobs(run, jobs)),
    "jobs.replace": (run, jobs, model = null) => changes((own) => replaceJobs(run, { jobs, model }, own)),
    "jobs.run": (nameOrId) => looks(() => findRun(nameOrId)),
    "jobs.runs": (page) => looks(() => listRuns(page)),
    "jobs.damagedRuns": () => looks(() => damagedRuns()),
    "jobs.read": (key) => looks(() => readJobOfRun(key)),
    "jobs.find": (run, id) => looks(() => findJob(run, id)),
    "jobs.list": (run, page) => looks(() => listJobs(run, page)),
    "jobs.damaged": (run) => looks(() => damagedJobs(run)),
    "jobs.input": (key) => looks(() => readInput(key)),
    "jobs.result": (key) => looks(() => readResult(key)),
    "jobs.reuse": (search) => changes(() => reuseAnswer(search)),
    "jobs.reused": (run) => reads(() => reusedAnswers(run)),
    "jobs.sameFiles": (files, without) => looks(() => runsOfFiles(files, without)),
    "jobs.answersTo": (asked, runs) => looks(() => answersTo(asked, runs)),
    "jobs.counts": (run, without) =>
      looks(function* (own) {
        return { ...(yield* countStates(run, without)), workers: yield* own.workers(run) };
      }),
    "jobs.begin": (key, taking) => changes((own) => begin(key, taking, own)),
    "jobs.finish": (key, fence, outcome) => changes((own) => finish(key, fence, outcome, own)),
    "jobs.put": (key, fence, back) => changes((own) => putBack(key, fence, back, own)),
    "jobs.change": (run, wanted) => changes((own) => changeRun(run, wanted, own)),
    "jobs.lapse": (run) => changes((own) => countLapses(run, own)),
    "jobs.limit": (run, limits) => changes(() => setLimits(run, limits)),
    "jobs.remove": (run, options) => changes((own) => removeRun(run, options, own)),

    "batches.keep": (request) => changes(({ now }) => keepRequest(request, now)),
    "batches.ofCall": (session, call) => reads(() => requestsOfCall(session, call)),
    "batches.giveUp": (of, which) => changes(({ now }) => batches.giveUpWhich(of, which, now)),
    "batches.waits": (of) => reads(() => waitsOf(of)),
    "batches.delivered": (queue) =>
      changes(function* ({ now }) {
        yield* wakeHeld(queue, now);
        return yield* deliveredJobs(queue);
      }),
    "batches.groups": () => reads(batches.groupsOf),
    "batches.close": (of, fence, most) => changes((own) => batches.closeBatch(of, fence, most, own)),
    "batches.open": () => reads(batches.openBatches),
    "batches.names": (account) => reads(() => batches.batchesOf(account)),
    "batches.step": (id, fence, change) => changes((own) => batches.stepBatch(id, fence, change, own)),
    "batches.toSend": (id, from) => reads(() => batches.requestsOf(id, from)),
    "batches.answer": (id, fence, answers) => changes((own) => batches.answerRequests(id, fence, answers, own)),
    "batches.end": (id, fence, rest) => changes((own) => batches.endBatch(id, fence, rest, own)),
    "batches.pause": (account, queues, why) => changes(() => batches.pauseRuns(account, queues, why)),
  };
}
