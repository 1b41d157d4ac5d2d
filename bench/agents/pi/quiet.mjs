// pi repeats the whole message so far in an event for each piece of it: hundreds of megabytes for a long answer.
// Loaded before pi, this lets those events go; each whole message comes in an event of its own.
const write = process.stdout.write.bind(process.stdout);
const update = /^\{"type":"(?:message|tool_execution)_update"/;
process.stdout.write = (chunk, encoding, done) => {
  if (typeof chunk !== "string" || !update.test(chunk)) return write(chunk, encoding, done);
  const called = typeof encoding === "function" ? encoding : done;
  if (called) process.nextTick(called);
  return true;
};
