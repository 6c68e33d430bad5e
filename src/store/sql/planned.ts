import type { Jobs } from "../jobs/port.ts";
import type { Shipping } from "../shipping/port.ts";
import type { Arguments, Method, Results } from "../thread/methods.ts";
import { damagedJobs, findJob, listJobs, readInput, readJobOfRun, readResult } from "./jobs.ts";
import { deliveredJobs, giveUpWhich, keepParcel, parcelsOf, waitsOf } from "./parcels.ts";
import { addJobs, damagedRuns, findRun, knownJobs, listRuns, openRun, setLimits } from "./runs.ts";
import * as shipping from "./shipping.ts";
import type { Plan } from "./sql.ts";
import { begin, type Changing, changeRun, finish, putBack, replaceJobs } from "./tries.ts";

// Methods of the store that are one plan each: the port says what they promise.

/** A database that performs plans, at once or later. `Own` is its side in them. */
interface Performing<When, Own> {
  reads<T>(plan: (own: Own) => Plan<T>): Done<When, T>;
  changes<T>(plan: (own: Own) => Plan<T>): Done<When, T>;
}

type When = "at once" | "later";
type Done<W, T> = W extends "later" ? Promise<T> : T;
type Planned<W, Name extends Method> = {
  readonly [One in Name]: (...args: Arguments[One]) => Done<W, Results[One]>;
};

type OfLeases = "lease" | "release";

/** The methods for parcels and shipments, without those of leases. */
export function plannedShipping<W extends When>({
  reads,
  changes,
}: Performing<W, shipping.Handling>): Planned<W, `shipping.${Exclude<keyof Shipping, OfLeases>}`> {
  return {
    "shipping.keep": (parcel) => changes(({ now }) => keepParcel(parcel, now)),
    "shipping.parcels": (session, call) => reads(() => parcelsOf(session, call)),
    "shipping.giveUp": (of, which) => changes(({ now }) => giveUpWhich(of, which, now)),
    "shipping.waits": (of) => reads(() => waitsOf(of)),
    "shipping.delivered": (queue) => reads(() => deliveredJobs(queue)),
    "shipping.groups": () => reads(shipping.groupsOf),
    "shipping.close": (of, fence, most) => changes((own) => shipping.closeShipment(of, fence, most, own)),
    "shipping.open": () => reads(shipping.openShipments),
    "shipping.batches": (account) => reads(() => shipping.batchesOf(account)),
    "shipping.step": (id, fence, change) => changes((own) => shipping.stepShipment(id, fence, change, own)),
    "shipping.requests": (id, from) => reads(() => shipping.requestsOf(id, from)),
    "shipping.answer": (id, fence, answers) => changes((own) => shipping.answerParcels(id, fence, answers, own)),
    "shipping.end": (id, fence, rest) => changes((own) => shipping.endShipment(id, fence, rest, own)),
    "shipping.pause": (account, queues, why) => changes(() => shipping.pauseRuns(account, queues, why)),
  };
}

type OfMoney = "reserve" | "give" | "slot" | "hush";
type WithLeases = "counts" | "remove" | "due" | "lapse";

/** The methods for runs and their jobs, without those that look at leases and those of money. */
export function plannedJobs<W extends When>({
  reads,
  changes,
}: Performing<W, Changing>): Planned<W, `jobs.${Exclude<keyof Jobs, OfMoney | WithLeases>}`> {
  return {
    "jobs.open": (run) => changes(({ now }) => openRun(run, now)),
    "jobs.add": (run, jobs) => changes(({ now }) => addJobs(run, jobs, now)),
    "jobs.known": (run, jobs) => reads(() => knownJobs(run, jobs)),
    "jobs.replace": (run, jobs) => changes((own) => replaceJobs(run, jobs, own)),
    "jobs.run": (nameOrId) => reads(() => findRun(nameOrId)),
    "jobs.runs": (page) => reads(() => listRuns(page)),
    "jobs.damagedRuns": () => reads(() => damagedRuns()),
    "jobs.read": (key) => reads(() => readJobOfRun(key)),
    "jobs.find": (run, id) => reads(() => findJob(run, id)),
    "jobs.list": (run, page) => reads(() => listJobs(run, page)),
    "jobs.damaged": (run) => reads(() => damagedJobs(run)),
    "jobs.input": (key) => reads(() => readInput(key)),
    "jobs.result": (key) => reads(() => readResult(key)),
    "jobs.begin": (key, taking) => changes((own) => begin(key, taking, own)),
    "jobs.finish": (key, fence, outcome) => changes((own) => finish(key, fence, outcome, own)),
    "jobs.put": (key, fence, back) => changes((own) => putBack(key, fence, back, own)),
    "jobs.change": (run, wanted) => changes((own) => changeRun(run, wanted, own)),
    "jobs.limit": (run, limits) => changes(() => setLimits(run, limits)),
  };
}
