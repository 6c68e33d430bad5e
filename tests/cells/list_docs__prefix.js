[list_docs("src/billing/").map(({ id }) => id), list_docs("docs").length, list_docs("").length, list_docs("ocs").length];
//=> {"result_json":[["src/billing/AGENTS.md","src/billing/invoice.js","src/billing/payment.js"],3,8,0]}
//---
list_docs(null).length;
//=> {"result_json":8}
//---
list_docs(3);
//=> {"success":false,"error_name":"TypeError","error_message":"/^TypeError: list_docs: prefix .*3/"}
