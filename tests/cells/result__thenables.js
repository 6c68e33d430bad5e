Promise.resolve(5)
//=> {"result_json":5}
//---
result = (async () => ({ a: await 1 }))();
//=> {"result_json":{"a":1}}
//---
result = { then(resolve) { resolve(6) } };
//=> {"result_json":6}
//---
const later = async () => { await null; throw new Error("from the result") };
later()
//=> {"success":false,"error_message":"Error: from the result","line":1}
//---
result = [Promise.resolve(1)];
//=> {"result_json":[null],"warnings":["result_not_serializable: result[0] (a Promise that was not awaited)"]}
