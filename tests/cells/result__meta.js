result = [1, 2];
result_meta = { page: 0, has_more: false };
//=> {"result_json":[1,2],"result_meta":{"page":0,"has_more":false},"warnings":[]}
//---
result_meta = { only: true };
undefined;
//=> {"result_json":null,"result_meta":{"only":true}}
//---
result_meta
//=> {"result_json":null,"result_meta":null}
//---
result = 1;
result_meta = { rate: 0 / 0 };
//=> {"result_json":1,"result_meta":{"rate":null},"warnings":["result_not_serializable: result_meta.rate (NaN)"]}
//---
result_meta = Promise.resolve({ late: true });
//=> {"result_meta":{"late":true}}
