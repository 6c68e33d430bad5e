import type { Complete, Start, ToolCall, ToolResult } from "./records.ts";

/** All records of one exec, in journal order. */
export interface ExecRecords {
  readonly start: Start;
  readonly resumed: number;
  /** Recorded results that the newest process was given again. */
  readonly replayed: number;
  readonly calls: readonly ToolCall[];
  readonly results: readonly ToolResult[];
  readonly complete: Complete | null;
}

type Changes = Partial<Pick<ExecRecords, "resumed" | "replayed" | "complete">>;

/** The records of an exec that has begun. */
export function begun(start: Start): ExecRecords {
  return recordsOf({ start, resumed: 0, replayed: 0, complete: null }, { calls: listOf([]), results: listOf([]) });
}

/** The records with some facts changed, and one more call or result. Its time does not grow with the calls of the exec. */
export function grown(records: ExecRecords, changes: Changes, added?: ToolCall | ToolResult): ExecRecords {
  const { start, resumed, replayed, complete } = records;
  const { calls, results } = listsOf(records);
  return recordsOf(
    { start, resumed, replayed, complete, ...changes },
    {
      calls: added?.record === "rlm_tool_call" ? calls.with(added) : calls,
      results: added?.record === "rlm_tool_result" ? results.with(added) : results,
    },
  );
}

/** The call with this id, if the exec has made it. Its time does not grow with the calls of the exec. */
export function callIn(records: ExecRecords, call_id: string): ToolCall | undefined {
  return listsOf(records).calls.find(call_id);
}

/** Counts the calls that the exec has made. Its time does not grow with them. */
export function callCount(records: ExecRecords): number {
  return listsOf(records).calls.length;
}

/** The calls after the first `from`. Its time grows only with how many these are. */
export function callsFrom(records: ExecRecords, from: number): readonly ToolCall[] {
  return listsOf(records).calls.from(from);
}

interface Lists {
  readonly calls: GrowingList<ToolCall>;
  readonly results: GrowingList<ToolResult>;
}

/** The lists of records that were made here. */
const known = new WeakMap<ExecRecords, Lists>();

function listsOf(records: ExecRecords): Lists {
  return known.get(records) ?? { calls: listOf(records.calls), results: listOf(records.results) };
}

/** Reads the lists as arrays only if somebody asks for them. */
function recordsOf(facts: Omit<ExecRecords, "calls" | "results">, lists: Lists): ExecRecords {
  const { calls, results } = lists;
  const records = {
    ...facts,
    get calls() {
      return calls.all();
    },
    get results() {
      return results.all();
    },
  };
  known.set(records, lists);
  return records;
}

/** A list that never changes. A longer one that is made of it shares its items. */
interface GrowingList<T> {
  readonly length: number;
  with(item: T): GrowingList<T>;
  find(call_id: string): T | undefined;
  from(place: number): readonly T[];
  all(): readonly T[];
}

/** The items of the longest of some lists; each of them is as many of the first items as it is long. */
interface Shared<T> {
  readonly items: T[];
  readonly places: Map<string, number>;
}

function listOf<T extends { readonly call_id: string }>(items: readonly T[]): GrowingList<T> {
  const shared: Shared<T> = { items: [], places: new Map() };
  for (const item of items) add(shared, item);
  return firstOf(shared, items.length);
}

function firstOf<T extends { readonly call_id: string }>(shared: Shared<T>, length: number): GrowingList<T> {
  let all: readonly T[] | undefined;
  return {
    length,
    with(item) {
      // Another list has grown from this one already: the new one shares nothing with that.
      if (shared.items.length > length) return listOf([...shared.items.slice(0, length), item]);
      add(shared, item);
      return firstOf(shared, length + 1);
    },
    find(call_id) {
      const place = shared.places.get(call_id) ?? length;
      return place < length ? shared.items[place] : undefined;
    },
    from: (place) => shared.items.slice(place, length),
    all() {
      all ??= shared.items.slice(0, length);
      return all;
    },
  };
}

function add<T extends { readonly call_id: string }>({ items, places }: Shared<T>, item: T): void {
  if (!places.has(item.call_id)) places.set(item.call_id, items.length);
  items.push(item);
}
