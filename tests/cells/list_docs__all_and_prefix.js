list_docs().map(({ id }) => id);
//=> {"result_json":["AGENTS.md","docs/cjk.md","docs/emoji.txt","docs/notes.md","src/auth/login.js","src/billing/AGENTS.md","src/billing/invoice.js","src/billing/payment.js"]}
//---
Object.keys(list_docs()[0]);
//=> {"result_json":["id","path","size","start","end","kind","places"]}
//---
list_docs().every(({ id, path }) => path.endsWith(`/cells/corpus/${id}`));
//=> {"result_json":true}
//---
[list_docs("src/billing/").map(({ id }) => id), list_docs("docs").length, list_docs("").length, list_docs("ocs").length];
//=> {"result_json":[["src/billing/AGENTS.md","src/billing/invoice.js","src/billing/payment.js"],3,8,0]}
//---
list_docs(null).length;
//=> {"result_json":8}
//---
list_docs(3);
//=> {"success":false,"error_name":"TypeError","error_message":"/^TypeError: list_docs: prefix .*3/"}
