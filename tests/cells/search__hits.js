const hits = search("invoice total");
[hits.length > 1, hits[0].text.includes("parseInvoiceTotal"), hits.every(({ text, start, end }) => text === P.slice(start, end))];
//=> {"result_json":[true,true,true],"warnings":[]}
//---
search("invoice").every((hit, at, all) => at === 0 || all[at - 1].score >= hit.score);
//=> {"result_json":true}
//---
[search("parseInvoiceTotal")[0].start, search("invoiceparser").length, search("customer")[0].start, search("verify token")[0].start];
//=> {"result_json":[909,1,1207,551]}
//---
[search("検索")[0].text.includes("検索"), search("façade").length, search("facade").length, search("문서").length];
//=> {"result_json":[true,1,1,1]}
//---
[search("invoice", 1).length, search("invoice", 2).length, search("invoice", 1000).length > 2];
//=> {"result_json":[1,2,true]}
//---
[search("zebra"), search(""), search("***")];
//=> {"success":true,"result_json":[[],[],[]]}
//---
search();
//=> {"success":false,"error_message":"TypeError: search: query is missing"}
//---
search("invoice", "3");
//=> {"success":false,"error_name":"TypeError"}
//---
const [hit] = search("parseInvoiceTotal");
const line = peek_doc(hit.doc_id).split("\n")[hit.line - 1];
[hit.doc_id, hit.line, doc_at(hit.start).id === hit.doc_id, line, P.startsWith(line, hit.at), hit.text.includes(line)];
//=> {"result_json":["src/billing/invoice.js",3,true,"  parseInvoiceTotal(lines) {",true,true]}
