// The program of the threads that ingest blocks. The writer thread also holds the blocks and writes all stores.
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { NotWritable, writeFailure } from "../../disk/writable.ts";
import { systemClock } from "../../lib/clock.ts";
import { Turns, turnsOfOne } from "../../lib/turns.ts";
import { PendingReplies } from "../../lib/waiting.ts";
import type { Reply } from "../../upstream/reply.ts";
import { type BlockRecord, receivedRecord, sentRecord } from "../block-record.ts";
import { BlockStore } from "../block-store.ts";
import type { AskedUpstream } from "../dialect.ts";
import { blockDialect } from "../fetch-block.ts";
import { epochDialect } from "../fetch-epoch.ts";
import { HeldBlocks, type IngestOutcome, ingestHere } from "../writing.ts";
import type {
  FromThread,
  HeldBlock,
  HeldStore,
  IngestCall,
  OpenedStore,
  ThreadCall,
  ThreadResult,
  ThreadStart,
  ToThread,
} from "./messages.ts";

const BEAT_MS = 250;
/** A nice value. At 10 other programs would have nine times as much of a core, and a block would take as much longer. */
const SPARE_PRIORITY = 5;
const MOST_HELD_BYTES = 512 * 2 ** 20;

const turns = new Turns({ clock: systemClock });
const blocks = new HeldBlocks({ bytes: MOST_HELD_BYTES });
const stores = new Map<number, HeldStore>();
const replies = new PendingReplies<Reply>();

const send = (message: FromThread, transferred: ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, transferred);

function opened({ path, ...size }: OpenedStore): HeldStore {
  const run = async <Value>(write: () => Promise<Value>): Promise<Value> => {
    try {
      return await write();
    } catch (error) {
      throw (await writeFailure(error, path)) ?? error;
    }
  };
  return heldStore(new BlockStore({ path, ...size, isUninterrupted: true }, { run }));
}

const heldStore = (store: BlockStore): HeldStore => ({
  prepareFor: (chainId) => store.prepareFor(chainId),
  setNote: (name, text) => store.setNote(name, text),
  clear: () => store.clear(),
  close: () => store.close(),
  probe: () => store.probe(),
  resize: (size) => store.resize(size),
  keepTrace: (hash, position, json) => store.keepTrace(hash, position, bufferOf(json)),
  keepSegment: (segment, { json, upstreams }) =>
    store.keepSegment(segment, { json: bufferOf(json), upstreams }),
  forgetSegments: (forgotten) => store.forgetSegments(forgotten),
  apply: ({ removed, added }) => store.apply({ removed, added: added.map(released) }),
  startAt: (block) => store.startAt(released(block)),
  addBelow: (all) => store.below.add(all.map(released)),
  finishBelow: () => store.below.finish(),
  keep: (block, isCanonical) => store.keep(released(block), isCanonical),
});

const released = (block: HeldBlock): BlockRecord =>
  typeof block === "number" ? blocks.release(block) : receivedRecord(block);

/** A buffer that is sent to another thread arrives as plain bytes. */
const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A stand-in for the node of a call: it sends calls to the other thread, which makes them. */
const nodeFor = (id: number, { node: name, missing }: IngestCall): AskedUpstream => ({
  name,
  isMissing: (method) => missing.includes(method),
  ask: (method, paramsJson, _, { maxBytes } = {}) => {
    const { id: ask, reply } = replies.begin();
    send({ kind: "ask", id, ask, method, paramsJson, maxBytes });
    return reply;
  },
});

/** Never aborts, since the other thread's signal ends the calls. */
const NEVER = new AbortController().signal;

const dialects = { blocks: blockDialect, epochs: epochDialect };

async function ingest(id: number, call: IngestCall): Promise<IngestOutcome> {
  const { reference, limits, rules, receipts, isSent } = call;
  const terms = { limits, rules, receipts, signal: NEVER };
  // `turnsOfOne` finishes a begun block first: its parsed JSON is garbage sooner, and the collector has less to do.
  const ingestBlock = ingestHere({ dialect: dialects[call.dialect], turns: turnsOfOne(turns) });
  const ingested = await ingestBlock(reference, nodeFor(id, call), terms);
  if (ingested.kind !== "ingested") return ingested;
  if (isSent) return { ...ingested, block: sentRecord(ingested.block) };
  blocks.hold(id, ingested.block);
  const { hash, outline } = ingested.block;
  return { ...ingested, block: { hash, outline } };
}

async function resultOf(id: number, store: number, call: ThreadCall): Promise<unknown> {
  if (call.kind === "ingest") return ingest(id, call);
  if (call.kind === "open") {
    stores.set(store, opened(call.options));
    return undefined;
  }
  const there = stores.get(store);
  if (!there) throw new Error("there is no such store");
  const act = there[call.method] as (...params: readonly unknown[]) => unknown;
  const value = await act(...call.params);
  if (call.method === "close") stores.delete(store);
  return value;
}

/** The buffers that go to the other thread as they are, without a copy. */
function movable({ value }: { readonly value?: unknown }): ArrayBuffer[] {
  const { block } = Object(value) as { block?: { bytes?: Uint8Array<ArrayBuffer> } };
  return block?.bytes ? [block.bytes.buffer] : [];
}

const failureOf = (error: unknown): ThreadResult => {
  if (error instanceof NotWritable) return { kind: "not writable", why: error.message };
  const { message = String(error), code } = (error ?? {}) as { message?: string; code?: unknown };
  return { kind: "failed", why: message, code };
};

function receive(message: ToThread): void {
  if (message.kind === "forget") blocks.forget(message.id);
  else if (message.kind === "end") process.exit();
  else if (message.kind === "reply") {
    const { ask, reply } = message;
    const whole = reply.kind === "result" ? { ...reply, json: bufferOf(reply.json) } : reply;
    replies.settle(ask, whole);
  } else {
    const { id, store, call } = message;
    void resultOf(id, store, call)
      .then((value): ThreadResult => ({ kind: "done", value }), failureOf)
      .then((result) =>
        send({ kind: "answer", id, result }, result.kind === "done" ? movable(result) : []),
      );
  }
}

function beat(beats: Int32Array): void {
  Atomics.add(beats, 0, 1);
  systemClock.after(BEAT_MS, () => beat(beats));
}

const { beats: counter, isSpare } = workerData as ThreadStart;
// On Linux a thread has a priority of its own; elsewhere `setPriority` would change that of the whole process.
if (isSpare && process.platform === "linux") setPriority(SPARE_PRIORITY);
parentPort?.on("message", receive);
// The first heartbeat comes once no module is left to evaluate: from then on the thread may be terminated.
setImmediate(() => beat(new Int32Array(counter)));
