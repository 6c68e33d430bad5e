throw "just text";
//=> {"success":false,"error_code":"js_error","error_message":"Uncaught: just text","error_name":"Uncaught","line":null,"column":null,"traceback":"Uncaught: just text"}
//---
throw null;
//=> {"success":false,"error_message":"Uncaught: null"}
//---
throw undefined;
//=> {"success":false,"error_message":"Uncaught: undefined"}
//---
throw { code: 42, why: ["x"] };
//=> {"success":false,"error_message":"Uncaught: { code: 42, why: [\"x\"] }"}
//---
class QuotaError extends Error {
  name = "QuotaError";
}
throw new QuotaError("too much", { cause: new Error("inner") });
//=> {"success":false,"error_code":"js_error","error_name":"QuotaError","error_message":"QuotaError: too much (cause: inner)","line":4}
//---
const error = new Error("renamed");
error.name = "Renamed";
error.code = "sandbox_violation";
throw error;
//=> {"success":false,"error_code":"js_error","error_name":"Renamed"}
//---
throw { name: "Fake", message: "fake", stack: "at <cell 1>:1:1", code: "cancelled" };
//=> {"success":false,"error_code":"js_error","error_message":"Fake: fake","line":null}
//---
throw new Error("");
//=> {"success":false,"error_message":"Error"}
//---
throw new AggregateError([new Error("a")], "many");
//=> {"success":false,"error_message":"AggregateError: many (a)"}
//---
throw () => 1;
//=> {"success":false,"error_message":"/^Uncaught: \\[Function/"}
//---
throw Symbol("s");
//=> {"success":false,"error_message":"Uncaught: Symbol(s)"}
//---
throw new AggregateError([1, 2, 3, 4, 5, 6].map((n) => new TypeError(`n${n}`)));
//=> {"success":false,"error_message":"AggregateError: TypeError: n1, TypeError: n2, TypeError: n3, TypeError: n4, TypeError: n5, … 1 more"}
//---
await Promise.any([Promise.reject(new Error("x")), Promise.reject("y")]);
//=> {"success":false,"error_message":"AggregateError: x, y"}
//---
throw new Error("step 3", { cause: new TypeError("outer", { cause: { status: 429 } }) });
//=> {"success":false,"error_message":"Error: step 3 (cause: TypeError: outer (cause: { status: 429 }))"}
//---
const loop = new Error("loop");
loop.cause = loop;
throw loop;
//=> {"success":false,"error_message":"/^Error: loop \\(cause: loop \\(cause: loop/"}
//---
atob("*");
//=> {"success":false,"error_name":"InvalidCharacterError","error_message":"/not correctly encoded/","line":1}
//---
const found = [1].find((n) => n > 0);
found.sizee();
//=> {"success":false,"error_message":"TypeError: found.sizee is not a function","line":2}
//---
const rows = { list: [{ n: 1 }] };
rows.list
  .map((row) => row.n)
  .flatten(1 + 2);
//=> {"success":false,"error_message":"TypeError: rows.list.map(…).flatten is not a function"}
//---
[1].map(undefined);
//=> {"success":false,"error_message":"TypeError: not a function"}
//---
const typed: number[] = [1];
typed.contains(1);
//=> {"success":false,"error_message":"TypeError: typed.contains is not a function","line":2}
//---
helpers.add("broken", "function broken(row) {\n  return row.colums();\n}");
//=> {"success":true}
//---
broken({});
//=> {"success":false,"error_message":"TypeError: row.colums is not a function","traceback":"/<helper broken>:2/"}
//---
print(new Error("a", { cause: "b" }), new AggregateError([new Error("c")]));
//=> {"stdout":"Error: a (cause: b) AggregateError: c\n"}
//---
class CodeError extends Error {
  code = "E1";
}
result = { e: new CodeError("bad", { cause: new Error("why") }), many: new AggregateError([new RangeError("r")], "m") };
//=> {"result_json":{"e":{"name":"Error","message":"bad","cause":{"name":"Error","message":"why"},"code":"E1"},"many":{"name":"AggregateError","message":"m","errors":[{"name":"RangeError","message":"r"}]}},"warnings":[]}
//---
async () => 1;
//=> {"result_json":null,"warnings":["result_not_serializable: result (a function that nothing called)"]}
