// Loaded into a gateway under test: measures its longest turn without a break for others, in its own processor time,
// which does not depend on other work of the machine. At SIGUSR2 it prints the longest turn since the last one.
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
