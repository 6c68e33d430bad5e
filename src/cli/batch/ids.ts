import { createHash } from "node:crypto";
import { canonicalJson } from "../../platform/canonical-json.ts";
import { isRecord } from "../../platform/json.ts";
import type { Input } from "./jsonl.ts";
import { BadLine } from "./lines.ts";

/** Gives each input the id of its job. @throws BadLine for an id that cannot be one, or is given twice */
export type Ids = (input: Input) => string;

const ID_UNITS = 200;
const HASH_DIGITS = 16;

/**
 * @param named the field that `--id` names, which each input must have; null: the `usual` one if there is one, else a hash
 * @param usual `path` of files, whose paths may be no ids; `id` of others
 */
export function openIds(named: string | null, usual: "id" | "path"): Ids {
  const taken = new Map<string, string>();
  const sameHash = new Map<string, number>();
  return (input) => {
    const given = named === null && usual === "path" ? pathId(input) : givenId(input, named);
    const id = given ?? freeId(hashOf(input), taken, sameHash);
    const first = taken.get(id);
    if (first !== undefined) {
      throw new BadLine(
        input.at,
        `has the id ${JSON.stringify(id)}, and so has ${first}`,
        "Ids name jobs: each is given once.",
      );
    }
    taken.set(id, input.at);
    return id;
  };
}

function givenId({ at, value }: Input, named: string | null): string | null {
  const field = named ?? "id";
  const given = isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  if (given === undefined || given === null) {
    if (named === null) return null;
    throw new BadLine(at, `has no field ${JSON.stringify(named)}, which --id names`);
  }
  const id = typeof given === "number" ? String(given) : given;
  if (typeof id === "string" && isId(id)) return id;
  throw new BadLine(
    at,
    `has ${JSON.stringify(field)} that cannot be an id: it is a number, or 1 to ${ID_UNITS} characters without control characters`,
    "Name another field with --id.",
  );
}

function pathId({ value }: Input): string | null {
  const path = isRecord(value) ? value.path : undefined;
  return typeof path === "string" && isId(path) ? path : null;
}

const isId = (text: string) => text.length >= 1 && text.length <= ID_UNITS && !/[\p{Cc}\p{Cs}]/u.test(text);

function hashOf({ value }: Input): string {
  return createHash("sha256")
    .update(canonicalJson(value) ?? "")
    .digest("hex")
    .slice(0, HASH_DIGITS);
}

/** Equal inputs are told apart by their number: `…`, `…-2`, `…-3`. */
function freeId(hash: string, taken: ReadonlyMap<string, string>, sameHash: Map<string, number>): string {
  let count = sameHash.get(hash) ?? 0;
  let id: string;
  do {
    count += 1;
    id = count === 1 ? hash : `${hash}-${count}`;
  } while (taken.has(id));
  sameHash.set(hash, count);
  return id;
}
