list_docs().map(({ id }) => id);
//=> {"result_json":["AGENTS.md","docs/cjk.md","docs/emoji.txt","docs/notes.md","src/auth/login.js","src/billing/AGENTS.md","src/billing/invoice.js","src/billing/payment.js"]}
//---
Object.keys(list_docs()[0]);
//=> {"result_json":["id","path","size","start","end"]}
//---
list_docs().every(({ id, path }) => path.endsWith(`/cells/corpus/${id}`));
//=> {"result_json":true}
