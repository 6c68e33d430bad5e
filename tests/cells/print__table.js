console.table([{ a: 1, b: "x" }, { a: 22, c: [1] }, 5]);
//=> {"stdout":"┌─────────┬────┬─────┬─────┬────────┐\n│ (index) │ a  │ b   │ c   │ Values │\n├─────────┼────┼─────┼─────┼────────┤\n│ 0       │ 1  │ \"x\" │     │        │\n│ 1       │ 22 │     │ [1] │        │\n│ 2       │    │     │     │ 5      │\n└─────────┴────┴─────┴─────┴────────┘\n"}
//---
console.table({ row: { a: 1, b: 2 } }, ["b"]);
console.table(new Map([["k", 1]]));
console.table("text");
//=> {"stdout":"/│ row     │ 2 │\\n[^]*│ 0                 │ \"k\" │ 1      │\\n[^]*┘\\ntext\\n$/"}
//---
console.table(Array.from({ length: 1500 }, (_, i) => ({ i })));
//=> {"stdout":"/│ 999     │ 999 │\\n└─+┴─+┘\\n… 500 more rows\\n$/"}
//---
console.table([{ get a() { throw new Error("no") } }]);
//=> {"success":false,"error_message":"Error: no"}
