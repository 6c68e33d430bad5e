const before = answer({ n: 1 });
const after = answer("two", { cite: [[0, 4]] });
[before, after];
//=> {"success":true,"result_json":[null,null]}
//---
answer({ id: Number("1234567890123456789") })
//=> {"success":true,"warnings":["number_rounded: 1234567890123456800"]}
