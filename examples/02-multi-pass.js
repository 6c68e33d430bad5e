// Work in passes: each run of this cell reads the next documents and keeps in memory where it stands.
//
//   belay exec examples/02-multi-pass.js examples/02-multi-pass.js examples/02-multi-pass.js -c PATH

const PAGE = 100;
const survey = memory.get("survey") ?? { pass: 0, next: 0, counts: [] };
// Memory keeps JSON: a Map goes in and out as its entries.
const counts = new Map(survey.counts);

const { docs } = stats();
const page = list_docs("", { from: survey.next, limit: PAGE });
for (const { id } of page) {
  const names = new Set(peek_doc(id).match(/\b[a-z]+(?:[A-Z][a-z]+)+\b/g));
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
}
const pass = survey.pass + 1;
const next = survey.next + page.length;
memory.put("survey", { pass, next, counts: [...counts] });

const shared = [...counts].sort(([, a], [, b]) => b - a).slice(0, 5);
print(`pass ${pass}: ${next} of ${docs} documents read`);
for (const [name, count] of shared) print(`  ${name} stands in ${count}`);

result = { pass, done: next === docs, shared: shared.map(([name]) => name) };
result_meta = { page: page.length, memory_bytes_used: session().memory_bytes_used };
