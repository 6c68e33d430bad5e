const whole = peek_doc("docs/emoji.txt");
[whole, peek_doc("docs/emoji.txt", 6, 8), peek_doc("docs/emoji.txt", 0, 5), peek_doc("docs/emoji.txt", 36)];
//=> {"result_json":["smile 😀 then 👩‍👩‍👧 end\nmark 😀 two\n","😀","smile","wo\n"]}
//---
list_docs().every(({ id, start, end, size }) => peek_doc(id) === P.slice(start, end) && size === end - start);
//=> {"result_json":true}
