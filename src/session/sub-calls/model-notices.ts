import { firstly, remedy } from "../../../runtime/index.ts";

import { endSentence, type Models } from "../../models/index.ts";
import type { CallingSession } from "../parts.ts";
import type { Answers } from "./port.ts";

/** For cells that make a sub-call without a model. */
const NO_MODEL = `${firstly("nameModel")}; ${remedy("nameServer")}.`;

/** Time for which a cure counts that names the providers with keys. */
const CURE_MS = 1000;

/** The cure of a missing model. Every exec is told of it, and it reads files: it counts for a second. */
export function openCure(models: Models, { clock }: CallingSession["env"]): () => string {
  let cured = { at: Number.NEGATIVE_INFINITY, cure: NO_MODEL };
  return () => {
    const at = clock.monotonic();
    if (at - cured.at > CURE_MS) cured = { at, cure: models.noModelCure?.() ?? NO_MODEL };
    return cured.cure;
  };
}

interface Asked {
  readonly models: Models;
  readonly session: Pick<CallingSession, "options" | "env">;
  /** Models that were asked by batch, although no lower price for that is known. */
  readonly fullPrice: ReadonlySet<string>;
}

/** Warnings about models that have been asked, each told once. */
export function openNotices({ models, session, fullPrice }: Asked): NonNullable<Answers["noticesOf"]> {
  const told = new Set<string>();
  const isChosen = session.options.modelChosen === true;
  return (asked, isFirst) => {
    const { fallback } = models;
    const isNew = isChosen && isFirst && fallback !== null && asked.includes(fallback);
    const unlisted = models.unlisted?.(asked) ?? [];
    const now = session.env.clock.now();
    const ends = asked.flatMap((name) => endSentence(name, now) ?? []);
    const notices = [
      ...(isNew ? [`model_chosen: ${fallback}`] : []),
      ...unlisted.map((name) => `model_unlisted: ${name}`),
      ...ends.map((sentence) => `model_ends: ${sentence}`),
      ...[...fullPrice].map((name) => `batch_price_unknown: ${name}`),
    ].filter((notice) => !told.has(notice));
    for (const notice of notices) told.add(notice);
    return notices;
  };
}
