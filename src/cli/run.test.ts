// The command line: valid commands, and the messages for invalid ones.
import { describe, expect, it, vi } from "vitest";
import { commandHere } from "../../test/support/command-here.ts";
import { run } from "./run.ts";

/** A gateway that runs in the repository's folder has left its configuration in the default data folder. */
const NOTHING_LEFT = { HEADGATE_DATA: "no-such-folder" };

const refusalOf = async (...words: string[]) => {
  const { code, stdout, stderr } = await commandHere(() => run(words, NOTHING_LEFT));
  expect(stdout).toBe("");
  return { code, stderr };
};

describe("a command line that is none", () => {
  it.each([
    { words: ["dance"], why: "unknown command dance" },
    { words: ["127.0.0.1:8545"], why: "a node's URL begins with http://, https://" },
    { words: ["localhost:8545"], why: "URL 1: expected a URL with http, https, ws, wss or ipc" },
    { words: ["node.example.com/v3/s3cr3t"], why: "unknown command; a node's URL begins with" },
    { words: ["check", "node.example.com/v3/s3cr3t"], why: "unknown argument\n" },
    { words: ["serve", "--https://s3cr3t"], why: "Unknown option a word" },
    { words: ["check", "twice"], why: "unknown argument twice" },
    { words: ["serve", "--colour"], why: "Unknown option '--colour'" },
    { words: ["check"], why: "check: --config is missing" },
    { words: ["check", "--config", "no-such.yaml"], why: "no-such.yaml: there is no such file" },
    { words: ["methods", "--key", "web"], why: "methods: give --config and --key, or neither" },
    {
      words: ["methods", "--config", "a.yaml", "--network", "main"],
      why: "give --config and --key",
    },
    { words: ["store", "burn"], why: "unknown command store burn" },
    { words: ["store", "burn"], why: "headgate store forget --network NAME" }, // the message has the help
    { words: ["top", "--fast"], why: "headgate top [--url" },
    { words: ["audit", "--limit", "0"], why: "--limit: expected a number from 1 to 1000" },
    { words: ["keys", "burn"], why: "unknown command keys burn" },
    ...["-1", "65535", "1.5", "http"].map((port) => ({
      words: ["serve", `--port=${port}`],
      why: "--port: expected a whole number from 0 to 65534",
    })),
  ])("$words ends with 2: $why", async ({ words, why }) => {
    const { code, stderr } = await refusalOf(...words);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});

describe("a command that is asked for its help", () => {
  it.each([
    ...["audit --help", "top -h", "store", "store help", "store show --help"],
    ...["keys --help", "check --help"],
  ])("%s tells it, and does no more", async (line) => {
    const words = line.split(" ");
    const written = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    await run(words, {});
    const text = written.mock.calls.join("");
    written.mockRestore();
    expect(text).toContain(`headgate ${words[0]}`);
  });
});
