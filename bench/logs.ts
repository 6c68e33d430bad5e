import { closeSync, openSync, writeSync } from "node:fs";
import { seededRandom } from "../src/platform/seeded-random.ts";

// Logs of services: a unique id in each line, messages of six scripts, the same ones for the same
// seed. How often the planted words stand in them is known without a search.

/** A word of each message of a connection that ended: about 1 line in 12. */
export const FREQUENT = "connection reset";
/** A word that stands in one line of this many. */
export const RARE = { word: "zzyzx", every: 100_000 };
/** A word that stands nowhere. */
export const NOWHERE = "quxotic";

const LEVELS = ["INFO", "INFO", "INFO", "INFO", "DEBUG", "DEBUG", "WARN", "ERROR"];
const SERVICES = ["gateway", "billing", "search", "sessions", "mail", "uploads", "ledger", "inventory"];
const MESSAGES = [
  `${FREQUENT} by peer while the reply was read`,
  "request served from the cache of the region",
  "user opened the page of her account",
  "timeout of the database, the transaction was denied",
  "retrying the call to the ledger after a pause",
  "le paquet de mise à jour a été déployé sur les serveurs européens",
  "die Größe der Warteschlange übersteigt den Schwellenwert",
  "соединение с сервером базы данных восстановлено",
  "η αίτηση του χρήστη απορρίφθηκε από τον διακομιστή",
  "数据库连接超时，正在重试",
  "検索インデックスの更新が完了しました",
  "تمت معالجة الطلب بنجاح خلال المهلة المحددة",
].map((message) => Buffer.from(message));

/** Bytes that are written at once. */
const CHUNK = 4 * 1024 * 1024;
/** More bytes than a line has. */
const MOST_LINE = 1024;
const STEP_MS = 7;

/** A log and how it is made. */
export interface LogOptions {
  /** The size of the file: lines are added while it is less. */
  readonly bytes: number;
  readonly seed: number;
}

/** Facts about a log that was written. */
export interface WrittenLog {
  readonly bytes: number;
  readonly lines: number;
  /** The lines that have each planted word. */
  readonly rare: number;
  readonly frequent: number;
}

/** Writes a log. */
export function writeLog(path: string, { bytes: most, seed }: LogOptions): WrittenLog {
  const file = openSync(path, "w");
  const room = Buffer.alloc(CHUNK);
  const lineOf = openLines(seed);
  const log = { bytes: 0, lines: 0, rare: 0, frequent: 0 };
  let filled = 0;
  const flush = () => {
    log.bytes += writeSync(file, room, 0, filled);
    filled = 0;
  };
  try {
    while (log.bytes + filled < most) {
      const { head, message, tail, isRare } = lineOf();
      filled += room.write(head, filled, "latin1");
      room.set(message, filled);
      filled += message.length;
      filled += room.write(tail, filled, "latin1");
      log.lines += 1;
      if (message === MESSAGES[0]) log.frequent += 1;
      if (isRare) log.rare += 1;
      if (filled > CHUNK - MOST_LINE) flush();
    }
    flush();
  } finally {
    closeSync(file);
  }
  return log;
}

/** The parts of a line, with its end. */
interface Line {
  readonly head: string;
  readonly message: Buffer;
  readonly tail: string;
  /** True if the line has the rare word. */
  readonly isRare: boolean;
}

/** Gives the lines of a log, one after the other. */
function openLines(seed: number): () => Line {
  const random = seededRandom(seed);
  let number = 0;
  let time = Date.UTC(2026, 2, 14);
  let second = -1;
  let date = "";
  return () => {
    number += 1;
    const dice = random();
    time += 1 + (number % STEP_MS);
    if (Math.floor(time / 1000) !== second) {
      second = Math.floor(time / 1000);
      date = new Date(time).toISOString().slice(0, 20);
    }
    const level = LEVELS[number % LEVELS.length];
    const service = SERVICES[(number * 31) % SERVICES.length];
    const id = `${hexOf(Math.imul(number, 0x9e3779b1))}${hexOf(number ^ seed)}`;
    const isRare = number % RARE.every === 0;
    return {
      head: `${date}${time % 1000}Z ${level} ${service}-${number % 61} req-${id} `,
      message: MESSAGES[Math.floor(dice * MESSAGES.length)] ?? Buffer.alloc(0),
      tail: `${isRare ? ` ${RARE.word}` : ""} took=${Math.floor(dice * 10_000)}ms\n`,
      isRare,
    };
  };
}

const hexOf = (number: number) => (number >>> 0).toString(16).padStart(8, "0");
