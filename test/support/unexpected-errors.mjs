// Loaded into a real gateway by a test: a signal causes an unexpected error.
process.on("SIGUSR2", () => void Promise.reject(new Error("a rejection of the test")));
process.on("SIGWINCH", () =>
  setImmediate(() => {
    throw new Error("an exception of the test");
  }),
);
