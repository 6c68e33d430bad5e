const before = answer({ n: 1 });
const after = answer("two", { cite: [[0, 4]] });
[before, after];
//=> {"success":true,"result_json":[null,null]}
