// Callers of a gateway of several processes: single calls, or a caller that keeps its connection.
import { execFile } from "node:child_process";
import { Agent, request } from "node:http";
import { promisify } from "node:util";
import type { Envelope } from "../support/ask.ts";

/** The process ids of a gateway's processes, by their names. */
export async function processesOf(supervisor: number | undefined): Promise<Map<string, number>> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,ppid=,args="]);
  const children = stdout
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+) headgate (.*)$/.exec(line.trimEnd()))
    .filter((match) => match !== null && Number(match[2]) === supervisor);
  return new Map(children.map((match) => [match?.[3] ?? "", Number(match?.[1])]));
}

/** Makes one call. Without an agent it has a connection of its own, so that any server may get it. */
export function call(
  url: string,
  method: string,
  params: readonly unknown[] = [],
  agent: Agent | false = false,
): Promise<Envelope> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return new Promise((resolve, reject) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
    };
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => {
        text += chunk;
      });
      response.on("error", reject);
      response.on("end", () => resolve(JSON.parse(text) as Envelope));
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

export type Caller = {
  readonly answers: readonly Envelope[];
  /** The errors of calls that got no answer. */
  readonly failures: readonly Error[];
  /** Ends after the running call. */
  stop(): Promise<void>;
};

/** Calls in a loop over one connection; over a new one when that is lost. */
export function startCaller(url: string, method: string, params: readonly unknown[] = []): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const answers: Envelope[] = [];
  const failures: Error[] = [];
  let isRunning = true;
  const run = async (): Promise<void> => {
    while (isRunning) {
      try {
        answers.push(await call(url, method, params, agent));
      } catch (error) {
        failures.push(error as Error);
      }
    }
    agent.destroy();
  };
  const ended = run();
  return {
    answers,
    failures,
    stop: async () => {
      isRunning = false;
      await ended;
    },
  };
}
