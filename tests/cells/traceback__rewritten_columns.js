class A {} class B {} throw new Error("same line");
//=> {"line":1,"column":33}
//---
                      throw new Error("same column without classes");
//=> {"line":1,"column":33}
//---
let a, b, c; throw new Error("after three");
//=> {"line":1,"column":24}
//---
const x = 1; let y; class C { m() { throw new Error("in a class") } } new C().m();
//=> {"line":1,"column":47,"traceback":"/^Error: in a class\\n    at m \\(<cell 4>:1:47\\)\\n    at <cell 4>:1:7[89]$/"}
//---
new C().m();
//=> {"column":47,"traceback":"/<cell 4>:1:47\\)\\n    at <cell 5>:1:[89]$/"}
//---
let z
let w; class D {
  m() { throw new Error("second line") }
} class E { n() { throw new Error("fourth") } } new E().n();
//=> {"line":4,"column":29,"traceback":"/at <cell 6>:4:57$/"}
//---
new D().m();
//=> {"line":3,"column":19}
//---
{ a: missing }
//=> {"line":1,"column":6,"error_name":"ReferenceError"}
