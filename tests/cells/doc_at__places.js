const at = find("todo").matches[0][0];
const { id, start, end, line, column } = doc_at(at);
[id, line, column, peek_doc(id).split("\n")[line - 1].slice(column - 1, column + 3), peek(start, end) === peek_doc(id)];
//=> {"result_json":["src/auth/login.js",1,4,"todo",true]}
//---
[doc_at(0).id, doc_at(0).line, doc_at(P.length).id, doc_at(P.length + 1), doc_at(-1)];
//=> {"result_json":["AGENTS.md",1,"src/billing/payment.js",null,null]}
//---
[doc_at(0).place, list_docs().map(({ kind, places }) => `${kind} ${places}`)[0]];
//=> {"result_json":[null,"text 0"]}
//---
doc_at("3");
//=> {"success":false,"error_name":"TypeError"}
