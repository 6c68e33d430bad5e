find_routes("payments retries").map(({ path, label }) => [path, label]);
//=> {"result_json":[["src/billing/payment.js","Payments"],["src/billing/AGENTS.md","Billing"]]}
//---
const [best] = find_routes("login");
[best.path, best.label, best.description, best.relevance];
//=> {"result_json":["src/auth/login.js","Login","session handling and tokens",1]}
//---
find_routes("docs").map(({ path }) => path);
//=> {"result_json":["docs/notes.md"]}
