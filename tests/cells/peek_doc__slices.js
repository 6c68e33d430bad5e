const whole = peek_doc("docs/emoji.txt");
[whole, peek_doc("docs/emoji.txt", 6, 8), peek_doc("docs/emoji.txt", 0, 5), peek_doc("docs/emoji.txt", 36)];
//=> {"result_json":["smile 😀 then 👩‍👩‍👧 end\nmark 😀 two\n","😀","smile","wo\n"]}
//---
list_docs().every(({ id, start, end, size }) => peek_doc(id) === P.slice(start, end) && size === end - start);
//=> {"result_json":true}
//---
[peek_doc("docs/emoji.txt", -3, 5), peek_doc("docs/emoji.txt", 30, 9999).length, peek_doc("docs/emoji.txt", 9, 3)];
//=> {"result_json":["smile",9,""]}
//---
peek_doc("no/such.txt");
//=> {"success":true,"result_json":""}
//---
peek_doc();
//=> {"success":false,"error_message":"TypeError: peek_doc: doc_id is missing"}
//---
peek_doc("docs/emoji.txt", "1");
//=> {"success":false,"error_name":"TypeError","error_message":"/start .*\"1\"/"}
