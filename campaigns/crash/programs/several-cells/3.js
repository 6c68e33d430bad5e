print("no call here", pattern.exec("a1b2").index);
count *= 10;
shared.get(counter).more = [...twice(open.next().value)];
