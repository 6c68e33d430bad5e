function first() {
  second();
}

function second() {
  throw new Error("deep");
}
first();
//=> {"success":false,"line":6,"column":13,
//   "traceback":"Error: deep\n    at second (<cell 1>:6:13)\n    at first (<cell 1>:2:3)\n    at <cell 1>:8:1"}
//---


first();
//=> {"line":6,"column":13,"traceback":"Error: deep\n    at second (<cell 1>:6:13)\n    at first (<cell 1>:2:3)\n    at <cell 2>:3:1"}
