import { type Document, type Documents, documentsNamed, objectOf, pauses } from "../context/index.ts";
import type { LoadResult } from "../session/index.ts";
import { nameOf } from "./conversation.ts";
import { conversationOf, defineTool, type Ingested } from "./define.ts";
import { sourceAt } from "./rlm_load.ts";
import { shortened } from "./session-report.ts";

export const rlm_ingest = defineTool({
  name: "rlm_ingest",
  label: "RLM ingest",
  description: "Add files to P by paths, folders and globs (src/**/*.ts), unchanged ones once. Answers their ids.",
  promptSnippet: "Add files, folders and globs to context P",
  parameters: {
    type: "object",
    required: ["paths"],
    properties: { paths: { type: "array", items: { type: "string" }, minItems: 1 } },
  },
  rest: "See list_docs in rlm_exec.",
  async run(session, { paths }, call) {
    const { cwd, signal, mostIngested } = call;
    const conversation = conversationOf("rlm_ingest", call);
    const before = session.stats()?.document_count ?? 0;
    const { files: maxFiles, bytes: maxBytes } = mostIngested?.() ?? {};
    const most = { ...(maxFiles === undefined ? {} : { maxFiles }), ...(maxBytes === undefined ? {} : { maxBytes }) };
    const { stats } = await session.loadAppend(
      { paths: paths.map((path) => sourceAt(path, cwd)), ...most },
      { signal },
    );
    const { sources, problem } = await conversation.objects();
    const P = sources.find(({ of }) => of === "P");
    if (!P) return { stats: shortened(stats), ...NOTHING_NAMED, ids_missing: problem };
    return answerOf({ paths, folder: cwd, context: P.context, before }, stats);
  },
  recorded: (_args, { ingested, stats }) => (ingested ? answerOf(ingested, stats) : { stats, ...NOTHING_NAMED }),
  failureFields: { added: 0, already: 0, objects: [], stats: null },
});

const NOTHING_NAMED = { added: 0, already: 0, objects: [] };
const NAMED = 50;

/** The objects of the files that were named, those that are new first. */
async function answerOf(ingested: Ingested, stats: LoadResult["stats"] | null): Promise<object> {
  const { context, before } = ingested;
  const { documents } = context;
  const added = documents.length - before;
  const pause = pauses();
  const present = { [Symbol.iterator]: () => firstOf(documents, before) };
  const already = await documentsNamed(present, ingested, { most: NAMED, pause });
  const listed = Array.from({ length: Math.min(added, NAMED) }, (_, n) => documents.at(before + n));
  const named = [...listed.filter((document) => document !== undefined), ...already.first].slice(0, NAMED);
  const objects = await Array.fromAsync(named, async (document) => {
    const object = await objectOf({ of: "P", context, document }, pause);
    return `${object.id} ${nameOf(object).replace(/^P: /, "")} (${Math.ceil(document.size / 4)} tokens)`;
  });
  const more = added + already.count - objects.length;
  const counts = { added, already: already.count };
  return { ...counts, objects, ...(more > 0 ? { more } : {}), stats: stats && shortened(stats) };
}

/** The documents before one of them, which are read one by one. */
function* firstOf(documents: Documents, count: number): Generator<Document> {
  for (let n = 0; n < count; n++) {
    const document = documents.at(n);
    if (document) yield document;
  }
}
