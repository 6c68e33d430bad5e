find_routes("payments retries").map(({ path, label }) => [path, label]);
//=> {"result_json":[["src/billing/payment.js","Payments"],["src/billing/AGENTS.md","Billing"]]}
//---
const [best] = find_routes("login");
[best.path, best.label, best.description, best.relevance];
//=> {"result_json":["src/auth/login.js","Login","session handling and tokens",1]}
//---
find_routes("docs").map(({ path }) => path);
//=> {"result_json":["docs/notes.md"]}
//---
[find_routes("invo")[0].path, find_routes("paymnets")[0].path, find_routes("zebra"), find_routes("")];
//=> {"result_json":["src/billing/invoice.js","src/billing/payment.js",[],[]]}
//---
find_routes("invoice", 1).length;
//=> {"result_json":1}
//---
find_routes("invoice", 0).length;
//=> {"result_json":1}
//---
find_routes("invoice").every(({ relevance }) => relevance > 0 && relevance <= 1);
//=> {"result_json":true}
//---
find_routes();
//=> {"success":false,"error_message":"TypeError: find_routes: topic is missing"}
