import re
print(re.findall("TODO", P))
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript."}
//---
print(f"{len(P)} chars")
//=> {"success":false,"suggestion":"/Python.*backquotes/"}
//---
print(P[:10])
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript, and a part is P.slice(0, 10)."}
//---
last = P[-5:]
//=> {"success":false,"suggestion":"/P.slice\\(-5\\)/"}
//---
names = [d.id for d in list_docs()]
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript."}
//---
# how many
count("TODO")
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript."}
//---
result = count（"TODO"）
//=> {"success":false,"suggestion":"JavaScript does not know the character （ (U+FF08): write ( for it."}
//---
const quoted = “a”
//=> {"success":false,"suggestion":"/U\\+201C\\): write \" for it/"}
//---
export default async function () { return 1 }
//=> {"success":false,"error_message":"SyntaxError: export is not available in a cell","suggestion":"/without export/"}
//---
print "hello"
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript."}
//---
if len(P) > 5: print("x")
//=> {"success":false,"suggestion":"This looks like Python: cells are JavaScript."}
//---
const page = <div class="a">{P}</div>;
//=> {"success":false,"suggestion":"There is no JSX here: write markup as a text, in quotes or backquotes."}
//---
const html = `<b>${P.length}</b>;
//=> {"success":false,"suggestion":"The cell ends too early: close what is open."}
