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
