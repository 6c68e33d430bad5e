const hits = search("invoice total");
[hits.length > 1, hits[0].text.includes("parseInvoiceTotal"), hits.every(({ text, start, end }) => text === P.slice(start, end))];
//=> {"result_json":[true,true,true],"warnings":[]}
//---
search("invoice").every((hit, at, all) => at === 0 || all[at - 1].score >= hit.score);
//=> {"result_json":true}
