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
//=> {"success":false,"error_code":"js_error","error_name":"QuotaError","error_message":"QuotaError: too much","line":4}
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
//=> {"success":false,"error_message":"AggregateError: many"}
//---
throw () => 1;
//=> {"success":false,"error_message":"/^Uncaught: \\[Function/"}
//---
throw Symbol("s");
//=> {"success":false,"error_message":"Uncaught: Symbol(s)"}
