{ a: 1, b: [2] }
//=> {"success":true,"result_json":{"a":1,"b":[2]}}
//---
{ count: find("TODO").matches.length, names: ["x"] } // what was found
//=> {"result_json":{"count":1,"names":["x"]}}
//---
{}
//=> {"result_json":{}}
//---
{
  a: 1,
  get b() { return 2 },
  ["c" + 1]: 3,
}
//=> {"result_json":{"a":1,"b":2,"c1":3}}
//---
{ let inner = 1; inner + 1 }
typeof inner
//=> {"result_json":"undefined"}
//---
{ label: 1 };
//=> {"result_json":null}
//---
({ a: 1 }).a
//=> {"result_json":1}
