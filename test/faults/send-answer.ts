// How a node with a fault of its connection sends its answers.
import type { ServerResponse } from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";

export type Sending = {
  /** Makes the answer when it is sent: a late answer is of the chain at that time. */
  readonly text: () => string;
  /** The ordinal number of the answer. */
  readonly turn: number;
  /** Time since the fault began. */
  readonly sinceMs: number;
};

const JSON_TYPE = { "content-type": "application/json" };
const DRIP_MS = 50;

export async function sendAnswer(
  response: ServerResponse,
  fault: Fault,
  { text, turn, sinceMs }: Sending,
): Promise<void> {
  const isDown = fault.kind === "flapping" && Math.floor(sinceMs / 1000) % 2 === 1;
  const isLate = fault.kind === "delay" || (fault.kind === "slow half" && turn % 2 === 0);
  if (fault.kind === "hang") return;
  if (fault.kind === "reset" || isDown) response.socket?.resetAndDestroy();
  else if (fault.kind === "status") sendStatus(response, fault, turn);
  else if (fault.kind === "page")
    response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  else if (fault.kind === "drip") await drip(response.writeHead(200, JSON_TYPE), text());
  else {
    if (isLate) await pause(fault.ms);
    response.writeHead(200, JSON_TYPE).end(fault.kind === "cut" ? text().slice(0, -9) : text());
  }
}

const PAGE = "<!DOCTYPE html><html><body><h1>Be right back</h1></body></html>";

function sendStatus(
  response: ServerResponse,
  { statuses, retryAfterSeconds }: Extract<Fault, { kind: "status" }>,
  turn: number,
): void {
  const status = statuses[turn % statuses.length] ?? 500;
  const headers = retryAfterSeconds === undefined ? {} : { "retry-after": `${retryAfterSeconds}` };
  response.writeHead(status, { "content-type": "text/plain", ...headers }).end("no");
}

async function drip(response: ServerResponse, text: string): Promise<void> {
  for (const byte of text) {
    if (response.destroyed) return;
    response.write(byte);
    await pause(DRIP_MS);
  }
  response.end();
}
