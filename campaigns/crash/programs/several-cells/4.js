const last = await counter.add("four");
result = {
  last,
  count,
  shared: shared.get(counter),
  again: await pending,
  id: open.next().value,
  twice: twice(memory.list()),
};
