import type { BranchEntry } from "../../../src/pi/externalize/message.ts";
import { serve } from "../../../src/pi/read-cache/decide.ts";
import { sha256 } from "../../../src/pi/read-cache/file.ts";
import {
  type BranchReading,
  candidateOf,
  happenedTo,
  type Known,
  knownAt,
  knownOf,
} from "../../../src/pi/read-cache/happened.ts";
import { type Meta, scopeOf } from "../../../src/pi/read-cache/meta.ts";
import { prove, type Shown } from "../../../src/pi/read-cache/proof.ts";
import { type Asked, piRead } from "./pi-read.ts";
import { believed, type Seen } from "./reader.ts";

/** Lines that Pi shows at once here; 2,000 in Pi. */
const MOST_LINES = 24;
const PATHS = ["/p/a", "/p/b"];

export const ACTS = [
  ...["read", "read", "read", "read range", "read range", "read again", "read again", "batch", "other reader"],
  ...["change", "change", "insert", "shrink", "go back", "edit", "write", "failed edit", "refresh", "refresh range"],
  ...["compact", "go to", "alter", "hide", "restart", "lose texts"],
] as const;

/** Something that happens; the numbers choose what of. */
export interface Step {
  readonly act: (typeof ACTS)[number];
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

/** A rule that is left out or turned round, which the property has to notice. */
export interface Mutant {
  readonly branch?: (branch: readonly BranchEntry[], all: readonly BranchEntry[]) => readonly BranchEntry[];
  readonly wasSent?: () => boolean;
  readonly happened?: typeof happenedTo;
  readonly known?: (known: Known, shown: Shown) => Known;
  readonly shown?: (shown: Shown, asked: Asked, file: string) => Shown;
  /** What has to happen for it to be noticed soon; default: everything. */
  readonly acts?: readonly Step["act"][];
}

export interface Played {
  readonly reads: number;
  readonly modes: ReadonlyMap<Meta["mode"], number>;
  /** Answers after which the model believes what is not so. */
  readonly wrong: readonly string[];
}

interface Node {
  readonly entry: BranchEntry;
  readonly parent: Node | null;
  readonly seen: Seen | null;
  /** Of a result: its call. Of an entry that hides: the call whose result is hidden. */
  readonly call?: string;
  readonly hides?: string;
}

/** Lives through a history, with two files, a tree of entries and a model that believes what it reads. */
export async function play(steps: readonly Step[], mutant: Mutant = {}): Promise<Played> {
  const world = openWorld(mutant);
  for (const step of steps) await world.act(step);
  return world.played;
}

function openWorld(mutant: Mutant) {
  const disk = new Map(PATHS.map((path, n) => [path, firstText(n)]));
  const earlier = new Map(PATHS.map((path) => [path, [textAt(path)]]));
  const nodes: Node[] = [];
  let leaf: Node | null = null;
  let count = 0;
  let texts = new Map<string, string>();
  let served = new Map<string, Meta>();
  let lastRead: { path: string; asked: Asked } = { path: PATHS[0] ?? "", asked: {} };
  /** The next result is changed by another extension. */
  let alters = false;
  const played = { reads: 0, modes: new Map<Meta["mode"], number>(), wrong: [] as string[] };

  function textAt(path: string): string {
    return disk.get(path) ?? "";
  }
  function append(entry: Omit<BranchEntry, "id">, seen: Seen | null = null, more: Pick<Node, "call" | "hides"> = {}) {
    leaf = { entry: { ...entry, id: `e${nodes.length}` }, parent: leaf, seen, ...more };
    nodes.push(leaf);
    return leaf;
  }
  function line(): Node[] {
    const path: Node[] = [];
    for (let node = leaf; node; node = node.parent) path.unshift(node);
    return path;
  }
  /** The results that the model is sent, by call. */
  function visible(path: readonly Node[]): readonly Node[] {
    const hidden = new Set(path.flatMap(({ hides }) => (hides === undefined ? [] : [hides])));
    return path.filter(({ call }) => call === undefined || !hidden.has(call));
  }
  function call(...uses: { name: string; args: object }[]): readonly string[] {
    const ids = uses.map(() => `call_${count++}`);
    const content = uses.map(({ name, args }, n) => ({ type: "toolCall", id: ids[n], name, arguments: args }));
    append({ type: "message", message: { role: "assistant", stopReason: "toolUse", content } });
    return ids;
  }
  function result(id: string, name: string, text: string, seen: Seen | null, more: object = {}) {
    const content = [{ type: "text", text }];
    const message = { role: "toolResult", toolCallId: id, toolName: name, content, isError: false, ...more };
    append({ type: "message", message }, seen, { call: id });
  }
  function write(path: string, text: string) {
    earlier.get(path)?.push(textAt(path));
    disk.set(path, text);
  }

  /** One read, answered as the extension does it. */
  async function answer(id: string, path: string, asked: Asked, sentBefore: readonly Node[]) {
    const file = textAt(path);
    const pi = piRead(file, asked, MOST_LINES);
    const proven = prove(pi, file);
    if (!proven) throw new Error(`not proven: ${JSON.stringify(pi)}`);
    const shown = mutant.shown?.(proven, asked, file) ?? proven;
    const own = line().map(({ entry }) => entry);
    const branch =
      mutant.branch?.(
        own,
        nodes.map(({ entry }) => entry),
      ) ?? own;
    const reading: BranchReading = {
      branch,
      cwd: "/p",
      wasSent: mutant.wasSent ?? ((call) => sentBefore.some((node) => node.call === call)),
      served: (_entry, call) => served.get(call),
    };
    const before = mutant.happened ? knownOf(mutant.happened(path, id, reading)) : knownAt(path, id, reading);
    const known = mutant.known?.(before, shown) ?? before;
    const hash = sha256(file);
    const answered = await serve(
      { path, file: { text: file, hash }, shown, known, isRefreshOffered: true },
      { text: pi.text, pathKey: path },
      { earlier: async (wanted) => texts.get(wanted) ?? null, isAborted: () => false },
    );
    if (!answered) throw new Error("aborted");
    served.set(id, answered.meta);
    if (answered.meta.scopeKey === "full") texts.set(hash, file);
    played.reads++;
    played.modes.set(answered.meta.mode, (played.modes.get(answered.meta.mode) ?? 0) + 1);
    return { path, shown: proven, pi: pi.text, answered };
  }

  function appendAnswer(id: string, { path, shown, pi, answered }: Awaited<ReturnType<typeof answer>>): void {
    const { text, meta } = answered;
    const isAltered = alters;
    alters = false;
    const sent = text ?? pi;
    const words = isAltered ? sent.replace(/[aeiou]/, "_").replace(/5/, "_") : sent;
    const body = isAltered ? shown.body.replace(/[aeiou]/, "_").replace(/5/, "_") : shown.body;
    result(id, "read", words, seenOf({ path, shown, meta, words, body }), { details: { readcache: meta } });
  }

  function seenOf(given: { path: string; shown: Shown; meta: Meta; words: string; body: string }): Seen {
    const { path, shown, meta, words, body } = given;
    if (meta.mode === "diff") return { is: "diff", path, text: words };
    if (meta.mode.startsWith("unchanged")) return { is: "marker" };
    return { is: "text", path, start: shown.start, total: shown.total, text: body };
  }

  /** Whether the model now believes of these lines what stands on disk. */
  function check(path: string, { start, end, total }: Shown, mode: Meta["mode"]): void {
    const seen = visible(line()).flatMap((node) => (node.seen ? [node.seen] : []));
    const belief = believed(seen)(path);
    const lines = textAt(path).split("\n");
    for (let n = start; n <= end; n++) {
      if (belief.lines.get(n) === lines[n - 1]) continue;
      played.wrong.push(`${mode} ${start}-${end} of ${path}: line ${n} is taken for ${belief.lines.get(n)}`);
      return;
    }
    const isWhole = start === 1 && end === total;
    if (isWhole && belief.total !== total) played.wrong.push(`${mode}: ${path} is taken for ${belief.total} lines`);
  }

  async function readAll(reads: readonly { path: string; asked: Asked }[]): Promise<void> {
    const sentBefore = visible(line());
    const ids = call(...reads.map(({ path, asked }) => ({ name: "read", args: { path, ...asked } })));
    const isChanged = alters;
    const answers = [];
    for (const [n, { path, asked }] of reads.entries()) {
      answers.push({ id: ids[n] ?? "", given: await answer(ids[n] ?? "", path, asked, sentBefore) });
      lastRead = { path, asked };
    }
    for (const { id, given } of answers) appendAnswer(id, given);
    if (isChanged) return;
    for (const { given } of answers) check(given.path, given.shown, given.answered.meta.mode);
  }

  const pathOf = (n: number) => PATHS[n % PATHS.length] ?? "";
  const rangeOf = (path: string, b: number, c: number): Asked => {
    const total = textAt(path).split("\n").length;
    return { offset: 1 + (b % total), limit: 1 + (c % 12) };
  };
  /** One of few ranges, so that ranges come again. */
  const fewRanges = (path: string, b: number): Asked => {
    const total = textAt(path).split("\n").length;
    return b % 2 === 0 ? { offset: Math.min(total, 2), limit: 4 } : { offset: Math.min(total, 5), limit: 30 };
  };

  async function act({ act, a, b, c }: Step): Promise<void> {
    const path = pathOf(a);
    const lines = textAt(path).split("\n");
    const place = b % lines.length;
    switch (act) {
      case "read":
        return readAll([{ path, asked: {} }]);
      case "read range":
        return readAll([{ path, asked: c % 3 === 0 ? rangeOf(path, b, c) : fewRanges(path, b) }]);
      case "read again":
        return readAll([inFile(lastRead)]);
      case "batch":
        return readAll([{ path, asked: {} }, { path, asked: b % 2 === 0 ? {} : fewRanges(path, c) }, inFile(lastRead)]);
      case "other reader": {
        const [id = ""] = call({ name: "read", args: { path } });
        result(id, "read", "numbered", { is: "text", path, start: 1, total: lines.length, text: textAt(path) });
        return;
      }
      case "change":
        return write(path, lines.with(place, newLine(c)).join("\n"));
      case "insert":
        return write(path, lines.toSpliced(place, c % 3 === 0 ? 1 : 0, newLine(c)).join("\n"));
      case "shrink":
        return write(path, lines.slice(0, Math.max(1, lines.length - 1 - (c % 8))).join("\n"));
      case "go back": {
        const all = earlier.get(path) ?? [];
        return write(path, all[all.length - 1 - (b % Math.min(3, all.length))] ?? "");
      }
      case "edit": {
        const text = newLine(c);
        const [id = ""] = call({ name: "edit", args: { path } });
        write(path, lines.with(place, text).join("\n"));
        result(id, "edit", "done", { is: "edit", path, line: place + 1, text });
        return;
      }
      case "write": {
        const text = lines.with(place, newLine(c)).join("\n");
        const [id = ""] = call({ name: "write", args: { path } });
        write(path, text);
        result(id, "write", "done", { is: "write", path, text });
        return;
      }
      case "failed edit": {
        const [id = ""] = call({ name: "edit", args: { path } });
        const seen: Seen = { is: "distrust", path, start: 1, end: 10_000 };
        result(id, "edit", "not found", seen, { isError: true });
        return;
      }
      case "refresh":
      case "refresh range": {
        const { start, end } =
          act === "refresh" ? { start: 1, end: 10_000 } : rangeAt(fewRanges(path, b), lines.length);
        const scope = act === "refresh" ? "full" : scopeOf({ start, end, total: lines.length });
        const data = { v: 1, kind: "invalidate", pathKey: path, scopeKey: scope, at: 1 };
        // Who wants some lines again has not lost the rest, and a whole read may say that nothing has changed.
        append(
          { type: "custom", customType: "pi-readcache", data },
          scope === "full" ? { is: "distrust", path, start, end } : null,
        );
        return;
      }
      case "compact": {
        const own = line();
        const firstKeptEntryId = own[Math.max(0, own.length - 1 - (b % 6))]?.entry.id;
        if (firstKeptEntryId === undefined) return;
        append({ type: "compaction", summary: "so far", firstKeptEntryId }, { is: "compaction" });
        return;
      }
      case "go to": {
        const at = b % (nodes.length + 1);
        const node = nodes[at];
        // Pi goes to whole turns: not between the calls of an answer and their results.
        if (at === nodes.length) leaf = null;
        else if (node && !isBetween(node)) leaf = node;
        return;
      }
      case "alter":
        alters = true;
        return;
      case "hide": {
        const results = line().filter(({ call }) => call !== undefined);
        const hides = results[results.length - 1 - (b % Math.max(1, Math.min(4, results.length)))]?.call;
        if (hides !== undefined) append({ type: "context_edit" }, null, { hides });
        return;
      }
      case "restart":
        served = new Map();
        return;
      case "lose texts":
        texts = new Map();
        return;
    }
  }

  /** The read, as far as the file has its lines. */
  function inFile({ path, asked }: typeof lastRead): typeof lastRead {
    const total = textAt(path).split("\n").length;
    return { path, asked: (asked.offset ?? 1) > total ? {} : asked };
  }
  function isBetween({ entry }: Node): boolean {
    const next = nodes[nodes.findIndex((node) => node.entry === entry) + 1];
    const isCall = JSON.stringify(entry.message ?? "").includes('"type":"toolCall"');
    return isCall || (next?.call !== undefined && next.parent?.entry === entry);
  }
  return { act, played };
}

const rangeAt = ({ offset = 1, limit = 1 }: Asked, total: number) => ({
  start: offset,
  end: Math.min(total, offset + limit - 1),
});

const WORDS = ["one", "two", "three", "four", "five", "six", "seven"];
const newLine = (n: number) => `${WORDS[n % WORDS.length]} ${n % 5} ${"and so on ".repeat(6)}`;

/** The first file fits into one read, the second one does not. */
function firstText(n: number): string {
  return Array.from({ length: n === 0 ? 20 : 30 }, (_, at) => newLine(at * 3 + n)).join("\n");
}

/** The seed's scope, and that of other caches: what was asked for, whether it was shown or not. */
const ASKED: Mutant["shown"] = (shown, { offset = 1, limit }, file) => {
  const lines = file.split("\n");
  const end = Math.min(lines.length, limit === undefined ? lines.length : offset + limit - 1);
  return { ...shown, end, body: lines.slice(shown.start - 1, end).join("\n") };
};

/** Every entry of the tree counts, whatever branch it is on. Whether a text is still sent is not asked: that finds it too. */
export const ALL_BRANCHES: Mutant = { branch: (_branch, all) => all, wasSent: () => true };

/** Rules that are left out, in words. */
export const MUTANTS: readonly (readonly [name: string, mutant: Mutant])[] = [
  ["what was asked for counts as shown", { shown: ASKED }],
  ["texts of two states are mixed", { known: withAnyState }],
  [
    "own edits do not count",
    { happened: (...given) => happenedTo(...given).filter(({ is }) => !is.startsWith("edit")) },
  ],
  ["what is no longer sent counts", { wasSent: () => true }],
  ["what a compaction kept counts", { branch: fromFirstKept }],
  [
    "reads of another kind do not count",
    { happened: (...given) => happenedTo(...given).filter(({ is }) => is !== "unproven") },
  ],
];

/** Whatever was seen since, the candidate stands. */
function withAnyState(known: Known, shown: Shown): Known {
  const hash = candidateOf(known, shown)?.hash;
  return { ...known, newest: hash === undefined ? null : { hash, since: -1 } };
}

/** Only the newest state is compared, and not those between. */
export const NEWEST_ALONE: Mutant = {
  known: (known) => ({ ...known, newest: known.newest && { ...known.newest, since: -1 } }),
};

function fromFirstKept(branch: readonly BranchEntry[]): readonly BranchEntry[] {
  const at = branch.findLastIndex(({ type }) => type === "compaction");
  const kept = branch.findIndex(({ id }) => id === branch[at]?.firstKeptEntryId);
  return at < 0 ? branch : branch.slice(kept).filter(({ type }) => type !== "compaction");
}
