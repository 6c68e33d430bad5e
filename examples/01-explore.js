// What is in here? A first look at any context:
//
//   belay exec examples/01-explore.js -c PATH

const question = "how are errors handled and reported";
const topic = "limits and error codes";

const { chars, tokens, lines, docs } = stats();
const documents = allDocuments();

heading("Size");
print(`  ${number(docs)} documents, ${number(lines)} lines, ${number(chars)} characters`);
print(`  about ${number(tokens)} tokens: too many to read, enough to ask`);

heading("Where the text lies");
const folders = new Map();
for (const { id, size } of documents) {
  const folder = id.includes("/") ? `${id.split("/")[0]}/` : "(top)";
  folders.set(folder, (folders.get(folder) ?? 0) + size);
}
const bySize = [...folders].sort(([, a], [, b]) => b - a);
for (const [folder, size] of bySize.slice(0, 8)) {
  print(`  ${folder.padEnd(14)} ${number(size).padStart(10)}  ${bar(size / bySize[0][1])}`);
}

heading("Largest documents");
const largest = documents.toSorted((a, b) => b.size - a.size).slice(0, 5);
for (const { id, size } of largest) print(`  ${number(size).padStart(10)}  ${id}`);

heading("Headings and definitions, a few of them");
const names = find("^(#{1,3}|export|class|interface|def|func|fn) [^\\n]*", "m");
print(`  ${number(names.matches.length)}${names.capped ? " and more" : ""} in all`);
const step = Math.ceil(names.matches.length / 8);
for (const [start, end] of names.matches.filter((_, index) => index % step === 0)) {
  print(`  ${place(start).padEnd(32)} ${oneLine(peek(start, end))}`);
}

heading(`Search: ${question}`);
// This file may itself be part of the context: the question is no answer.
const hits = search(question, 6).filter(({ text }) => !text.includes(question));
for (const { start, text } of hits) print(`  ${place(start).padEnd(32)} ${oneLine(text)}`);

heading(`Routes: ${topic}`);
const routes = find_routes(topic, 5);
if (routes.length === 0) print("  no AGENTS.md of this context has a route for it");
for (const { path, description, relevance } of routes) {
  print(`  ${relevance.toFixed(2)}  ${path.padEnd(24)} ${oneLine(description)}`);
}

result = {
  documents: docs,
  tokens,
  largest: largest.map(({ id }) => id),
  definitions: names.matches.length,
  answers: hits.map(({ start }) => place(start)),
  routes: routes.map(({ path }) => path),
};

function heading(text) {
  print(`\n${text}`);
}

function number(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ",");
}

function bar(share) {
  return "█".repeat(Math.max(1, Math.round(share * 30)));
}

/** `src/main.ts:12` for an offset of P. */
function place(offset) {
  const at = doc_at(offset);
  return at ? `${at.id}:${at.line}` : `P[${offset}]`;
}

function oneLine(text) {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > 70 ? `${line.slice(0, 69)}…` : line;
}

/** One `list_docs` gives at most 1,000 documents. */
function allDocuments() {
  const pages = [];
  for (let from = 0; from < docs; from += 1000) pages.push(list_docs("", { from, limit: 1000 }));
  return pages.flat();
}
