// Loaded into a gateway under test: how long it worked without a turn for others, in processor time of its own,
// which does not grow with what else the machine does. SIGUSR2: tells the longest since the last one.
const used = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

let longestMs = 0;
let before = used();
const look = () => {
  const now = used();
  longestMs = Math.max(longestMs, now - before);
  before = now;
};
setInterval(look, 1).unref();

process.on("SIGUSR2", () => {
  look();
  process.stdout.write(`${JSON.stringify({ msg: "longest turn", ms: longestMs })}\n`);
  longestMs = 0;
});
