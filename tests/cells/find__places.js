const { matches, capped } = find("todo|fixme", "i", { docs: true });
[matches, capped];
//=> {"warnings":[],"result_json":[[{"id":"src/auth/login.js","start":554,"end":558,"line":1,"column":4,"text":"// todo: expire tokens"},{"id":"src/billing/invoice.js","start":912,"end":916,"line":1,"column":4,"text":"// TODO: round half even"},{"id":"src/billing/payment.js","start":1210,"end":1215,"line":1,"column":4,"text":"// FIXME: retry only what is idempotent"}],false]}
//---
find(/TODO/, null, { docs: true }).matches.every(({ id, start, end, line }) => peek(start, end) === "TODO" && doc_at(start).line === line && doc_at(start).id === id);
//=> {"result_json":true}
//---
find("todo", "", { docs: false }).matches[0].length;
//=> {"result_json":2}
//---
find("todo", "", { files: true });
//=> {"success":false,"error_name":"TypeError","error_message":"/find: options/"}
